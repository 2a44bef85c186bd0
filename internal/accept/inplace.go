package accept

import "slices"

// inPlace holds the subschemas that apply to the same value as their parent.
type inPlace struct {
	all, any, one           []*node // $ref counts as one more allOf
	not                     *node
	condition               *node
	consequent, alternative *node
}

// inPlace returns nil if nothing applies in place. Up to draft 7 a $ref stands
// alone, since draft 2019 it is one more condition.
func (s schema) inPlace() *inPlace {
	if s.has("$ref") && s.draft < 2019 {
		return &inPlace{all: []*node{s.ref()}}
	}
	p := inPlace{
		all: s.children("allOf"),
		any: s.children("anyOf"),
		one: s.children("oneOf"),
		not: s.child("not"),
	}
	if s.has("$ref") {
		p.all = append(p.all, s.ref())
	}
	if s.m["if"] != nil && s.draft >= 7 {
		p.condition, p.consequent, p.alternative = s.child("if"), s.child("then"), s.child("else")
	}
	if len(p.all)+len(p.any)+len(p.one) == 0 && p.not == nil && p.condition == nil {
		return nil
	}
	return &p
}

// sameValue returns the subschemas that see the value n sees.
func (n *node) sameValue() []*node {
	var next []*node
	if p := n.inPlace; p != nil {
		next = append(next, p.all...)
		next = append(next, p.any...)
		next = append(next, p.one...)
		next = append(next, p.not, p.condition, p.consequent, p.alternative)
	}
	if n.object != nil {
		for _, d := range n.object.dependencies {
			next = append(next, d.schema)
		}
	}
	return slices.DeleteFunc(next, func(n *node) bool { return n == nil })
}

// applies evaluates everything that stands in place of node i.
func (w *walk) applies(p *inPlace, i int32) bool {
	for _, n := range p.all {
		if !w.eval(n, i) {
			return false
		}
	}
	return w.anyOf(p.any, i) && w.oneOf(p.one, i) &&
		(p.not == nil || !w.eval(p.not, i)) &&
		(p.condition == nil || w.conditional(p, i))
}

// anyOf stops at the first branch that holds, unless members have to be
// compared with the properties of the other branches that hold.
func (w *walk) anyOf(branches []*node, i int32) bool {
	all := w.fold && w.doc.Nodes[i].Len > 0
	holds := len(branches) == 0
	for _, n := range branches {
		if w.eval(n, i) {
			holds = true
			if !all {
				break
			}
		}
	}
	return holds
}

// oneOf counts to the end: a second branch that holds makes the value invalid.
func (w *walk) oneOf(branches []*node, i int32) bool {
	count := 0
	for _, n := range branches {
		if w.eval(n, i) {
			count++
		}
	}
	return count == 1 || len(branches) == 0
}

// conditional evaluates if, and then the branch it points to.
func (w *walk) conditional(p *inPlace, i int32) bool {
	branch := p.alternative
	if w.eval(p.condition, i) {
		branch = p.consequent
	}
	return branch == nil || w.eval(branch, i)
}
