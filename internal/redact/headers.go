package redact

import "strings"

// authSchemes are the registered HTTP authentication schemes and those of the
// large clouds.
var authSchemes = []string{
	"bearer", "basic", "digest", "token", "apikey", "negotiate", "ntlm", "dpop", "hawk", "mac",
	"oauth", "signature", "sharedkey", "sharedkeylite", "googlelogin", "aws4-hmac-sha256",
}

// header finds the credentials of an Authorization or a Cookie field. A Go
// header prints its values in brackets.
func (f field) header(text string) span {
	if f.start < len(text) && text[f.start] == '[' && f.quote == 0 && !masked(text[f.start:min(len(text), f.start+16)]) {
		f.start++
	}
	end := credentialsEnd(text, f.start)
	if f.trust == cookie {
		end = cookiesEnd(text, f.start)
	}
	if end <= f.start || masked(text[f.start:end]) {
		return span{}
	}
	return span{f.start, end, token}
}

// credentialsEnd returns the end of "<scheme> <credentials>" at i, or i.
func credentialsEnd(text string, i int) int {
	first := headEnd(text, i)
	for _, name := range authSchemes {
		if len(name) != first-i || !hasFold(text, i, name) {
			continue
		}
		from := skipSpaces(text, first)
		end := valueEnd(text, from)
		if masked(text[from:end]) || plain(text[from:end]) {
			return i
		}
		return parametersEnd(text, end)
	}
	if value := text[i:first]; !plain(value) && secretish(value) {
		return valueEnd(text, i)
	}
	return i
}

// parametersEnd extends credentials over the ", name=value" of schemes that
// have several parts.
func parametersEnd(text string, end int) int {
	for end+1 < len(text) && text[end] == ',' && text[end+1] == ' ' {
		name := dotted.run(text, end+2, 64)
		if name == len(text) || text[name] != '=' {
			break
		}
		end = parameterEnd(text, name+1)
	}
	return end
}

// parameterEnd returns the end of one value, bare or quoted.
func parameterEnd(text string, i int) int {
	if i < len(text) && text[i] == '"' {
		return min(len(text), quoteEnd(text, i+1, len(text), '"')+1)
	}
	return valueEnd(text, i)
}

// cookiesEnd returns the end of the "name=value; …" pairs at i, or i.
func cookiesEnd(text string, i int) int {
	end := i
	for at := i; ; {
		name := nonSpace.run(text, at, headSize)
		if !strings.Contains(text[at:name], "=") {
			return end
		}
		word := nonSpace.run(text, name, unlimited)
		end = word
		if text[word-1] != ';' {
			return end
		}
		at = skipSpaces(text, word)
	}
}

// nonSpace is what a cookie pair is made of.
var nonSpace = complement(spaces.union("\"'`<>\\]"))

// complement returns the bytes that s has not.
func complement(s byteSet) (out byteSet) {
	for i := range s {
		out[i] = ^s[i]
	}
	return out
}
