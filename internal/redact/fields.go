package redact

import "strings"

// A field is a name, a separator and a place where its value starts.
type field struct {
	trust trust
	start int  // of the value, its opening quote excluded
	quote byte // what the value is quoted with, or 0
	tight bool // nothing between separator and value
	query bool // a parameter of a URL
}

// fieldRules find name=value, name: value, "name":"value", --name value and
// <name>value</name> whose name promises a secret.
var fieldRules = []rule{
	{fieldFamily, "=", anywhere, true, readField},
	{fieldFamily, ":", anywhere, true, readField},
	{fieldFamily, ">", anywhere, true, readField},
	{fieldFamily, "：", anywhere, true, readField},
	{fieldFamily, "--", anywhere, true, readFlag},
	{fieldFamily, "password is ", anywhere, false, readSaid},
	{fieldFamily, "passphrase is ", anywhere, false, readSaid},
	{fieldFamily, "secret is ", anywhere, false, readSaid},
	{fieldFamily, "curl ", wordStart, true, readUser},
}

// readField reads the field whose separator stands at i. Starting from the
// separator is cheap: most text has few of them, and most names are ordinary.
func readField(text string, i int) span {
	f := fieldAt(text, i)
	if f.trust == ordinary {
		return span{}
	}
	return f.value(text)
}

// fieldAt reads the field whose separator stands at i.
func fieldAt(text string, i int) field {
	nameEnd, after := trimName(text, i), i+separatorLength(text, i)
	if after == i {
		return field{}
	}
	f := field{}
	f.trust, f.start = keyTrust(text, nameEnd)
	if f.trust == ordinary {
		return field{}
	}
	f.query = text[i] == '=' && startsParameter(text, f.start)
	if f.trust.inURLOnly() && !f.query || text[i] == '>' && !isElement(text, f.start) {
		return field{}
	}
	f.start = skipSpaces(text, after)
	f.tight = f.start == after && text[i] != 0xEF
	if f.start < len(text) && quotes.has(text[f.start]) {
		f.quote = text[f.start]
		f.start++
	}
	return f
}

// separatorLength returns how long the separator at i is, 0 for one that
// compares or points instead. An arrow separates after a quoted name only.
func separatorLength(text string, i int) int {
	rest := text[i:]
	switch {
	case strings.HasPrefix(rest, "："):
		return len("：")
	case text[i] == 0xEF || i+1 == len(text):
		return 0
	case strings.HasPrefix(rest, ":="):
		return 2
	case strings.HasPrefix(rest, "=>") && i > 1 && text[i-1] == ' ' && quotes.has(text[i-2]):
		return 2
	case text[i+1] == '=' || text[i+1] == '>' && text[i] == '=':
		return 0
	case i > 0 && strings.IndexByte("=!<>:", text[i-1]) >= 0:
		return 0
	case strings.HasPrefix(rest, "::"):
		return 0
	}
	return 1
}

// trimName returns the end of the name before the separator at i, less a
// bracket, a quote and a few spaces.
func trimName(text string, i int) int {
	for n := 0; n < 3 && i > 0 && text[i-1] == ' '; n++ {
		i--
	}
	if i > 0 && text[i-1] == ']' {
		i--
	}
	if i > 0 && quotes.has(text[i-1]) {
		i--
	}
	return i
}

// startsParameter reports that a name whose last word starts at i follows ? & ; or #.
func startsParameter(text string, i int) bool {
	i = dotted.runBack(text, i, 64)
	return i > 0 && strings.IndexByte("?&;#", text[i-1]) >= 0
}

// isElement reports that the name whose last word starts at i is an opening tag.
func isElement(text string, i int) bool {
	i = dotted.runBack(text, i, 64)
	return i > 0 && text[i-1] == '<'
}

// skipSpaces passes over a few blanks. More of them are a table, not a field.
func skipSpaces(text string, i int) int {
	for n := 0; n < 3 && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	return i
}

// value returns the part of the field to redact, or a zero span.
func (f field) value(text string) span {
	if f.trust == scheme || f.trust == cookie {
		return f.header(text)
	}
	if f.quote != 0 {
		return f.quoted(text)
	}
	return f.unquoted(text)
}

// kind says password where a person chose the value, token where a machine did.
func (f field) kind() kind {
	if f.trust == strong {
		return secret
	}
	return token
}

