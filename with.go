package toolguard

import (
	"errors"
	"fmt"
	"reflect"
)

// boxGuard takes in a guard, or makes one.
func boxGuard(opts *Options, tool Tool) (*Guard, error) {
	bare, own := unwrap(tool, opts)
	guard, guarded := bare.(*Guard)
	switch {
	case bare == nil || guarded && guard == nil:
		return nil, errors.New("toolguard: NewToolbox: tool is nil")
	case guarded && guard.body.Load() == nil:
		return nil, errors.New("toolguard: NewToolbox: a Guard was not made by New")
	case guarded && bare == tool:
		return guard, nil
	case guarded:
		return nil, fmt.Errorf("toolguard: NewToolbox: With gives options to the guard of %q, which has its own", guard.info.Name)
	}
	info, err := infoOf(bare)
	if err != nil {
		return nil, err
	}
	o := *own
	if info.Dependency != "" && o.Dependencies != nil && o.Breaker == opts.Breaker && !o.Breaker.Off {
		o.Breaker = BreakerPolicy{} // it came from the box, not with the tool
	}
	return New(bare, &o)
}

// With returns tool with options of its own, which go before those that [New]
// or [NewToolbox] is given: a policy in which any field is set replaces the
// whole policy, and a collaborator that is set replaces the other; what is zero
// is inherited.
func With(tool Tool, opts *Options) Tool { return &configured{tool, opts} }

// configured is a tool with options of its own.
type configured struct {
	Tool
	opts *Options
}

// unwrap returns the tool itself and the options it ends up with.
func unwrap(tool Tool, opts *Options) (Tool, *Options) {
	w, ok := tool.(*configured)
	if !ok {
		return tool, opts
	}
	tool, opts = unwrap(w.Tool, opts)
	return tool, w.opts.over(opts)
}

// over lays what o sets over base.
func (o *Options) over(base *Options) *Options {
	merged := new(Options)
	if base != nil {
		*merged = *base
	}
	if o == nil {
		return merged
	}
	from, to := reflect.ValueOf(o).Elem(), reflect.ValueOf(merged).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); !f.IsZero() {
			to.Field(i).Set(f)
		}
	}
	return merged
}
