package toolguard

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/toolguard-go/toolguard/internal/canonical"
	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/internal/strictjson"
	"github.com/toolguard-go/toolguard/prompts"
)

// injectKey writes the key into the argument that Info.KeyField names, before
// anything is judged, digested, approved or stored. One that the model wrote
// there would protect nothing.
func (c *call) injectKey() bool {
	field := c.guard.info.KeyField
	if field == "" {
		return true
	}
	text, former := withMember(&c.doc, field, c.CallKey())
	if former != "" && former != c.CallKey() && former != c.rarely().injected {
		c.notes = append(c.notes, Note{Kind: prompts.NoteKeyOverwritten, Path: "/" + field})
	}
	c.rarely().injected = c.CallKey()
	return c.adopt(text)
}

// injectTaken does so once more where the call has taken over another one's key since.
func (c *call) injectTaken() bool {
	if c.guard.info.KeyField == "" || c.rarely().injected == c.CallKey() {
		return true
	}
	return c.injectKey() && c.matched()
}

// adopt makes text the arguments: what is judged from here on is what runs.
func (c *call) adopt(text json.RawMessage) bool {
	doc, err := strictjson.Parse(text, c.guard.args.limits)
	if err != nil || !doc.IsObject() {
		return c.unreadable(doc, err)
	}
	c.doc = doc
	c.judge()
	return true
}

// adoptEdited makes text, which somebody else wrote, the arguments.
func (c *call) adoptEdited(text json.RawMessage) bool {
	if !c.adopt(slices.Clone(text)) {
		return false
	}
	c.rarely().edited = c.guard.args.digestOf(&c.doc)
	return true
}

// digestOf is the key digest of a document, an object.
func (a *arguments) digestOf(doc *strictjson.Doc) Digest {
	if doc.Nodes[0].Len == 0 {
		return a.ofNone
	}
	return digest.Of(a.identity, doc, a.irrelevant)
}

// digestOfText is that of a stored document; the zero Digest if it is none.
func (a *arguments) digestOfText(text json.RawMessage) Digest {
	doc, err := strictjson.Parse(text, a.limits)
	if err != nil || !doc.IsObject() {
		return Digest{}
	}
	return a.digestOf(&doc)
}

// withMember returns the object with a string member, and what the member was if
// it was one before.
func withMember(doc *strictjson.Doc, name, value string) (text []byte, former string) {
	if node, ok := doc.Member(0, name); ok {
		n := &doc.Nodes[node]
		if former = string(doc.Text[n.Start:n.End]); n.Kind == strictjson.String {
			former = doc.Str(node)
		}
		text = append(text, doc.Text[:n.Start]...)
		text = canonical.AppendString(text, value)
		return append(text, doc.Text[n.End:]...), former
	}
	open := bytes.IndexByte(doc.Text, '{') + 1
	text = append(text, doc.Text[:open]...)
	text = canonical.AppendString(text, name)
	text = canonical.AppendString(append(text, ':'), value)
	if doc.Nodes[0].Len > 0 {
		text = append(text, ',')
	}
	return append(text, doc.Text[open:]...), ""
}
