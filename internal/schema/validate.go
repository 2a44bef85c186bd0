package schema

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Validate returns the violations of a document that is not accepted, for a
// caller who waits as long as it takes.
func (s *Schema) Validate(doc *strictjson.Doc) (found []Violation, more int) {
	if ctx := context.Background(); !s.Accepts(ctx, doc) {
		return s.Violations(ctx, doc)
	}
	return nil, 0
}

// Holds reports whether a value of any kind fits the schema, as JSON Schema has it: how
// Go would read the names of members does not count. Judged is false if nobody knows,
// because that took too long, or ctx ended first. It never panics.
func (s *Schema) Holds(ctx context.Context, doc *strictjson.Doc) (fits, judged bool) {
	if s.absent || s.fast.Check(doc).Accepted {
		return true, true
	}
	err := s.engine.validate(ctx, doc.Value(0), len(doc.Nodes))
	var invalid *jsonschema.ValidationError
	return err == nil, err == nil || errors.As(err, &invalid)
}

// Accepts is the fast path, and the only one for nearly every call. False means
// that [Schema.Violations] has to look. It never panics.
func (s *Schema) Accepts(ctx context.Context, doc *strictjson.Doc) (yes bool) {
	if s.absent {
		return doc.IsObject()
	}
	if !doc.IsObject() || !s.fast.Check(doc).Accepted {
		return false
	}
	if !s.branched {
		return true
	}
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	slips, err := s.caseMismatches(ctx, doc)
	return err == nil && len(slips) == 0
}

// Violations returns what is wrong with doc, sorted by path and rule, nil if
// nothing is. At most 20 are worked out; more counts the rest. It never panics: a
// document that could not be judged, or not before ctx ended, has one violation
// of [RuleInternal].
func (s *Schema) Violations(ctx context.Context, doc *strictjson.Doc) (found []Violation, more int) {
	if !doc.IsObject() {
		return []Violation{notAnObject(doc)}, 0
	}
	defer func() {
		if recover() != nil {
			found, more = []Violation{internal(doc, "panic")}, 0
		}
	}()
	return s.judge(ctx, doc)
}

// judge finds all violations, the hard way.
func (s *Schema) judge(ctx context.Context, doc *strictjson.Doc) ([]Violation, int) {
	slips, err := s.caseMismatches(ctx, doc)
	if err == nil {
		err = s.engine.validate(ctx, doc.Value(0), len(doc.Nodes))
	}
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
	case errors.Is(err, errSteps):
		return []Violation{internal(doc, "steps")}, 0
	case errors.Is(err, errGone):
		return []Violation{internal(doc, "gone")}, 0
	case !errors.As(err, &invalid):
		return []Violation{internal(doc, "panic")}, 0
	default:
		return s.explainAll(doc, s.leaves(invalid), slips)
	}
	return s.explainAll(doc, nil, slips)
}

// maxWording bounds the search for words: with many members each of them may be
// what another was meant to be. What is left is counted.
const maxWording = 30 * time.Millisecond

// explainAll words the first leaves and merges them with the slips in case.
// A member that is a slip is not reported as unknown too.
func (s *Schema) explainAll(doc *strictjson.Doc, leaves []leaf, slips []Violation) ([]Violation, int) {
	slices.SortStableFunc(leaves, func(a, b leaf) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.rule, b.rule), cmp.Compare(a.at, b.at))
	})
	found := slips
	isSlip := func(v Violation) bool {
		return v.Rule == RuleUnknownProperty &&
			slices.ContainsFunc(slips, func(s Violation) bool { return s.Node == v.Node })
	}
	more := 0
	until := time.Now().Add(maxWording)
	for i, l := range leaves {
		if len(found) > 4*maxViolations || i > 0 && time.Now().After(until) {
			more = len(leaves) - i
			break
		}
		found = append(found, slices.DeleteFunc(s.explainSafely(doc, l), isSlip)...)
	}
	sortViolations(found)
	found = slices.CompactFunc(found, func(a, b Violation) bool { return a.same(&b) })
	if len(found) > maxViolations {
		more += len(found) - maxViolations
		found = found[:maxViolations]
	}
	for i := range found {
		found[i].bound()
	}
	return found, more
}

// explainSafely never lets a failed keyword pass for want of words: a refused
// document must not look accepted.
func (s *Schema) explainSafely(doc *strictjson.Doc, l leaf) []Violation {
	if found := s.explain(doc, l); len(found) > 0 {
		return found
	}
	node := find(doc, l.path)
	return []Violation{{
		Path: l.path, Node: node, Rule: RuleOther, Want: l.keyword,
		Kind: kindOf(doc, node), Got: strictjson.Preview(doc.Raw(node), maxSeen),
	}}
}

// sortViolations leaves no order to chance: what is cut off must not vary.
func sortViolations(found []Violation) {
	slices.SortStableFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Want, b.Want), cmp.Compare(a.Limit, b.Limit))
	})
}

// bound cuts what came from the document or the schema at its full length.
func (v *Violation) bound() {
	v.Path, v.Name, v.Want = words(v.Path), words(v.Name), words(v.Want)
	v.Limit = strictjson.Preview([]byte(v.Limit), maxGot)
	for i, name := range v.Near {
		v.Near[i] = strictjson.Preview([]byte(name), maxGot)
	}
}

// words bounds a text that goes into a sentence.
func words(s string) string { return strictjson.Preview([]byte(s), maxWords) }

// notAnObject is said of any document that is none, also one that did not
// parse: no schema can admit it.
func notAnObject(doc *strictjson.Doc) Violation {
	v := Violation{Rule: RuleType, WantList: []string{"object"}, Got: doc.Preview(maxSeen)}
	if len(doc.Nodes) > 0 {
		v.Kind = kindOf(doc, 0)
	}
	return v
}

// internal says that the document was not judged.
func internal(doc *strictjson.Doc, what string) Violation {
	return Violation{Rule: RuleInternal, Want: what, Kind: kindOf(doc, 0)}
}
