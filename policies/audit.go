package policies

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/internal/jsonpointer"
	"github.com/toolguard-go/toolguard/internal/policyjson"
)

// audit lets [toolguard.New] judge the options of every tool there may be, and
// finds the place in the document each of its complaints is about.
type audit struct {
	set  *Set
	errs policyjson.Errors
	seen map[policyjson.Error]bool
}

func (s *Set) audit() policyjson.Errors {
	a := audit{set: s, seen: map[policyjson.Error]bool{}}
	a.subject(toolguard.Info{})
	for _, class := range slices.Sorted(maps.Keys(s.doc.Classes)) {
		a.subject(toolguard.Info{Class: class})
	}
	for _, name := range slices.Sorted(maps.Keys(s.doc.Tools)) {
		a.subject(toolguard.Info{Name: name})
	}
	return a.errs
}

// subject judges what one kind of tool gets: any, of a class, or by name.
func (a *audit) subject(info toolguard.Info) {
	o := a.set.For(info)
	o.Dependencies = nil
	a.ask(o, info, func(policy string) string { return a.set.doc.origin(policy, info) })
	if a.set.dependencies == nil {
		return
	}
	// The shared breakers have to suit the budgets of their tools.
	o = toolguard.Options{Timeout: o.Timeout, Dependencies: a.set.dependencies}
	a.ask(o, info, func(policy string) string {
		if policy == "timeout" {
			return a.set.doc.origin(policy, info)
		}
		return dependencyPlace(policy)
	})
}

// dependencyPlace is where a guard's complaint about dependencies belongs: it
// calls their breaker by the name of its own.
func dependencyPlace(policy string) string {
	if policy == "dependencies" {
		return ""
	}
	return "/dependencies"
}

// origin is the place a tool has a policy from, or its own for no policy.
func (d *document) origin(policy string, info toolguard.Info) string {
	class := cmp.Or(d.Tools[info.Name].Class, info.Class)
	switch {
	case d.Tools[info.Name].has(policy), policy == "" && info.Name != "":
		return "/tools/" + jsonpointer.Escape(info.Name)
	case d.Classes[class].has(policy), policy == "" && class != "":
		return "/classes/" + jsonpointer.Escape(class)
	default:
		return "/defaults"
	}
}

// has reports whether a policy, by its name in the document, is given here.
func (l level) has(policy string) bool {
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if policyjson.Name(v.Type().Field(i).Name) == policy {
			return !v.Field(i).IsNil()
		}
	}
	return false
}

// ask collects what New says of the options, once each.
func (a *audit) ask(o toolguard.Options, info toolguard.Info, origin func(policy string) string) {
	subject := info
	if info.Name == "" {
		info.Name = "any"
	}
	_, err := toolguard.New(trivial(info), &o)
	for _, text := range complaints(err) {
		e := placed(text, origin)
		if !a.seen[e] {
			a.seen[e] = true
			e.Problem += remark(e.Path, subject)
			a.errs = append(a.errs, &e)
		}
	}
}

// remark names the tool or class a value makes no sense for, if that is not
// where it stands.
func remark(path string, subject toolguard.Info) string {
	switch {
	case subject.Name != "" && !strings.HasPrefix(path+"/", "/tools/"+jsonpointer.Escape(subject.Name)+"/"):
		return fmt.Sprintf(" (tool %q)", subject.Name)
	case subject.Class != "" && !strings.HasPrefix(path+"/", "/classes/"+jsonpointer.Escape(subject.Class)+"/"):
		return fmt.Sprintf(" (class %q)", subject.Class)
	}
	return ""
}

// complaints takes an error of New apart.
func complaints(err error) []string {
	switch e := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		var all []string
		for _, one := range e.Unwrap() {
			all = append(all, complaints(one)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil {
		return complaints(inner)
	}
	return []string{err.Error()}
}

// placed turns a complaint about a field of Options into one about a place in
// the document: Options.Retry.Rules["x"].Attempts is …/retry/rules/x/attempts.
func placed(text string, origin func(policy string) string) policyjson.Error {
	text = strings.TrimPrefix(text, "toolguard: ")
	field, isOption := strings.CutPrefix(text, "Options.")
	if !isOption {
		return policyjson.Error{Path: origin(""), Problem: text}
	}
	policy, path, problem := fieldPath(field)
	return policyjson.Error{Path: origin(policy) + path, Problem: strings.TrimPrefix(problem, "is ")}
}

// fieldPath reads the Go expression a complaint begins with. It returns its
// first name as a document has it, all of it as a JSON pointer, and what follows.
func fieldPath(text string) (policy, path, rest string) {
	policy, _ = identifier(text)
	for rest = "." + text; rest != "" && rest[0] != ' '; {
		var step string
		if rest[0] == '[' {
			step, rest = indexed(rest[1:])
		} else {
			step, rest = identifier(rest[1:])
		}
		path += "/" + jsonpointer.Escape(step)
	}
	return policy, path, strings.TrimPrefix(rest, " ")
}

// identifier reads a field's name, which ends where something else begins.
func identifier(text string) (name, rest string) {
	end := strings.IndexAny(text, ".[ ")
	if end < 0 {
		end = len(text)
	}
	return policyjson.Name(text[:end]), text[end:]
}

// indexed reads what stands in brackets, a quoted string or a number.
func indexed(text string) (key, rest string) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		key, _ = strconv.Unquote(quoted)
		return key, strings.TrimPrefix(text[len(quoted):], "]")
	}
	key, rest, _ = strings.Cut(text, "]")
	return key, rest
}

// trivial is a tool that is only there to have options checked.
type trivial toolguard.Info

func (t trivial) Info() toolguard.Info { return toolguard.Info(t) }

func (trivial) Call(context.Context, json.RawMessage) (toolguard.Result, error) {
	return toolguard.Result{}, nil
}
