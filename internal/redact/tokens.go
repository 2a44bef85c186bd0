package redact

// A shape is a token that says whose it is: a fixed prefix, then a run of
// certain characters. Prefixes come from the providers' own documentation.
type shape struct {
	prefix   string
	chars    *byteSet
	min, max int  // length of the run; a max of 0 means no limit
	mixed    bool // a short run needs a digit: the prefix alone is an ordinary word
	kind     kind
}

// shapes is the table to extend when a provider invents a new prefix.
var shapes = []shape{
	// Clouds and hosting
	{"AKIA", &alnum, 16, 16, false, token}, {"ASIA", &alnum, 16, 16, false, token},
	{"ABIA", &alnum, 16, 16, false, token}, {"ACCA", &alnum, 16, 16, false, token},
	{"LTAI", &alnum, 12, 24, true, token}, {"AKID", &alnum, 32, 40, false, token},
	{"AIza", &urlSafe, 35, 35, false, token}, {"ya29.", &dotted, 20, 0, false, token},
	{"GOCSPX-", &urlSafe, 20, 0, false, token}, {"dop_v1_", &hex, 40, 0, false, token},
	{"doo_v1_", &hex, 40, 0, false, token}, {"dor_v1_", &hex, 40, 0, false, token},
	{"hvs.", &urlSafe, 20, 0, true, token}, {"hvb.", &urlSafe, 20, 0, true, token},
	{"sbp_", &hex, 32, 0, false, token}, {"dp.pt.", &alnum, 32, 0, false, token},
	{"tfp_", &alnum, 32, 0, false, token}, {"pul-", &hex, 40, 40, false, token},
	// Code and packages
	{"ghp_", &alnum, 30, 0, false, token}, {"gho_", &alnum, 30, 0, false, token},
	{"ghu_", &alnum, 30, 0, false, token}, {"ghs_", &dotted, 30, 0, false, token},
	{"ghr_", &alnum, 30, 0, false, token}, {"github_pat_", &word, 30, 0, false, token},
	{"glpat-", &dotted, 20, 0, false, token}, {"gldt-", &urlSafe, 20, 0, false, token},
	{"glrt-", &urlSafe, 20, 0, false, token}, {"glptt-", &urlSafe, 20, 0, false, token},
	{"npm_", &alnum, 36, 0, false, token}, {"pypi-", &urlSafe, 50, 0, false, token},
	{"rubygems_", &hex, 40, 0, false, token}, {"dckr_pat_", &urlSafe, 20, 0, false, token},
	{"ATATT3", &base64s, 40, 0, false, token}, {"ATCTT3", &base64s, 40, 0, false, token},
	{"sgp_", &word, 40, 0, false, token}, {"sntrys_", &base64s, 40, 0, false, token},
	{"sntryu_", &hex, 40, 0, false, token}, {"glsa_", &word, 32, 0, false, token},
	{"glc_", &base64s, 32, 0, false, token}, {"lin_api_", &alnum, 32, 0, false, token},
	{"PMAK-", &urlSafe, 40, 0, false, token}, {"NRAK-", &alnum, 20, 0, false, token},
	// Models
	{"sk-", &urlSafe, 20, 0, true, token}, {"hf_", &alnum, 30, 0, false, token},
	{"gsk_", &alnum, 40, 0, false, token}, {"r8_", &alnum, 36, 0, false, token},
	{"xai-", &alnum, 40, 0, false, token}, {"pplx-", &alnum, 40, 0, false, token},
	{"tvly-", &urlSafe, 20, 0, true, token}, {"nvapi-", &urlSafe, 40, 0, false, token},
	// Payments, mail, chat and work
	{"sk_live_", &alnum, 10, 0, false, token}, {"sk_test_", &alnum, 10, 0, false, token},
	{"rk_live_", &alnum, 10, 0, false, token}, {"rk_test_", &alnum, 10, 0, false, token},
	{"pk_live_", &alnum, 10, 0, false, token}, {"whsec_", &base64s, 20, 0, false, token},
	{"sq0atp-", &urlSafe, 20, 0, false, token}, {"sq0csp-", &urlSafe, 20, 0, false, token},
	{"shpat_", &alnum, 20, 0, false, token}, {"shpss_", &alnum, 20, 0, false, token},
	{"shpca_", &alnum, 20, 0, false, token}, {"shppa_", &alnum, 20, 0, false, token},
	{"xoxb-", &urlSafe, 10, 0, true, token}, {"xoxa-", &urlSafe, 10, 0, true, token},
	{"xoxp-", &urlSafe, 10, 0, true, token}, {"xoxr-", &urlSafe, 10, 0, true, token},
	{"xoxs-", &urlSafe, 10, 0, true, token}, {"xapp-", &urlSafe, 10, 0, true, token},
	{"SG.", &dotted, 32, 0, true, token}, {"ntn_", &alnum, 40, 0, false, token},
	{"figd_", &urlSafe, 30, 0, false, token},
	// Signed and hashed
	{"eyJhbGci", &dotted, 4, 0, false, token}, {"eyJ0eXAi", &dotted, 4, 0, false, token},
	{"eyJraWQi", &dotted, 4, 0, false, token}, {"ops_eyJ", &base64s, 40, 0, false, token},
	{"$2a$", &passwordHash, 50, 0, false, secret}, {"$2b$", &passwordHash, 50, 0, false, secret},
	{"$2y$", &passwordHash, 50, 0, false, secret}, {"$argon2", &passwordHash, 30, 0, false, secret},
	{"AGE-SECRET-KEY-1", &alnum, 20, 0, false, privateKey},
}

