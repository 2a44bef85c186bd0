package schema

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/toolguard-go/toolguard/internal/pattern"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// caseMismatches finds members that no property declares but that equal a
// declared one apart from case, at every level. Go decodes such a member into
// that property's field, after the schema, which compares exactly, has passed
// over it. Patterns and additionalProperties do not excuse it; a pattern that
// spells names out, as ^amount$ does, declares them.
//
// The error is errSteps if the document and the schema are too much work
// together, or errGone.
func (s *Schema) caseMismatches(ctx context.Context, doc *strictjson.Doc) (found []Violation, err error) {
	steps := stepsFloor + stepsPerNode*len(doc.Nodes)
	w := foldWalk{
		places: &s.places, doc: doc, steps: steps,
		clock:   newClock(ctx, steps, timeFor(len(doc.Nodes))/2),
		matches: pattern.NewBudget(timeFloor / 2),
	}
	w.visit(0, s.places.closure(s.tree))
	return w.found, w.why
}

type foldWalk struct {
	places  *places
	doc     *strictjson.Doc
	steps   int
	clock   clock
	matches pattern.Budget // for the names of members
	found   []Violation
	why     error // the walk ended early
}

// spent reports that the walk has to end: it took too many steps, or too long.
func (w *foldWalk) spent() bool {
	switch {
	case w.why != nil:
	case w.steps < 0 || w.matches.Exhausted():
		w.why = errSteps
	default:
		w.why = w.clock.stops(w.steps)
	}
	return w.why != nil
}

// visit goes through a node with the schemas that may apply to it. Where none
// does, nothing below is declared and there is nothing to mistake.
func (w *foldWalk) visit(node int32, set []map[string]any) {
	n := &w.doc.Nodes[node]
	if len(set) == 0 || n.Len == 0 || n.Kind < strictjson.Array || w.spent() {
		return
	}
	if n.Kind == strictjson.Object {
		w.members(node, set)
	}
	index := 0
	for c := node + 1; c < n.Next; c = w.doc.Nodes[c].Next {
		sub := w.places.child(set, w.doc, c, index, &w.matches)
		w.steps -= 1 + len(set) + len(sub)
		w.visit(c, sub)
		if index++; w.spent() {
			return
		}
	}
}

// members compares the names of one object. The names declared are gathered
// only for one that is not among them, which is rare.
func (w *foldWalk) members(node int32, set []map[string]any) {
	var folded map[string]string
	for c := node + 1; c < w.doc.Nodes[node].Next; c = w.doc.Nodes[c].Next {
		name := w.doc.Key(c)
		if declares(set, name, w.places.draft) || w.places.spells(set, name) {
			continue
		}
		if folded == nil {
			folded = foldAll(w.places.named(set))
			w.steps -= len(folded)
		}
		if want, ok := folded[fold(name)]; ok && len(w.found) <= 2*maxViolations {
			w.report(c, name, want)
		}
	}
}

// report keeps a slip; the caller bounds their number.
func (w *foldWalk) report(c int32, name, want string) {
	w.found = append(w.found, Violation{
		Path: w.doc.Pointer(c), Node: c, Rule: RuleCaseMismatch, Name: name, Want: want,
		Kind: kindOf(w.doc, c), Got: strictjson.Preview(w.doc.Raw(c), maxSeen),
	})
}

// foldAll maps folded names to names; of several, to the first in order.
func foldAll(names map[string]bool) map[string]string {
	folded := make(map[string]string, len(names))
	for name := range names {
		key := fold(name)
		if other, ok := folded[key]; !ok || name < other {
			folded[key] = name
		}
	}
	return folded
}

// fold gives names that [strings.EqualFold] takes for equal the same key: each
// character becomes the smallest of those it folds to.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// kindOf returns the JSON type of a node; a number without a fraction is an
// integer, as in the drafts from 6 on.
func kindOf(doc *strictjson.Doc, node int32) string {
	switch doc.Nodes[node].Kind {
	case strictjson.False, strictjson.True:
		return "boolean"
	case strictjson.Number:
		if isIntegral(string(doc.Raw(node))) {
			return "integer"
		}
		return "number"
	case strictjson.String:
		return "string"
	case strictjson.Array:
		return "array"
	case strictjson.Object:
		return "object"
	}
	return "null"
}

// isIntegral decides exactly: 1e2 and 5.0 are integers, 1e-1 is not. A number
// too large to compute with counts as a fraction.
func isIntegral(number string) bool {
	if !strings.ContainsAny(number, ".eE") {
		return true
	}
	r, ok := rational(json.Number(number))
	return ok && r.IsInt()
}
