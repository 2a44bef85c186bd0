package schema

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A branch is one alternative of anyOf or oneOf, and how it failed.
type branch struct {
	leaves []leaf
	schema any
}

// pick says of failed alternatives what helps: the leaves of the one that was
// clearly meant, one merged type or enum violation, or that none matched.
func (s *Schema) pick(e *jsonschema.ValidationError) []leaf {
	failed := s.leaf(e)
	failed.none = true
	alternatives, _ := failed.owner[failed.keyword].([]any)
	if len(alternatives) != len(e.Causes) {
		return []leaf{failed} // a metaschema's
	}
	branches := make([]branch, len(e.Causes))
	for i, cause := range e.Causes {
		branches[i] = branch{s.leaves(cause), alternatives[i]}
	}
	meant := slices.DeleteFunc(slices.Clone(branches), func(b branch) bool {
		return b.wrongType(failed.path) || s.wrongTag(b, branches, failed.path)
	})
	if len(meant) == 1 {
		return meant[0].leaves
	}
	if merged, ok := merge(branches, meant, failed.path); ok {
		return []leaf{merged}
	}
	if all(flatten(meant), func(l leaf) bool { return l.rule == RuleRequired && l.path == failed.path }) {
		for _, l := range flatten(meant) {
			failed.wanted = append(failed.wanted, l.owner["required"])
		}
	}
	return []leaf{failed}
}

// wrongType reports that the branch is for another type of value.
func (b branch) wrongType(path string) bool {
	return slices.ContainsFunc(b.leaves, func(l leaf) bool {
		return l.path == path && (l.rule == RuleType || l.rule == RuleFalseSchema)
	})
}

// wrongTag reports that the branch is for another value of a member that tells
// the branches apart: it fails const or enum there, and so do or might the
// others, which have const or enum for that member as well.
func (s *Schema) wrongTag(b branch, branches []branch, path string) bool {
	return slices.ContainsFunc(b.leaves, func(l leaf) bool {
		if !l.isValue() || parent(l.path) != path || l.path == path {
			return false
		}
		return !slices.ContainsFunc(branches, func(o branch) bool { return !s.places.tags(o.schema, last(l.path)) })
	})
}

// tags reports whether a branch fixes the values of the member called name.
func (p *places) tags(schema any, name string) bool {
	for _, m := range p.closure(schema) {
		named, _ := m["properties"].(map[string]any)
		for _, sub := range p.closure(named[name]) {
			_, isConst := sub["const"]
			_, isEnum := sub["enum"]
			if isConst || isEnum {
				return true
			}
		}
	}
	return false
}

// merge makes one leaf of branches that all failed in the same way at the same
// place: the types of all, or the values of all.
func merge(branches, meant []branch, path string) (leaf, bool) {
	leaves := flatten(branches)
	same := func(rule func(leaf) bool, at string) bool {
		return all(leaves, func(l leaf) bool { return l.path == at && rule(l) && l.owner != nil })
	}
	switch {
	case same(leaf.isType, path):
		return join(leaves, RuleType), true
	case same(leaf.isValue, path):
		return join(leaves, RuleEnum), true
	case len(meant) > 0:
		if values := flatten(meant); all(values, func(l leaf) bool { return l.path == path && l.isValue() }) {
			return join(values, RuleEnum), true
		}
		return leaf{}, false
	}
	// No branch is meant: perhaps because the tag is wrong in each of them.
	tags := slices.DeleteFunc(leaves, func(l leaf) bool { return !l.isValue() || parent(l.path) != path })
	if len(tags) >= len(branches) && all(tags, func(l leaf) bool { return l.path == tags[0].path && l.owner != nil }) {
		return join(tags, RuleEnum), true
	}
	return leaf{}, false
}

// isType and isValue tell what a failed keyword limits: the kind of value, or
// the value itself.
func (l leaf) isType() bool  { return l.rule == RuleType }
func (l leaf) isValue() bool { return l.rule == RuleConst || l.rule == RuleEnum }

// join collects what several leaves wanted into the first of them.
func join(leaves []leaf, rule Rule) leaf {
	out := leaves[0]
	out.rule = rule
	out.wanted = []any{}
	for _, l := range leaves {
		out.wanted = append(out.wanted, l.values()...)
	}
	out.wanted = distinct(out.wanted)
	return out
}

// values returns what the failed keyword admits, one by one.
func (l leaf) values() []any {
	if l.wanted != nil {
		return l.wanted
	}
	v := l.owner[l.keyword]
	if list, ok := v.([]any); ok && l.keyword != "const" {
		return list
	}
	return []any{v}
}

// flatten puts the leaves of all branches into one list, in order.
func flatten(branches []branch) []leaf {
	var out []leaf
	for _, b := range branches {
		out = append(out, b.leaves...)
	}
	return out
}
