package redact

import "strings"

// A verb starts a statement; reads tells whether it really does.
type verb struct {
	word  string // in lower case
	reads func(q query) bool
}

var verbs = [256][]verb{
	's': {{"select", query.isSelect}},
	'i': {{"insert", query.isInsert}},
	'r': {{"replace", query.isInsert}},
	'u': {{"update", query.isUpdate}},
	'd': {{"delete", query.isDelete}, {"drop", query.isDefinition}},
	'c': {{"create", query.isDefinition}},
	'a': {{"alter", query.isDefinition}},
	't': {{"truncate", query.isDefinition}},
	'f': {{"from", query.isFromClause}},
	'w': {{"with", query.isWith}, {"where", query.isWhereClause}},
	'm': {{"merge", query.isInsert}},
}

// statements finds SQL. Its verbs are ordinary words, so capitals alone are not
// enough and a sentence that begins with "select a date from" is left alone:
// it takes the punctuation of SQL, or capitals and the right second word.
func statements(text string, found []span) []span {
	from := fromFinder{text: text}
	for i := 0; i < len(text); i++ {
		candidates := verbs[fold(text[i])]
		if candidates == nil || !startsWord(text, i) {
			continue
		}
		for k := range candidates {
			after := i + len(candidates[k].word)
			if !hasFold(text, i, candidates[k].word) || after >= len(text) || !spaces.has(text[after]) {
				continue
			}
			if candidates[k].reads(query{text, after, uppers.has(text[i+1]), &from}) {
				end := statementEnd(text, i)
				found = append(found, span{i, end, statement})
				i = end - 1
				break
			}
		}
	}
	return found
}

// A query is a possible statement, read from behind its verb.
type query struct {
	text  string
	i     int
	upper bool // the verb is in capitals
	from  *fromFinder
}

// nameBytes make a table or column, quoted or not.
var nameBytes = word.union(".\"`[]$*%?:@#")

// next returns the next name and the query behind it.
func (q query) next() (string, query) {
	start := spaces.run(q.text, q.i, 16)
	q.i = nameBytes.run(q.text, start, 128)
	return q.text[start:q.i], q
}

// sees reports that lower, or its capitals if the verb was in capitals, is the
// next word.
func (q query) sees(lower string) bool {
	name, _ := q.next()
	if len(name) != len(lower) || !hasFold(name, 0, lower) {
		return false
	}
	return !q.upper || uppers.has(name[0])
}

// punctuation returns the next byte that is not a space, or 0.
func (q query) punctuation() byte {
	if i := spaces.run(q.text, q.i, 16); i < len(q.text) {
		return q.text[i]
	}
	return 0
}

// maxList is how far a list of columns may go before FROM.
const maxList = 1000

func (q query) isSelect() bool {
	if q.upper && q.from.within(q.i, maxList) {
		return !q.sees("and") && !q.sees("or")
	}
	columns := 0
	for {
		name, after := q.next()
		if name == "" || isKeyword(name) {
			return false
		}
		columns++
		q = after
		if name == "*" || q.i < len(q.text) && q.text[q.i] == '(' {
			return q.comesFrom(columns, true)
		}
		if q.punctuation() != ',' {
			return q.comesFrom(columns, false)
		}
		q.i = spaces.run(q.text, q.i, 16) + 1
	}
}

// comesFrom reports "from table" and, unless the columns were unmistakable,
// a clause that only SQL has.
func (q query) comesFrom(columns int, sure bool) bool {
	if q.punctuation() == '(' {
		k := strings.IndexByte(q.text[q.i:min(len(q.text), q.i+64)], ')')
		if k < 0 {
			return false
		}
		q.i += k + 1
	}
	word, q := q.next()
	table, q := q.next()
	if !strings.EqualFold(word, "from") || table == "" {
		return false
	}
	return sure || q.hasClause() || columns > 1 && q.ends()
}

func isKeyword(name string) bool {
	return strings.EqualFold(name, "from") || strings.EqualFold(name, "select") || strings.EqualFold(name, "and")
}

// ends reports that nothing but the end of a statement follows.
func (q query) ends() bool {
	c := q.punctuation()
	return c == 0 || c == ';' || c == ')' || quotes.has(c)
}