// headSize is how much of a value is read to judge it. It keeps a text that is
// all names of secrets linear.
const headSize = 128

// quoted reads a value up to its closing quote. Where the name is strong a
// passphrase may have spaces; where it is weak those make it a sentence.
func (f field) quoted(text string) span {
	head := text[f.start:quoteEnd(text, f.start, min(len(text), f.start+headSize), f.quote)]
	if plain(head) || f.trust == weak && !f.query && !secretish(head) {
		return span{}
	}
	return span{f.start, quoteEnd(text, f.start, len(text), f.quote), f.kind()}
}

// quoteEnd returns the position of the closing quote, or where the line or the
// text ends without one.
func quoteEnd(text string, i, end int, quote byte) int {
	for ; i < end; i++ {
		switch text[i] {
		case quote, '\n':
			return i
		case '\\':
			i++
		}
	}
	return end
}

// unquoted reads a value up to where a sentence, a list or a query goes on.
func (f field) unquoted(text string) span {
	end := headEnd(text, f.start)
	value := text[f.start:end]
	if plain(value) || isCode(text, f.start, end) || !f.convincing(text, value, end) {
		return span{}
	}
	return span{f.start, valueEnd(text, f.start), f.kind()}
}

// headEnd is valueEnd within headSize.
func headEnd(text string, i int) int {
	return valueEnd(text[:min(len(text), i+headSize)], i)
}

// convincing tells a secret from a word of a sentence or a setting.
func (f field) convincing(text, value string, end int) bool {
	switch {
	case f.trust == opaque:
		return len(value) >= 16 && secretish(value) && urlSafe.run(value, 0, unlimited) == len(value)
	case f.query, f.trust == strong && f.tight:
		return true
	case f.trust == strong:
		return len(value) >= 6 && hasDigit(value) || len(value) >= longerThanWords || endsClause(text, end)
	case f.tight && len(value) >= 6 && hasDigit(value) && hasLetter(value):
		return true
	}
	return secretish(value)
}

// longerThanWords is the length from which a value is no word of a sentence.
const longerThanWords = 16

// endsClause reports that no further word follows on the line.
func endsClause(text string, i int) bool {
	return i >= len(text) || text[i] != ' '
}

// isCode reports an expression: a call, or a path of names that ends in a
// secret-like one, as in password=req.Password or token = newToken(ctx).
func isCode(text string, start, end int) bool {
	if call := dotted.run(text, start, 128); call < len(text) && call > start && text[call] == '(' {
		return true
	}
	value := text[start:end]
	if hasDigit(value) || dotted.run(value, 0, unlimited) < len(value) {
		return false
	}
	t, _ := keyTrust(value, len(value))
	return t != ordinary && !t.inURLOnly()
}

// readFlag reads --password value. --password=value is a field.
func readFlag(text string, i int) span {
	i += len("--")
	end := urlSafe.run(text, i, 64)
	if end == i || end >= len(text) || text[end] != ' ' || text[i] == '-' {
		return span{}
	}
	t, _ := keyTrust(text, end)
	if t != weak && t != strong {
		return span{}
	}
	return field{trust: t, start: skipSpaces(text, end), tight: true}.unquoted(text)
}

// readSaid reads "the password is hunter2". A word without a digit goes on with a
// sentence.
func readSaid(text string, i int) span {
	start := i + strings.IndexByte(text[i:], ' ') + len(" is ")
	if start < len(text) && quotes.has(text[start]) {
		start++
	}
	end := headEnd(text, start)
	if value := text[start:end]; len(value) < 6 || plain(value) || !hasDigit(value) || !hasLetter(value) {
		return span{}
	}
	return span{start, valueEnd(text, start), secret}
}

// readUser reads the name:password that curl is given.
func readUser(text string, i int) span {
	line := text[i:min(len(text), i+maxFrame)]
	line = line[:lineEnd(line, 0)]
	for _, flag := range []string{" -u ", " --user ", " --user="} {
		_, user, ok := strings.Cut(line, flag)
		if !ok {
			continue
		}
		start := i + len(line) - len(user)
		end := valueEnd(text, start)
		if user != "" && quotes.has(user[0]) {
			start++
			end = quoteEnd(text, start, i+len(line), user[0])
		}
		if colon := strings.IndexByte(text[start:end], ':'); colon > 0 && !plain(text[start+colon+1:end]) {
			return span{start + colon + 1, end, secret}
		}
	}
	return span{}
}
