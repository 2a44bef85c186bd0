package policies

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
	"github.com/toolguard-go/toolguard/internal/policyjson"
)

// reported makes one error of many, nil of none, each under the package's name.
func reported(err error) error {
	var errs policyjson.Errors
	if !errors.As(err, &errs) {
		return err
	}
	errs.Sort()
	all := make([]error, len(errs))
	for i, e := range errs {
		all[i] = fmt.Errorf("policies: %w", e)
	}
	return errors.Join(all...)
}

// problems returns every value that makes no sense.
func (s *Set) problems() policyjson.Errors {
	errs := slices.Concat(s.doc.Groups.problems(), s.doc.emptyPolicies(), s.doc.unknownNames())
	if len(errs) > 0 {
		return errs // what a guard says about those would be beside the point
	}
	return s.audit()
}

// places yields every place that can hold policies, by its JSON pointer.
func (d *document) places() map[string]level {
	all := map[string]level{"/defaults": d.Defaults}
	for name, l := range d.Classes {
		all["/classes/"+jsonpointer.Escape(name)] = l
	}
	for name, t := range d.Tools {
		all["/tools/"+jsonpointer.Escape(name)] = t.level
	}
	return all
}

// emptyPolicies finds policies that are present and say nothing. They would
// inherit, and whoever wrote them may think otherwise.
func (d *document) emptyPolicies() policyjson.Errors {
	var errs policyjson.Errors
	for path, l := range d.places() {
		v := reflect.ValueOf(l)
		for i := range v.NumField() {
			if p := v.Field(i); !p.IsNil() && p.Elem().IsZero() {
				errs = append(errs, &policyjson.Error{
					Path:    path + "/" + policyjson.Name(v.Type().Field(i).Name),
					Problem: "says nothing, want a member that is set; to inherit leave it out",
				})
			}
		}
	}
	return errs
}

// unknownNames finds tools of classes that mean nothing anywhere, and names
// that are none.
func (d *document) unknownNames() policyjson.Errors {
	var errs policyjson.Errors
	if _, found := d.Classes[""]; found {
		errs = append(errs, &policyjson.Error{Path: "/classes/", Problem: "a class needs a name"})
	}
	if _, found := d.Tools[""]; found {
		errs = append(errs, &policyjson.Error{Path: "/tools/", Problem: "a tool needs a name"})
	}
	for name, t := range d.Tools {
		known := []string{"", mediaClass}
		known = slices.AppendSeq(known, maps.Keys(d.Classes))
		known = slices.AppendSeq(known, maps.Keys(value(d.effective(name, "").Timeout).Classes))
		if !slices.Contains(known, t.Class) {
			errs = append(errs, &policyjson.Error{
				Path:    "/tools/" + jsonpointer.Escape(name) + "/class",
				Problem: strconv.Quote(t.Class) + " is no class" + policyjson.Suggestion(t.Class, known[1:]),
			})
		}
	}
	return errs
}
