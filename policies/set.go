package policies

import (
	"cmp"
	"maps"
	"slices"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/internal/jsonpointer"
	"github.com/toolguard-go/toolguard/internal/policyjson"
)

// Set is a document that makes sense. Once made it does not change and is safe
// for concurrent use. Make one with [Load], [Parse] or [Default]: the zero Set
// is not ready.
type Set struct {
	doc          document
	dependencies *toolguard.Dependencies
}

// Default returns the set of a document that says nothing: every policy and
// every group has its default.
func Default() *Set {
	return newSet(document{Version: version, Groups: groups{}.withDefaults()})
}

func newSet(doc document) *Set {
	s := &Set{doc: doc}
	if d := doc.Dependencies; d != nil {
		s.dependencies = &toolguard.Dependencies{Max: maps.Clone(d.Max), Breaker: d.Breaker}
	}
	return s
}

// Options returns the policies of a tool by name; one the document does not
// name has the defaults. It is a copy, the collaborators are for the host to
// fill in. Use [Set.For] for tools that declare a class or a dependency.
func (s *Set) Options(tool string) toolguard.Options {
	return s.For(toolguard.Info{Name: tool})
}

// For returns the policies of a tool as [Set.Options] does, and minds what its
// author declared:
//   - a tool that the document gives no class has the policies of the class
//     Info.Class names, if the document has one;
//   - a tool with a dependency has the breaker of that, if the document says
//     anything about dependencies, and none of those meant for all tools or for
//     a class. One of its own that differs is refused by [toolguard.New].
//
// Options.Dependencies is the same for all tools: that is how they share.
func (s *Set) For(info toolguard.Info) toolguard.Options {
	l := s.doc.effective(info.Name, info.Class)
	o := l.options()
	o.Timeout = s.timeouts(o.Timeout, info)
	o.Dependencies = s.dependencies
	if s.dependencies != nil && info.Dependency != "" && o.Breaker == s.commonBreaker(info) {
		o.Breaker = toolguard.BreakerPolicy{}
	}
	return o
}

// commonBreaker is the breaker a tool has if it does not say otherwise.
func (s *Set) commonBreaker(info toolguard.Info) toolguard.BreakerPolicy {
	class := cmp.Or(s.doc.Tools[info.Name].Class, info.Class)
	return value(s.doc.inherited(class).Breaker)
}

// Dependencies returns what Options.Dependencies is for every tool, nil if the
// document says nothing about dependencies. It must not be changed.
func (s *Set) Dependencies() *toolguard.Dependencies { return s.dependencies }

// Check returns an error that lists the tools the document configures and that
// are not among those given, nil if there are none.
func (s *Set) Check(tools ...string) error {
	var errs policyjson.Errors
	for name := range s.doc.Tools {
		if !slices.Contains(tools, name) {
			errs = append(errs, &policyjson.Error{
				Path: "/tools/" + jsonpointer.Escape(name), Problem: "no such tool" + policyjson.Suggestion(name, tools),
			})
		}
	}
	return reported(errs)
}

// MarshalJSON returns the document in full: all groups, every class and every
// tool that names one with what it inherits. What another tool inherits also
// depends on its author, so that one appears as given. Read again, the document
// gives an equal set.
func (s *Set) MarshalJSON() ([]byte, error) {
	full := s.doc
	full.Classes = make(map[string]level, len(s.doc.Classes))
	for name := range s.doc.Classes {
		full.Classes[name] = s.doc.inherited(name)
	}
	full.Tools = make(map[string]tool, len(s.doc.Tools))
	for name, t := range s.doc.Tools {
		if t.Class != "" {
			t.level = s.doc.effective(name, "")
		}
		full.Tools[name] = t
	}
	return policyjson.Marshal(full)
}

// UnmarshalJSON reads a document as [Parse] does, so that a host may have one
// inside its own. On error the set is left as it was.
func (s *Set) UnmarshalJSON(text []byte) error {
	read, err := Parse(text)
	if err == nil {
		*s = *read
	}
	return err
}