// passwordHash is what crypt(3) writes behind the name of the algorithm.
var passwordHash = base64s.union("./$,=")

// shapeRules makes a rule of each shape.
func shapeRules() []rule {
	var out []rule
	for k := range shapes {
		out = append(out, rule{tokenFamily, shapes[k].prefix, wordStart, true, shapes[k].read})
	}
	return out
}

// tokenRules find tokens that are more than a prefix and a run.
var tokenRules = []rule{
	{tokenFamily, ":AA", anywhere, true, botToken},
	{tokenFamily, "bearer ", wordStart, false, bearer},
}

// certain is the length from which a run needs no digit to be a token. It also
// bounds how much of a run is read in vain.
const certain = 128

// read reads the run behind the prefix. A run that is too long for its shape
// is something else, such as base64 that happens to contain the prefix.
func (s *shape) read(text string, i int) span {
	from := i + len(s.prefix)
	limit := unlimited
	if s.max > 0 {
		limit = s.max + 1
	}
	end := s.chars.run(text, from, limit)
	switch n := end - from; {
	case n < s.min || s.max > 0 && n > s.max:
		return span{}
	case s.mixed && n < certain && !hasDigit(text[from:end]):
		return span{}
	}
	return span{i, trimDots(text, end), s.kind}
}

// trimDots gives the full stops of a sentence back to it.
func trimDots(text string, end int) int {
	for text[end-1] == '.' {
		end--
	}
	return end
}

// hasDigit and hasLetter are how a token differs from a word and from a number.
func hasDigit(text string) bool  { return digits.meets(bytesOf(text)) }
func hasLetter(text string) bool { return letters.meets(bytesOf(text)) }

// botToken reads a chat bot's token: a numeric id, ":AA" and some 33 characters.
func botToken(text string, i int) span {
	start, end := digits.runBack(text, i, 14), urlSafe.run(text, i+1, unlimited)
	if i-start < 6 || end-i < 30 {
		return span{}
	}
	return span{start, end, token}
}

// bearer reads "Bearer <token>" outside a header.
func bearer(text string, i int) span {
	i += len("bearer ")
	if end := valueEnd(text, i); end-i >= 16 && secretish(text[i:end]) {
		return span{i, end, token}
	}
	return span{}
}
