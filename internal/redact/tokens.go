package redact

import "strings"

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

var (
	passwordHash = base64s.union("./$,=")
	shapesAt     = indexShapes()
)

// indexShapes groups the table by first byte.
func indexShapes() (at [256][]shape) {
	for _, s := range shapes {
		at[s.prefix[0]] = append(at[s.prefix[0]], s)
	}
	return at
}

func tokens(text string, found []span) []span {
	for i := 0; i < len(text); i++ {
		candidates := shapesAt[text[i]]
		if candidates == nil || !startsWord(text, i) {
			continue
		}
		for k := range candidates {
			if end := candidates[k].match(text, i); end > 0 {
				found = append(found, span{i, end, candidates[k].kind})
				i = end - 1
				break
			}
		}
	}
	return found
}

// certain is the length from which a run needs no digit to be a token. It also
// bounds how much of a run is read in vain.
const certain = 128

// match returns the end of the token at i, or 0.
func (s *shape) match(text string, i int) int {
	if !strings.HasPrefix(text[i:], s.prefix) {
		return 0
	}
	from := i + len(s.prefix)
	limit := unlimited
	if s.max > 0 {
		limit = s.max + 1
	}
	end := s.chars.run(text, from, limit)
	switch n := end - from; {
	case n < s.min || s.max > 0 && n > s.max:
		return 0
	case s.mixed && n < certain && !hasDigit(text[from:end]):
		return 0
	}
	return trimDots(text, end)
}

// trimDots gives the full stops of a sentence back to it.
func trimDots(text string, end int) int {
	for text[end-1] == '.' {
		end--
	}
	return end
}

func hasDigit(text string) bool  { return digits.meets(bytesOf(text)) }
func hasLetter(text string) bool { return letters.meets(bytesOf(text)) }

// botTokens finds chat-bot tokens: a numeric id, ":AA" and 33 characters.
func botTokens(text string, found []span) []span {
	for i := 0; ; {
		k := strings.Index(text[i:], ":AA")
		if k < 0 {
			return found
		}
		at := i + k
		i = at + len(":AA")
		start, end := digits.runBack(text, at, 14), urlSafe.run(text, i, 64)
		if at-start >= 6 && end-i >= 30 {
			found = append(found, span{start, end, token})
			i = end
		}
	}
}

// bearers finds "Bearer <token>" outside a header.
func bearers(text string, found []span) []span {
	for i := 0; ; {
		k := strings.Index(text[i:], "earer ")
		if k < 0 {
			return found
		}
		i += k + len("earer ")
		end := valueEnd(text, i)
		if end-i >= 16 && secretish(text[i:end]) {
			found = append(found, span{i, end, token})
			i = end
		}
	}
}

// privateKeys finds PEM blocks of private keys, to the end of the text if the
// block was cut.
func privateKeys(text string, found []span) []span {
	const begin, end = "-----BEGIN ", "-----END "
	for i := 0; ; {
		k := strings.Index(text[i:], begin)
		if k < 0 {
			return found
		}
		start := i + k
		i = start + len(begin)
		title, _, _ := strings.Cut(text[i:min(len(text), i+64)], "-----")
		if !strings.Contains(title, "PRIVATE KEY") {
			continue
		}
		stop := len(text)
		if k := strings.Index(text[i:], end); k >= 0 {
			stop = pemEnd(text, i+k+len(end))
		}
		found = append(found, span{start, stop, privateKey})
		i = stop
	}
}

// pemEnd returns the end of the closing line whose title starts at i.
func pemEnd(text string, i int) int {
	if k := strings.Index(text[i:min(len(text), i+64)], "-----"); k >= 0 {
		return i + k + len("-----")
	}
	return len(text)
}
