package redact

import "strings"

// mailbox is what the part before the @ is made of.
var mailbox = dotted.union("+%")

// emailRules find addresses of the usual form. Quoted local parts are not.
var emailRules = []rule{{emailFamily, "@", anywhere, true, readEmail}}

// readEmail asks for a dot in the domain: @name and a@b are handles and code.
func readEmail(text string, at int) span {
	start := mailbox.runBack(text, at, 64)
	end := dotted.run(text, at+1, maxName)
	if start == at || end == at+1 {
		return span{}
	}
	end = trimDots(text, end)
	if end <= at || !strings.Contains(text[at+1:end], ".") {
		return span{}
	}
	return span{start, end, email}
}
