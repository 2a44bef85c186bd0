package accept

import (
	"time"

	"github.com/toolguard-go/toolguard/internal/pattern"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Bounds on one Check. Schemas with alternatives inside recursion can ask for
// work exponential in the depth of the document.
const (
	stepsPerNode = 16
	stepsFloor   = 4096
	maxDepth     = 1000

	comparisonsPerStep = 8

	// maxMatching is for patterns that may be costly, all together.
	maxMatching = 40 * time.Millisecond
)

// A walk is one evaluation of a document. Once gaveUp is set, no answer of any
// method means anything.
type walk struct {
	doc           *strictjson.Doc
	fold          bool
	gaveUp        bool
	integralFloat bool
	steps         int // left; negative once the bound was hit
	depth         int
	matches       pattern.Budget
}

// giveUp makes the document undecided. It returns false to end loops early.
func (w *walk) giveUp() bool {
	w.gaveUp = true
	return false
}

// spent takes one step and reports whether none was left, or an earlier one
// gave up, which ends the walk soon.
func (w *walk) spent() bool {
	w.steps--
	return w.steps < 0 || w.gaveUp || w.matches.Exhausted()
}

// charge takes the steps for n comparisons that are cheaper than a step each.
func (w *walk) charge(n int) { w.steps -= n / comparisonsPerStep }

// eval reports whether the value at i is valid against n.
func (w *walk) eval(n *node, i int32) bool {
	if w.spent() || w.depth > maxDepth {
		return w.giveUp()
	}
	w.depth++
	valid := w.holds(n, i)
	w.depth--
	return valid
}

// holds evaluates the keywords of n: first those that settle most documents.
func (w *walk) holds(n *node, i int32) bool {
	v := &w.doc.Nodes[i]
	if n.never || n.types != 0 && !w.typed(n.types, v) {
		return false
	}
	for _, set := range n.values {
		if !w.in(set, i) {
			return false
		}
	}
	return w.byKind(n, v, i) && (n.inPlace == nil || w.applies(n.inPlace, i))
}

// byKind evaluates the keywords that concern the kind of v and no other.
func (w *walk) byKind(n *node, v *strictjson.Node, i int32) bool {
	switch v.Kind {
	case strictjson.Number:
		return n.number == nil || n.number.accept(w.number(v))
	case strictjson.String:
		return n.text == nil || n.text.accept(w.text(i), &w.matches)
	case strictjson.Array:
		return n.array == nil || w.array(n.array, i)
	case strictjson.Object:
		return n.object == nil || w.object(n.object, i)
	}
	return true
}

// typed reports whether v has one of the types. Only an integer that is not
// written as plain digits needs a closer look.
func (w *walk) typed(types typeSet, v *strictjson.Node) bool {
	if types&kindBit(v.Kind) != 0 {
		return true
	}
	if v.Kind != strictjson.Number || types&integer == 0 {
		return false
	}
	if !hasPoint(w.doc.Text[v.Start:v.End]) {
		return true
	}
	if !w.number(v).isInteger() {
		return false
	}
	w.integralFloat = true
	return true
}

// number reads the number v. It gives up on one that is out of bounds.
func (w *walk) number(v *strictjson.Node) number {
	n, ok := parseNumber(w.doc.Text[v.Start:v.End])
	if !ok {
		w.giveUp()
		return number{small: true}
	}
	return n
}

// text returns the content of the string at i.
func (w *walk) text(i int32) []byte {
	if w.doc.Nodes[i].Escaped {
		return []byte(w.doc.Str(i))
	}
	return w.doc.Content(i)
}

// name returns the member name of the value at c.
func (w *walk) name(c int32) []byte {
	if w.doc.Nodes[c].KeyEscaped {
		return []byte(w.doc.Key(c))
	}
	return w.doc.KeyContent(c)
}

// find returns the member of object i with the given name, -1 if there is none.
func (w *walk) find(i int32, name []byte) int32 {
	nodes := w.doc.Nodes
	for c := i + 1; c < nodes[i].Next; c = nodes[c].Next {
		if w.spent() {
			w.giveUp()
			break
		}
		if string(w.name(c)) == string(name) {
			return c
		}
	}
	return -1
}
