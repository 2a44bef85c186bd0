package redact

// A trust says how far the name of a field alone makes its value a secret.
type trust uint8

const (
	ordinary  trust = iota
	weak            // the value must look like a secret: tokens have innocent namesakes
	strong          // any value but a plain word of a sentence
	scheme          // an Authorization header: a scheme, then credentials
	cookie          // a Cookie header: name=value pairs
	signature       // secret only as a parameter of a URL
	opaque          // secret only as a parameter of a URL, and if it looks random
)

// secretKeys lists the last words of field names, without separators and in
// lower case: "api key" is found in X-API-Key, apiKey and OPENAI_API_KEY.
var secretKeys = []struct {
	name  string
	trust trust
}{
	{"password", strong}, {"passwd", strong}, {"passphrase", strong}, {"passcode", strong},
	{"pwd", strong}, {"secret", strong}, {"clientsecret", strong}, {"pass", weak},
	{"apikey", weak}, {"accesskey", weak}, {"secretkey", weak}, {"privatekey", weak},
	{"accountkey", weak}, {"authkey", weak}, {"signingkey", weak}, {"encryptionkey", weak},
	{"sharedkey", weak}, {"masterkey", weak}, {"accesskeyid", weak}, {"subscriptionkey", weak},
	{"token", weak}, {"accesstoken", weak}, {"refreshtoken", weak}, {"idtoken", weak},
	{"authtoken", weak}, {"apitoken", weak}, {"bearertoken", weak}, {"sessiontoken", weak},
	{"securitytoken", weak}, {"csrftoken", weak}, {"xsrftoken", weak}, {"jwt", weak},
	{"credential", weak}, {"credentials", weak}, {"auth", weak}, {"sessionid", weak},
	{"sessid", weak}, {"sessionkey", weak}, {"connectionstring", weak}, {"webhook", weak},
	{"authorization", scheme}, {"cookie", cookie},
	{"sig", signature}, {"signature", signature}, {"key", opaque}, {"sid", opaque},
	{"code", opaque}, {"session", opaque},
	{"密码", strong}, {"口令", strong}, {"密钥", weak}, {"令牌", weak},
}

// harmless words before "token" make it a position in a list, or the subject of
// a parser's complaint.
var harmless = []string{
	"page", "next", "prev", "previous", "continuation", "cursor", "sync",
	"unexpected", "invalid", "illegal", "unknown", "expected", "cancellation", "stop",
}

// keysEnding indexes secretKeys by last byte.
var keysEnding = indexKeys()

// indexKeys puts the common case, a name that ends in none of these bytes, at
// one look into a table.
func indexKeys() (at [256][]int) {
	for i, k := range secretKeys {
		last := k.name[len(k.name)-1]
		at[last] = append(at[last], i)
	}
	return at
}

// keyTrust judges the field name that ends at end in text.
func keyTrust(text string, end int) (trust, int) {
	if end == 0 {
		return ordinary, 0
	}
	for _, k := range keysEnding[fold(text[end-1])] {
		key := secretKeys[k]
		start := keyStart(text, end, key.name)
		if start >= 0 && !(key.name == "token" && followsHarmless(text, start)) {
			return key.trust, start
		}
	}
	return ordinary, 0
}

// inURLOnly reports a name too common to mean anything outside a URL.
func (t trust) inURLOnly() bool { return t == signature || t == opaque }

// keyStart returns where name, spelled with any case and separators, starts if
// it ends at end, or -1. Short names must be words of their own; longer ones
// are found in DBPASSWORD as well.
func keyStart(text string, end int, name string) int {
	i := end
	for k := len(name) - 1; k >= 0; k-- {
		if k < len(name)-1 && i > 0 && separates(text[i-1]) {
			i--
		}
		if i == 0 || fold(text[i-1]) != name[k] {
			return -1
		}
		i--
	}
	if len(name) >= 6 || startsWord(text, i) || startsHump(text, i) {
		return i
	}
	return -1
}

// separates reports what people put between the words of a name.
func separates(c byte) bool { return c == '_' || c == '-' || c == ' ' || c == '.' }

// startsHump reports that a word of camelCase starts at i, as in userPassword.
func startsHump(text string, i int) bool {
	return uppers.has(text[i]) && !uppers.has(text[i-1])
}

// followsHarmless reports one of those words before the name that starts at i.
func followsHarmless(text string, i int) bool {
	for _, before := range harmless {
		if keyStart(text[:i], trimSeparator(text, i), before) >= 0 {
			return true
		}
	}
	return false
}

// trimSeparator returns the end of the word before the one at i.
func trimSeparator(text string, i int) int {
	if i > 0 && separates(text[i-1]) {
		i--
	}
	return i
}
