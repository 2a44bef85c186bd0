package redact

import "strings"

// valueStops end an unquoted value wherever they stand.
var valueStops = spaces.union("\"'`<>")

// valueEnd returns the end of the unquoted value at i. Punctuation that could
// belong to a password ends it only where a sentence or a list goes on.
func valueEnd(text string, i int) int {
	for ; i < len(text); i++ {
		c := text[i]
		if urlSafe.has(c) {
			continue
		}
		if valueStops.has(c) || c == '\\' && endsString(text, i+1) || c >= 0x80 && isWidePunctuation(text[i:]) {
			break
		}
		if isPunctuation(c) && endsItem(text, i+1) {
			break
		}
	}
	return i
}

// endsString reports that a backslash before i begins an escaped quote or line
// break rather than standing for itself.
func endsString(text string, i int) bool {
	return i < len(text) && strings.IndexByte("\"'nrt", text[i]) >= 0 || strings.HasPrefix(text[i:], "u00")
}

// isPunctuation reports a mark that ends a value if it ends anything.
func isPunctuation(c byte) bool { return strings.IndexByte(",;&|)]}.:!?", c) >= 0 }

// endsItem reports that what comes after punctuation is not the rest of a value:
// nothing, a space, more punctuation, or the next name=value.
func endsItem(text string, i int) bool {
	if i >= len(text) || valueStops.has(text[i]) || isPunctuation(text[i]) {
		return true
	}
	if text[i-1] == '.' || text[i-1] == ':' || text[i-1] == '!' {
		return false
	}
	end := dotted.run(text, i, 64)
	return end > i && end < len(text) && (text[end] == '=' || text[end] == ':')
}

// isWidePunctuation reports a CJK or full-width mark, which ends a value
// although no space follows it.
func isWidePunctuation(text string) bool {
	return strings.HasPrefix(text, "\u3001") || strings.HasPrefix(text, "\u3002") ||
		strings.HasPrefix(text, "\uff0c") || strings.HasPrefix(text, "\uff1b") ||
		strings.HasPrefix(text, "\uff1a") || strings.HasPrefix(text, "\uff09") ||
		strings.HasPrefix(text, "\uff08") || strings.HasPrefix(text, "\u300d") ||
		strings.HasPrefix(text, "\uff01") || strings.HasPrefix(text, "\u201d")
}

// notSecrets are words that stand where a value stands but say something about
// it: "password: required", "token=null", `"secret":"string"`.
var notSecrets = []string{
	"required", "invalid", "missing", "incorrect", "expired", "wrong", "empty", "null", "nil",
	"none", "true", "false", "string", "optional", "undefined", "unset", "hidden", "weak",
	"denied", "failed", "mismatch", "mismatched", "ok", "yes", "no", "revoked", "unknown",
	"absent", "redacted", "removed", "masked", "omitted", "bool", "int", "text", "any", "object",
	"changed", "reset", "disabled", "enabled", "unauthorized", "forbidden", "rejected",
	"password", "token", "secret", "secretstr", "basic", "bearer", "not", "must", "is", "too",
}

// plain reports a value that is no secret whatever its field is called.
func plain(value string) bool {
	if value == "" || masked(value) || placeholder(value) {
		return true
	}
	for _, w := range notSecrets {
		if len(w) == len(value) && hasFold(value, 0, w) {
			return true
		}
	}
	return len(value) < 4 && !hasLetter(value)
}

// masked reports a value somebody has hidden already.
func masked(value string) bool {
	if strings.Contains(value, "***") || strings.Contains(value, "•••") || strings.HasPrefix(value, ellipsis) {
		return true
	}
	if len(strings.Trim(value, "xX*.-#")) == 0 && len(value) > 2 {
		return true
	}
	inner := strings.TrimLeft(value, "[<({")
	return hasFold(inner, 0, "redacted") || hasFold(inner, 0, "masked") ||
		hasFold(inner, 0, "hidden") || hasFold(inner, 0, "filtered")
}

// placeholder reports a stand-in such as ${TOKEN}, <token>, %s or your-key.
func placeholder(value string) bool {
	switch {
	case strings.IndexByte("<{([", value[0]) >= 0:
		return !hasDigit(value)
	case value[0] == '$':
		return !strings.HasPrefix(value, "$2") && !strings.HasPrefix(value, "$argon")
	case value[0] == '%':
		return len(value) < 4
	}
	return hasFold(value, 0, "your")
}

// secretish reports a value that looks random, or at least chosen to be hard
// to guess. Versions, sentences and URLs do not.
func secretish(value string) bool {
	if len(value) < 8 || strings.ContainsAny(value, " \t\n") || strings.Contains(value, "://") {
		return false
	}
	present := bytesOf(value)
	if digits.meets(present) && letters.meets(present) {
		return true
	}
	return len(value) >= 20 && lowers.meets(present) && uppers.meets(present)
}