// hasClause reports a clause that follows a table and is not English.
func (q query) hasClause() bool {
	name, after := q.next()
	switch strings.ToLower(name) {
	case "where":
		return after.compares()
	case "order", "group":
		return after.sees("by")
	case "limit", "offset":
		n, _ := after.next()
		return n != "" && (digits.has(n[0]) || n[0] == '$' || n[0] == '?')
	case "inner", "left", "outer", "cross":
		return after.sees("join")
	}
	return q.punctuation() == ';'
}

// compares reports "column = …" and its like.
func (q query) compares() bool {
	_, q = q.next()
	if c := q.punctuation(); c == '=' || c == '<' || c == '>' || c == '!' {
		return true
	}
	name, _ := q.next()
	switch strings.ToLower(name) {
	case "in", "like", "ilike", "between":
		return true
	}
	return false
}

func (q query) isInsert() bool {
	if !q.sees("into") {
		return false
	}
	_, q = q.next()
	table, q := q.next()
	c := q.punctuation()
	return table != "" && (c == '(' || q.sees("values") || q.sees("select") || q.sees("set") || q.upper && q.sees("using"))
}

func (q query) isUpdate() bool {
	table, q := q.next()
	if table == "" || !q.sees("set") {
		return false
	}
	_, q = q.next()
	column, q := q.next()
	return column != "" && q.punctuation() == '='
}

func (q query) isDelete() bool {
	if !q.sees("from") {
		return false
	}
	_, q = q.next()
	table, q := q.next()
	return table != "" && (q.upper || q.hasClause())
}

// isDefinition reports CREATE TABLE x and its like. It takes capitals, or the
// bracket of a list of columns.
func (q query) isDefinition() bool {
	object, after := q.next()
	switch strings.ToLower(object) {
	case "table", "index", "unique", "view", "database", "schema", "user", "role", "trigger", "function", "column":
	default:
		return false
	}
	name, rest := after.next()
	return name != "" && (q.upper && uppers.has(object[0]) || rest.punctuation() == '(')
}

func (q query) isWith() bool {
	name, q := q.next()
	if name == "" || !q.sees("as") {
		return false
	}
	_, q = q.next()
	return q.punctuation() == '('
}

// isFromClause and isWhereClause report the part of a statement that a syntax
// error quotes.
func (q query) isFromClause() bool {
	table, after := q.next()
	return q.upper && table != "" && after.hasClause()
}

func (q query) isWhereClause() bool { return q.upper && q.compares() }

// A fromFinder answers where the next FROM in capitals stands, looking at no
// part of the text twice.
type fromFinder struct {
	text string
	at   int // the last one found; len(text) if there is none
}

func (f *fromFinder) within(i, limit int) bool {
	if f.at < i {
		f.at = nextFrom(f.text, i)
	}
	return f.at < len(f.text) && f.at-i < limit
}

func nextFrom(text string, i int) int {
	for {
		k := strings.Index(text[i:], "FROM")
		if k < 0 {
			return len(text)
		}
		i += k + len("FROM")
		if !word.has(text[i-len("FROM")-1]) && endsWord(text, i) {
			return i - len("FROM")
		}
	}
}

// statementEnd returns the end of the statement at i: its semicolon, the quote
// it stands in, or where an error message goes on.
func statementEnd(text string, i int) int {
	opening := byte(0)
	if i > 0 && quotes.has(text[i-1]) {
		opening = text[i-1]
	}
	for at := i; at < len(text); at++ {
		switch c := text[at]; {
		case c == opening && opening != 0:
			return at
		case c == ';':
			return at + 1
		case c == '\'':
			at = min(len(text)-1, quoteEnd(text, at+1, len(text), '\''))
		case endsMessage(text[at:]):
			return at
		}
	}
	return len(text)
}

// endsMessage reports where the words around a statement start again.
func endsMessage(rest string) bool {
	switch rest[0] {
	case ':':
		return strings.HasPrefix(rest, ": ")
	case '\n':
		return strings.HasPrefix(rest, "\n\n")
	case ' ':
		return strings.HasPrefix(rest, " (SQLSTATE")
	case ']':
		return len(rest) == 1 || rest[1] == '\n' || rest[1] == ' '
	}
	return false
}
