// Package policyjson reads and writes policies as JSON, strictly.
//
// A policy is a plain struct: booleans, numbers, strings, durations, enums with
// text methods, and structs, maps, slices and pointers of these. Anything else
// in it is an error of the type, found before the first value is touched.
//
//   - A member is named after its field, in lower_snake: MaxAttempts is
//     "max_attempts". Embedded structs give their members to the outer one.
//   - A [time.Duration] is a string of [time.ParseDuration], such as "60s".
//   - What is zero or empty is left out. A number or duration that is given as
//     zero is refused: in Go zero stands for the default, and whoever writes a
//     zero down means something else. Behind a pointer, in a map or in a list a
//     zero is a value like any other.
//   - Nothing is negative. Null is only known to pointers in a map or in a list:
//     as a member it could mean that there is to be none, and would mean the default.
//   - Unknown and repeated members are refused.
//
// What is written can be read back, and means the same.
package policyjson

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Error is one thing wrong with a document.
type Error struct {
	// Path is the JSON pointer (RFC 6901) of the value, "" for the document.
	Path string
	// Problem names the value and what was wanted.
	Problem string
}

// Error returns the path and the problem.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// Errors is everything wrong with a document, sorted by path.
type Errors []*Error

// Error returns one line for each of them.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort puts the errors into the order they are reported in.
func (es Errors) Sort() {
	slices.SortStableFunc(es, func(a, b *Error) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Problem, b.Problem)
	})
}

// Marshal returns the document of a policy, members in the order of the fields
// and maps in the order of their keys. What could not be read back is an error.
func Marshal(policy any) ([]byte, error) {
	v := reflect.ValueOf(policy)
	if !v.IsValid() {
		return nil, errors.New("policyjson: nothing to write")
	}
	if err := checkType(v.Type()); err != nil {
		return nil, err
	}
	var w writer
	w.value(v, "")
	if len(w.text) > strictjson.DefaultMaxBytes {
		w.fail("", "a document of %d bytes", len(w.text))
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.text, nil
}

// Unmarshal reads text into what policy points to and replaces all of it. On
// error that is left as it was; an error of the document is an [Errors].
func Unmarshal(text []byte, policy any) error {
	target := reflect.ValueOf(policy)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return errors.New("policyjson: nothing to read into")
	}
	target = target.Elem()
	if err := checkType(target.Type()); err != nil {
		return err
	}
	doc, err := strictjson.Parse(text, strictjson.Limits{})
	if err != nil {
		return Errors{syntaxError(text, err)}
	}
	r := reader{doc: doc}
	fresh := reflect.New(target.Type()).Elem()
	r.value(0, fresh)
	if len(r.errs) > 0 {
		r.errs.Sort()
		return r.errs
	}
	target.Set(fresh)
	return nil
}
