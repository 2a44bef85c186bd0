package toolguard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/toolguard-go/toolguard/internal/infer"
)

// setDefault replaces a zero value by its documented default.
func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// badOption is the one shape of a constructor error: the field, its value, and
// what would have been right.
func badOption(field string, value any, want string) error {
	return fmt.Errorf("toolguard: Options.%s is %v, want %s", field, value, want)
}

// longest is the longest time an option may be: four times as much still is a
// [time.Duration].
const longest time.Duration = 1 << 60

func durationOption(field string, d time.Duration) error {
	if d > longest {
		return badOption(field, d, fmt.Sprintf("up to %v", longest))
	}
	return notNegative(field, d)
}

func notNegative[T cmp.Ordered](field string, v T) error {
	var zero T
	if v < zero {
		return badOption(field, v, "zero or more")
	}
	return nil
}

// inForceWhenOff are the fields of policies that count although Off is set.
var inForceWhenOff = map[string][]string{
	"Arguments": {"Schema", "MaxBytes", "MaxDepth"},
	"Timeout":   {"Grace", "MaxAbandoned"},
	"Render":    {"Locale", "Format", "HideCauses", "QuoteCauses", "RedactEmails", "Contact"},
}

// checkOff refuses fields that Off takes the meaning from.
func (o *Options) checkOff() error {
	errs := []error{
		offOption("Arguments", o.Arguments), offOption("Timeout", o.Timeout), offOption("Retry", o.Retry),
		offOption("Breaker", o.Breaker), offOption("Concurrency", o.Concurrency),
		offOption("Loop", o.Loop), offOption("Dedupe", o.Dedupe),
		offOption("Journaling", o.Journaling), offOption("Approval", o.Approval), offOption("Observe", o.Observe), offOption("Render", o.Render),
	}
	if o.Dependencies != nil {
		errs = append(errs, offOption("Dependencies.Breaker", o.Dependencies.Breaker))
	}
	return errors.Join(errs...)
}

func offOption[P any](name string, policy P) error {
	var errs []error
	for field, v := range meaningless(name, &policy) {
		if !v.IsZero() {
			errs = append(errs, badOption(name+"."+field, v, "zero together with Off"))
		}
	}
	return errors.Join(errs...)
}

// inForce returns a policy without the fields that Off takes the meaning from.
func inForce[P any](name string, policy P) P {
	for _, v := range meaningless(name, &policy) {
		v.SetZero()
	}
	return policy
}

// meaningless are the fields of a policy that do not count; none if it is on.
func meaningless[P any](name string, policy *P) iter.Seq2[string, reflect.Value] {
	p := reflect.ValueOf(policy).Elem()
	return func(yield func(string, reflect.Value) bool) {
		for f, v := range p.Fields() {
			kept := f.Name == "Off" || slices.Contains(inForceWhenOff[name], f.Name)
			if p.FieldByName("Off").Bool() && !kept && !yield(f.Name, v) {
				return
			}
		}
	}
}

// checkArguments holds whatever names arguments against the schema.
func (g *Guard) checkArguments() error {
	var errs []error
	tree := g.args.schema.Tree()
	for i, name := range g.info.Irrelevant {
		if infer.Excludes(tree, name) {
			errs = append(errs, fmt.Errorf("toolguard: Info.Irrelevant[%d] is %q, want an argument that Info.Schema admits", i, name))
		}
	}
	for i, name := range g.opts.Concurrency.SerializeBy {
		if infer.Excludes(tree, name) {
			errs = append(errs, badOption(fmt.Sprintf("Concurrency.SerializeBy[%d]", i), name, "an argument that Info.Schema admits"))
		}
	}
	if field := g.info.KeyField; field != "" && infer.Excludes(tree, field) {
		errs = append(errs, fmt.Errorf("toolguard: Info.KeyField is %q, want an argument that Info.Schema admits", field))
	}
	if t, ok := g.body.Load().tool.(interface {
		fits(tree any, example json.RawMessage) error
	}); ok {
		errs = append(errs, t.fits(tree, g.args.example()))
	}
	return errors.Join(errs...)
}

// checkName keeps a tool's name one word wherever it is written: in a sentence
// for a model, in quotes, in a log.
func checkName(field, name string) error {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || r == ' ' || r == unicode.ReplacementChar || strings.ContainsRune("\"'`", r)
	}
	if name == "" || len(name) > 256 || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("toolguard: %s is %q, want 1 to 256 bytes of printable characters without spaces and quotes", field, preview(name))
	}
	return nil
}

// apart copies v with every slice and map in it, so that whoever gave it, or gets
// it, may go on changing theirs. What pointers, functions and interfaces refer to
// stays shared.
func apart[T any](v T) T {
	detach(reflect.ValueOf(&v).Elem())
	return v
}

func detach(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				detach(f)
			}
		}
	case v.Kind() == reflect.Slice && !v.IsNil():
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := 0; v.Type().Elem().Kind() == reflect.Struct && i < v.Len(); i++ {
			detach(v.Index(i))
		}
	case v.Kind() == reflect.Map && !v.IsNil():
		own := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			own.SetMapIndex(key, value)
		}
		v.Set(own)
	}
}
