package redact

import "strings"

// keyRules find PEM blocks of private keys. Certificates and public keys stay.
var keyRules = []rule{{keyFamily, "-----BEGIN ", anywhere, true, privateKeyBlock}}

// privateKeyBlock reads a PEM block, to the end of the text if it was cut.
func privateKeyBlock(text string, start int) span {
	i := start + len("-----BEGIN ")
	title, _, _ := strings.Cut(text[i:min(len(text), i+64)], "-----")
	if !strings.Contains(title, "PRIVATE KEY") {
		return span{}
	}
	end := len(text)
	if k := strings.Index(text[i:], "-----END "); k >= 0 {
		end = pemEnd(text, i+k+len("-----END "))
	}
	return span{start, end, privateKey}
}

// pemEnd returns the end of the closing line whose title starts at i.
func pemEnd(text string, i int) int {
	if k := strings.Index(text[i:min(len(text), i+64)], "-----"); k >= 0 {
		return i + k + len("-----")
	}
	return len(text)
}
