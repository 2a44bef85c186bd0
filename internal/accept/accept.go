// Package accept recognises valid documents quickly.
//
// Arguments of a tool call are nearly always valid, and a validator that can
// word every violation pays for that ability on each of them. This one only
// says "valid" or "ask somebody else": [Program.Check] accepts a document only
// if jsonschema/v5 accepts it too, and leaves every other document, and every
// schema it does not fully understand, to the general validator.
//
// Inside, evaluation is exact: each subschema holds or does not hold, as not,
// oneOf and if demand. Whatever is unsure (a number too large, a bound on work
// that was hit) gives up on the whole document at once, so that no branch can
// turn "unsure" into "valid".
package accept

import (
	"github.com/toolguard-go/toolguard/internal/pattern"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Options says under which rules a schema is read. The zero value is usable.
type Options struct {
	// Draft applies to schemas without $schema: 4, 6, 7, 2019 or 2020.
	// If zero, 2020, which is the default of jsonschema/v5 as well.
	Draft int

	// Formats are the formats the general validator asserts, and no others:
	// a difference would make Check accept what the validator refuses.
	// A format that is not in the map is an annotation. The functions see
	// strings only, must not keep them, and must be safe for concurrent use.
	Formats map[string]func(string) bool

	// FoldCheck makes a document undecided if it has a member that no property
	// declares but that equals a declared one apart from case: Go would decode
	// it into that property's field, unseen by the schema. A branch of an
	// alternative that does not hold is not compared.
	FoldCheck bool
}

// A Program is a compiled schema. It is immutable and safe for concurrent use.
// A nil Program decides nothing.
type Program struct {
	root *node // nil if the schema is beyond this package
	fold bool
}

// A Verdict is the answer of [Program.Check]. The zero Verdict is "undecided".
type Verdict struct {
	// Accepted reports that jsonschema/v5 would find the document valid.
	// Otherwise nothing is known, and the general validator has to look.
	Accepted bool

	// HasIntegralFloat reports that the document was accepted and a number
	// such as 5.0 or 1e2 stood where a schema admits only integers: valid, but
	// Go does not decode it into an int. It may be set in excess, by a branch
	// of anyOf that did not count, but is never missed.
	HasIntegralFloat bool

	// Exhausted reports that the bound on work was hit. A validator without
	// such a bound may run for very long on the same document.
	Exhausted bool
}

// Compile prepares a schema that jsonschema/v5 has compiled successfully. tree
// is the decoded schema: map[string]any, []any, string, bool, nil and
// json.Number; it must not change while Compile runs and is kept in parts
// (enum and const values). Compile never fails: a schema that uses what this
// package does not implement gives a Program that decides nothing.
func Compile(tree any, opts Options) *Program {
	c := compiler{root: tree, opts: opts, nodes: map[string]*node{}}
	root := c.program()
	if c.beyond || hasInPlaceCycle(c.nodes) {
		root = nil
	}
	return &Program{root: root, fold: opts.FoldCheck}
}

// Decides reports whether Check can accept anything at all.
func (p *Program) Decides() bool { return p != nil && p.root != nil }

// Check evaluates doc, which must come from [strictjson.Parse]: member names
// are unique and strings well-formed. It is bounded in time and depth, does
// not panic, and allocates nothing for ordinary documents.
func (p *Program) Check(doc *strictjson.Doc) (v Verdict) {
	if !p.Decides() || doc == nil || len(doc.Nodes) == 0 {
		return Verdict{}
	}
	// A format function is somebody else's code.
	defer func() {
		if recover() != nil {
			v = Verdict{}
		}
	}()
	w := walk{doc: doc, fold: p.fold, steps: stepsPerNode*len(doc.Nodes) + stepsFloor, matches: pattern.NewBudget(maxMatching)}
	accepted := w.eval(p.root, 0) && !w.gaveUp && !w.matches.Exhausted()
	return Verdict{
		Accepted:         accepted,
		HasIntegralFloat: accepted && w.integralFloat,
		Exhausted:        w.steps < 0 || w.matches.Exhausted(),
	}
}
