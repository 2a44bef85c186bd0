package toolguard

import (
	"context"
	"slices"
)

// Observers returns an [Observer] that hands every event to each of list, in
// order, as one guard has only one: a logger, a [Monitor] and a tracer, say. Nil
// ones are skipped. One that panics or ends its goroutine keeps nothing from the
// others; one that hangs holds up those after it, and the event counts as lost.
// Where several start spans, each later one starts its own inside the others'.
func Observers(list ...Observer) Observer {
	list = slices.DeleteFunc(slices.Clone(list), func(o Observer) bool { return o == nil })
	all := observers(list)
	for _, o := range list {
		if _, ok := o.(SpanObserver); ok {
			return spanObservers{all}
		}
	}
	return all
}

type observers []Observer

// Observe implements [Observer]. The others come in a deferred call, which runs
// whatever the first one does.
func (o observers) Observe(ctx context.Context, e Event) {
	if len(o) == 0 {
		return
	}
	defer o[1:].Observe(ctx, e)
	o[0].Observe(ctx, e)
}

// WantsSuccess implements [SelectiveObserver]: what one wants, all get.
func (o observers) WantsSuccess(ctx context.Context) bool {
	return slices.ContainsFunc(o, func(one Observer) bool {
		s, ok := one.(SelectiveObserver)
		return !ok || s.WantsSuccess(ctx)
	})
}

type spanObservers struct{ observers }

// Start implements [SpanObserver].
func (o spanObservers) Start(ctx context.Context, e Event) (context.Context, func(Event)) {
	var ends ends
	exits := true
	defer func() {
		if exits {
			ends.run(e)
		}
	}()
	for _, one := range o.observers {
		s, ok := one.(SpanObserver)
		if !ok {
			continue
		}
		child, end := startOne(ctx, s, e)
		if child != nil {
			ctx = child
		}
		if end != nil {
			ends = append(ends, end)
		}
	}
	exits = false
	switch len(ends) {
	case 0:
		return ctx, nil
	case 1:
		return ctx, ends[0]
	default:
		return ctx, ends.run
	}
}

// startOne starts a span; one that panics starts none.
func startOne(ctx context.Context, s SpanObserver, e Event) (child context.Context, end func(Event)) {
	defer func() {
		if recover() != nil {
			child, end = nil, nil
		}
	}()
	return s.Start(ctx, e)
}

// StartsLate implements [LateSpanObserver]: where one cannot wait, none does.
func (o spanObservers) StartsLate() bool {
	for _, one := range o.observers {
		s, starts := one.(SpanObserver)
		if late, ok := s.(LateSpanObserver); starts && !(ok && late.StartsLate()) {
			return false
		}
	}
	return true
}

// ends are functions that end spans, those started last first.
type ends []func(Event)

func (f ends) run(e Event) {
	n := len(f)
	if n == 0 {
		return
	}
	defer f[:n-1].run(e)
	f[n-1](e)
}
