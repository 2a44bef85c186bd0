package normalize

import (
	"cmp"
	"slices"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// A rewrite collects edits of one document.
type rewrite struct {
	doc     *strictjson.Doc
	edits   []edit
	removed map[int32]bool
	changes []Change
	listed  [IntegralFloat + 1]int
}

// An edit replaces a span of the text. Spans do not overlap.
type edit struct {
	start, end int32
	text       []byte
}

func (r *rewrite) replace(kind Kind, i int32, text []byte) {
	n := &r.doc.Nodes[i]
	e := edit{n.Start, n.End, text}
	r.edits = append(r.edits, e)
	r.changed(kind, i, e)
}

// changed lists the first few changes of a kind and counts the rest.
func (r *rewrite) changed(kind Kind, i int32, e edit) {
	r.listed[kind]++
	if r.listed[kind] <= maxListed {
		c := Change{Kind: kind, Path: r.doc.Pointer(i), Offset: int(e.start)}
		r.changes = append(r.changes, c.bounded(r.doc.Text[e.start:e.end], e.text))
		return
	}
	for c := len(r.changes) - 1; ; c-- {
		if r.changes[c].Kind == kind {
			r.changes[c].Count++
			return
		}
	}
}

// remove turns removed members into edits, object by object.
func (r *rewrite) remove() {
	if len(r.removed) == 0 {
		return
	}
	for i := range r.doc.Nodes {
		if r.doc.Nodes[i].Kind == strictjson.Object {
			r.removeFrom(int32(i))
		}
	}
}

// removeFrom takes each run of removed members with the comma behind it or,
// at the end of the object, with the comma before it.
func (r *rewrite) removeFrom(object int32) {
	nodes := r.doc.Nodes
	run, kept := int32(0), int32(0) // first of the run, last member kept; 0 is neither
	for c := object + 1; c < nodes[object].Next; c = nodes[c].Next {
		switch {
		case !r.removed[c] && run != 0:
			r.edits = append(r.edits, edit{start: nodes[run].KeyStart, end: nodes[c].KeyStart})
			run, kept = 0, c
		case !r.removed[c]:
			kept = c
		case run == 0:
			run = c
		}
	}
	if run == 0 {
		return
	}
	// The last member is a null, so it is the last node of the object too.
	rest := edit{start: nodes[run].KeyStart, end: nodes[nodes[object].Next-1].End}
	if kept != 0 {
		rest.start = nodes[kept].End
	}
	r.edits = append(r.edits, rest)
}

// apply returns the text with all edits made.
func (r *rewrite) apply() ([]byte, []Change) {
	if len(r.edits) == 0 {
		return nil, nil
	}
	slices.SortFunc(r.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	out := make([]byte, 0, len(r.doc.Text))
	at := int32(0)
	for _, e := range r.edits {
		out = append(append(out, r.doc.Text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, r.doc.Text[at:]...), r.changes
}
