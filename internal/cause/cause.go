// Package cause reads the errors of other people's code without trusting them.
//
// An error's methods may panic, block, end the goroutine, return 50 MB or lead
// back to the error itself. Here nothing of that gets out: a chain is walked
// with a bound, texts are fetched in bounded time and size, and what is known
// to be plain text is told from what is not.
package cause

import "reflect"

// Limit is how many errors of a tree are looked at.
const Limit = 64

// Node is one error of a chain.
type Node struct {
	Err    error
	Parent int // index of the error it was unwrapped from, -1 for the outermost
	Kind   Kind
}

// Chain is an error with everything it wraps, depth first, the outermost first:
// an error comes after the one it was unwrapped from, and the members of a join
// stay in order.
type Chain struct {
	Nodes []Node
	// Cut says that there was more than was looked at.
	Cut bool
	// Cyclic says that an error wraps itself.
	Cyclic bool
}

// Known walks as far as it can without running foreign code: foreign errors are
// in the chain, what they wrap is not. own vouches for types whose Unwrap is
// safe; nil means none. An err of nil gives an empty chain.
func Known(err error, own func(error) bool) Chain {
	w := walker{own: own}
	w.visit(err, -1)
	return w.Chain
}

// Walk also asks foreign errors what they wrap. A panic counts as nothing; but
// as they may block, run it inside [Within].
func Walk(err error, own func(error) bool) Chain {
	w := walker{own: own, foreign: true}
	w.visit(err, -1)
	return w.Chain
}

// Foreign reports whether the chain holds a type of unknown manners.
func (c Chain) Foreign() bool { return c.has(func(k Kind) bool { return k == KindForeign }) }

// Plain reports whether the chain is nothing but text, own types aside: then the
// text is what the author of the tool wrote. An empty, cut or cyclic chain is not plain.
func (c Chain) Plain() bool {
	return len(c.Nodes) > 0 && !c.Cut && !c.Cyclic && !c.has(func(k Kind) bool { return !k.Plain() && k != KindOwn })
}

func (c Chain) has(is func(Kind) bool) bool {
	for i := range c.Nodes {
		if is(c.Nodes[i].Kind) {
			return true
		}
	}
	return false
}

type walker struct {
	Chain
	own     func(error) bool
	foreign bool
}

func (w *walker) visit(err error, parent int) {
	if err == nil || w.Cut {
		return
	}
	if len(w.Nodes) == Limit {
		w.Cut = true
		return
	}
	kind := kindOf(err, w.own)
	if !kind.Plain() && w.inside(err, parent) {
		w.Cyclic = true
		return
	}
	if w.Nodes == nil {
		w.Nodes = make([]Node, 0, roomFor(kind))
	}
	w.Nodes = append(w.Nodes, Node{Err: err, Parent: parent, Kind: kind})
	w.descend(err, kind, len(w.Nodes)-1)
}

// roomFor is how many errors a chain has at first: one that is only text ends there.
func roomFor(outermost Kind) int {
	if outermost == KindText {
		return 1
	}
	return 4
}

func (w *walker) descend(err error, kind Kind, at int) {
	if kind == KindNil || kind == KindText || kind == KindForeign && !w.foreign {
		return
	}
	many, one := unwrap(err)
	w.visit(one, at)
	for _, member := range many[:min(len(many), Limit)] {
		w.visit(member, at)
	}
	w.Cut = w.Cut || len(many) > Limit
}

// inside reports whether err is one of the errors it was unwrapped from. Plain
// errors need no check: they cannot be changed, so a cycle has others in it.
func (w *walker) inside(err error, parent int) bool {
	for ; parent >= 0; parent = w.Nodes[parent].Parent {
		if Same(err, w.Nodes[parent].Err) {
			return true
		}
	}
	return false
}

// Same reports whether two errors are one. It compares only what can be compared: ==
// panics on the rest.
func Same(a, b error) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

func unwrap(err error) (many []error, one error) {
	defer func() {
		if recover() != nil {
			many, one = nil, nil
		}
	}()
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return nil, e.Unwrap()
	case interface{ Unwrap() []error }:
		return e.Unwrap(), nil
	}
	return nil, nil
}
