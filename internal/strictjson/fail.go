package strictjson

import "bytes"

func (p *parser) fail(reason Reason) *Error {
	return &Error{Reason: reason, Offset: p.pos, Path: p.path()}
}

func (p *parser) exceeds(reason Reason, limit, size int) *Error {
	err := p.fail(reason)
	err.Limit, err.Size = limit, size
	return err
}

// unexpected refuses the byte at pos, or the lack of one.
func (p *parser) unexpected() *Error {
	if p.pos >= len(p.doc.Text) {
		p.pos = len(p.doc.Text)
		return p.fail(ReasonTruncated)
	}
	return p.fail(ReasonSyntax)
}

// badName refuses what stands where a member name belongs.
func (p *parser) badName() *Error {
	if p.peek() == '\'' {
		return p.fail(ReasonSingleQuotes)
	}
	return p.unexpected()
}

// foreign are the values of other notations that are worth their own reason.
// Each is certain: nothing in JSON begins with these letters.
var foreign = []struct {
	word   string
	reason Reason
}{
	{"'", ReasonSingleQuotes},
	{"True", ReasonPythonLiteral},
	{"False", ReasonPythonLiteral},
	{"None", ReasonPythonLiteral},
	{"NaN", ReasonNotJSONNumber},
	{"Infinity", ReasonNotJSONNumber},
}

// badValue refuses what stands where a value, or the digits after a minus
// sign, belong.
func (p *parser) badValue() *Error {
	rest := p.doc.Text[p.pos:]
	for _, f := range foreign {
		if bytes.HasPrefix(rest, []byte(f.word)) {
			return p.fail(f.reason)
		}
	}
	return p.unexpected()
}

// path is the pointer of the innermost open value. Closed subtrees are
// skipped, so this is linear in the nodes at most.
func (p *parser) path() string {
	var path []byte
	parent, i := int32(-1), int32(0)
	for i < int32(len(p.doc.Nodes)) {
		if next := p.doc.Nodes[i].Next; next != 0 {
			i = next
			continue
		}
		if parent >= 0 {
			path = p.doc.appendStep(path, i, int(p.doc.Nodes[parent].Len)-1)
		}
		parent = i
		i++
	}
	return string(path)
}
