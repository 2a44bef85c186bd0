package redact

import "strings"

// verbs open a statement if what follows reads like one.
var verbs = []struct {
	word  string
	reads func(q query) bool
}{
	{"select", query.isSelect}, {"insert", query.isInsert}, {"replace", query.isInsert},
	{"merge", query.isInsert}, {"update", query.isUpdate}, {"delete", query.isDelete},
	{"create", query.isDefinition}, {"alter", query.isDefinition}, {"drop", query.isDefinition},
	{"truncate", query.isDefinition}, {"with", query.isWith},
	{"from", query.isFromClause}, {"where", query.isWhereClause},
}

// sqlRules find SQL. Its verbs are ordinary words, so capitals alone are not
// enough and a sentence that begins with "select a date from" is left alone:
// it takes the punctuation of SQL, or capitals and the right second word.
func sqlRules() (out []rule) {
	for _, v := range verbs {
		read := func(text string, i int) span {
			after := i + len(v.word)
			if after == len(text) || !spaces.has(text[after]) || !v.reads(query{text, after, uppers.has(text[i+1])}) {
				return span{}
			}
			return span{i, statementEnd(text, i), statement}
		}
		out = append(out, rule{sqlFamily, v.word, wordStart, false, read})
	}
	return append(out, rule{sqlFamily, "[parameters: ", anywhere, true, boundValues})
}

// boundValues reads "[parameters: {…}]", which SQLAlchemy puts behind a statement.
func boundValues(text string, i int) span {
	from := i + len("[parameters: ")
	line := text[from:lineEnd(text, from)]
	if end := strings.LastIndexByte(line, ']'); end > 0 && strings.IndexByte("{([", line[0]) >= 0 {
		return span{from, from + end, statement}
	}
	return span{}
}

// A query is a possible statement, read from behind its verb.
type query struct {
	text  string
	i     int
	upper bool // the verb is in capitals
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
	name = strings.TrimRight(name, "\"`]") // it may end a text inside of another
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

// isSelect trusts SELECT … FROM in capitals. In lower case the list of columns
// has to be one: names and commas, a star, a call. A list that the text ends in may
// have lost its FROM.
func (q query) isSelect() bool {
	if q.upper && q.reachesFrom() {
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
		if strings.TrimRight(name, `"`) == "*" || q.i < len(q.text) && q.text[q.i] == '(' {
			return q.comesFrom(columns, true) || q.cutOff(name)
		}
		if q.punctuation() != ',' {
			return q.comesFrom(columns, false) || q.cutOff(name) && columns > 1
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
	from, q := q.next()
	table, q := q.next()
	if !strings.EqualFold(from, "from") || table == "" {
		return false
	}
	return sure || q.hasClause() || columns > 1 && q.ends()
}

// isKeyword reports a word where a column should stand: it is a sentence.
func isKeyword(name string) bool {
	return strings.EqualFold(name, "from") || strings.EqualFold(name, "select") || strings.EqualFold(name, "and")
}

// ends reports that nothing but the end of a statement follows.
func (q query) ends() bool {
	c := q.punctuation()
	return c == 0 || c == ';' || c == ':' || c == ')' || quotes.has(c)
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

// cutOff reports a statement with its verb in capitals that may have been longer: it
// ends behind a name that is not in capitals, as no sentence in capitals does.
func (q query) cutOff(name string) bool {
	c := q.punctuation()
	closed := q.i > 0 && (q.text[q.i-1] == '"' || q.text[q.i-1] == ']') // they are taken for part of the name
	return q.upper && (closed || q.ends() || c == '}' || c == ']') && !shouts(name)
}

// shouts reports a name in capitals, which may be a word of a warning.
func shouts(name string) bool {
	return strings.ToUpper(name) == name && strings.Trim(name, "*") != "" && !strings.ContainsAny(name, "_.`\"[")
}

// isInsert reports INTO a table and what only a statement has behind it. Where both
// words are in capitals and the table is not, they are enough.
func (q query) isInsert() bool {
	if !q.sees("into") {
		return false
	}
	_, q = q.next()
	table, q := q.next()
	c := q.punctuation()
	return table != "" && (c == '(' || q.upper && !shouts(table) || q.sees("values") || q.sees("select") || q.sees("set") || q.upper && q.sees("using"))
}

// isUpdate reports "table SET column =". The sign is what prose never has; a statement
// that was cut off may have lost it.
func (q query) isUpdate() bool {
	table, q := q.next()
	if table == "" || !q.sees("set") {
		return false
	}
	_, q = q.next()
	if q.cutOff(table) {
		return true
	}
	column, q := q.next()
	return column != "" && (q.punctuation() == '=' || q.cutOff(table))
}

// isDelete takes capitals, or a condition that compares.
func (q query) isDelete() bool {
	if !q.sees("from") {
		return false
	}
	_, q = q.next()
	table, q := q.next()
	return table != "" && (q.upper || q.hasClause())
}

// isDefinition reports CREATE TABLE x and its like. It takes the bracket of a
// list of columns, or capitals and a clause or the end.
func (q query) isDefinition() bool {
	object, after := q.next()
	for containsFold(modifiers, object) {
		object, after = after.next()
	}
	if !containsFold(objects, object) {
		return false
	}
	name, rest := after.next()
	if name == "" || rest.punctuation() == '(' {
		return name != ""
	}
	clause, _ := rest.next()
	return q.upper && uppers.has(object[0]) && (rest.ends() || containsFold(definitionClauses, clause))
}

// modifiers may stand before the objects that a definition creates.
var (
	modifiers = []string{"unique", "temporary", "temp", "materialized", "or", "replace"}
	objects   = []string{"table", "index", "view", "database", "schema", "user", "role", "trigger", "function", "column"}
)

// definitionClauses follow the name of what is created, altered or dropped.
var definitionClauses = []string{
	"add", "alter", "as", "cascade", "column", "drop", "enable", "exists", "identified", "index", "like",
	"modify", "not", "on", "owner", "rename", "restrict", "returns", "set", "using", "with",
}

// isWith reports "name AS (", a common table expression.
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

// reachesFrom reports FROM in capitals before the list of columns gets too long.
func (q query) reachesFrom() bool {
	list := q.text[q.i:min(len(q.text), q.i+maxList)]
	for i := 0; ; {
		k := strings.Index(list[i:], "FROM")
		if k < 0 {
			return false
		}
		i += k + len("FROM")
		if !word.has(list[i-len("FROM")-1]) && endsWord(list, i) {
			return true
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
			closing := quotedInside(text, at)
			if closing < 0 {
				return at
			}
			at = closing
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

// quotedInside returns where a name or a value ends that the quote at i begins, in a
// statement that stands in the same quotes: an escape that is undone, or a server that
// quotes what it does not understand. It returns -1 if the quote ends the statement.
func quotedInside(text string, i int) int {
	if strings.IndexByte(" ,(=.<>\n\t", text[i-1]) < 0 {
		return -1
	}
	end := quoteEnd(text, i+1, min(len(text), i+maxQuoted), text[i])
	if end == i+1 || end >= len(text) || text[end] != text[i] || strings.IndexByte(" ,:}])", text[i+1]) >= 0 {
		return -1
	}
	return end
}

// maxQuoted bounds the search for the end of a quoted name.
const maxQuoted = 256

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
