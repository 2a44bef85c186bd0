package policies

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/internal/policyjson"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// version is the only one there is.
const version = 1

// document is the JSON document, field by field.
type document struct {
	Version      int
	Defaults     level
	Classes      map[string]level
	Tools        map[string]tool
	Dependencies *dependencies
	Groups       groups
}

// level holds the policies given in one place; nil is inherited.
type level struct {
	Arguments   *toolguard.ArgumentPolicy
	Timeout     *toolguard.TimeoutPolicy
	Retry       *toolguard.RetryPolicy
	Breaker     *toolguard.BreakerPolicy
	Concurrency *toolguard.ConcurrencyPolicy
	Loop        *toolguard.LoopPolicy
	Dedupe      *toolguard.DedupePolicy
	Journaling  *toolguard.JournalPolicy
	Approval    *toolguard.ApprovalPolicy
	Observe     *toolguard.ObservePolicy
	Render      *toolguard.RenderPolicy
}

type tool struct {
	Class string
	level
}

type dependencies struct {
	Max     map[string]int
	Breaker toolguard.BreakerPolicy
}

// over returns l with what it lacks taken from below.
func (l level) over(below level) level {
	return level{
		Arguments:   cmp.Or(l.Arguments, below.Arguments),
		Timeout:     cmp.Or(l.Timeout, below.Timeout),
		Retry:       cmp.Or(l.Retry, below.Retry),
		Breaker:     cmp.Or(l.Breaker, below.Breaker),
		Concurrency: cmp.Or(l.Concurrency, below.Concurrency),
		Loop:        cmp.Or(l.Loop, below.Loop),
		Dedupe:      cmp.Or(l.Dedupe, below.Dedupe),
		Journaling:  cmp.Or(l.Journaling, below.Journaling),
		Approval:    cmp.Or(l.Approval, below.Approval),
		Observe:     cmp.Or(l.Observe, below.Observe),
		Render:      cmp.Or(l.Render, below.Render),
	}
}

// options returns a copy that shares nothing with the level.
func (l level) options() toolguard.Options {
	o := toolguard.Options{
		Arguments: value(l.Arguments), Timeout: value(l.Timeout), Retry: value(l.Retry),
		Breaker: value(l.Breaker), Concurrency: value(l.Concurrency),
		Loop: value(l.Loop), Dedupe: value(l.Dedupe),
		Journaling: value(l.Journaling), Approval: value(l.Approval),
		Observe: value(l.Observe), Render: value(l.Render),
	}
	o.Timeout.Classes = maps.Clone(o.Timeout.Classes)
	o.Retry.Rules = maps.Clone(o.Retry.Rules)
	o.Concurrency.SerializeBy = slices.Clone(o.Concurrency.SerializeBy)
	o.Loop.Volatile = slices.Clone(o.Loop.Volatile)
	o.Approval.Effects = slices.Clone(o.Approval.Effects)
	o.Approval.Risks = slices.Clone(o.Approval.Risks)
	return o
}

func value[P any](policy *P) P {
	if policy == nil {
		return *new(P)
	}
	return *policy
}

// inherited is what a tool of a class gets where it says nothing itself.
func (d *document) inherited(class string) level {
	return d.Classes[class].over(d.Defaults)
}

// effective is what a tool gets; class is for one that names none itself.
func (d *document) effective(name, class string) level {
	t := d.Tools[name]
	return t.over(d.inherited(cmp.Or(t.Class, class)))
}

// Load reads a document from r to its end.
func Load(r io.Reader) (*Set, error) {
	text, err := io.ReadAll(io.LimitReader(r, strictjson.DefaultMaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	return Parse(text)
}

// Parse reads a document of at most 1 MiB.
func Parse(text []byte) (*Set, error) {
	var doc document
	if err := policyjson.Unmarshal(text, &doc); err != nil {
		return nil, reported(err)
	}
	if doc.Version != version {
		return nil, reported(policyjson.Errors{{Path: "/version", Problem: versionProblem(doc.Version)}})
	}
	doc.Groups = doc.Groups.withDefaults()
	s := newSet(doc)
	if err := reported(s.problems()); err != nil {
		return nil, err
	}
	return s, nil
}

func versionProblem(v int) string {
	if v == 0 {
		return "missing, want 1"
	}
	return strconv.Itoa(v) + ", want 1"
}
