package policyjson

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// maxQuoted bounds how much of a value an error shows, in bytes.
const maxQuoted = 64

// reader sets values from nodes of a document and collects what is wrong.
type reader struct {
	doc  strictjson.Doc
	errs Errors
}

func (r *reader) fail(node int32, format string, args ...any) {
	r.errs = append(r.errs, &Error{r.doc.Pointer(node), fmt.Sprintf(format, args...)})
}

// want reports a value of the wrong type.
func (r *reader) want(node int32, what string) {
	r.fail(node, "%s, want %s", r.quote(node), what)
}

// quote shows a value: in full if it is small, by its type if it is none to look at.
func (r *reader) quote(node int32) string {
	switch kind := r.doc.Nodes[node].Kind; kind {
	case strictjson.Array, strictjson.Object:
		return "an " + kind.String()
	}
	return strictjson.Preview(r.doc.Raw(node), maxQuoted)
}

// is reports whether node has the kind that is needed, and complains if not.
func (r *reader) is(node int32, kind strictjson.Kind, what string) bool {
	if r.doc.Nodes[node].Kind == kind {
		return true
	}
	r.want(node, what)
	return false
}

func (r *reader) value(node int32, v reflect.Value) {
	switch {
	case v.Type() == durationType:
		r.duration(node, v)
		return
	case isText(v.Type()):
		r.enum(node, v)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		r.boolean(node, v)
	case reflect.String:
		if r.is(node, strictjson.String, "a string") {
			v.SetString(r.doc.Str(node))
		}
	case reflect.Struct:
		r.object(node, v)
	case reflect.Map:
		r.mapping(node, v)
	case reflect.Slice:
		r.list(node, v)
	case reflect.Pointer:
		r.pointer(node, v)
	default:
		r.number(node, v)
	}
}

func (r *reader) boolean(node int32, v reflect.Value) {
	kind := r.doc.Nodes[node].Kind
	if kind != strictjson.True && kind != strictjson.False {
		r.want(node, "true or false")
		return
	}
	v.SetBool(kind == strictjson.True)
}

func (r *reader) enum(node int32, v reflect.Value) {
	if !r.is(node, strictjson.String, "a string") {
		return
	}
	err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(r.doc.Str(node)))
	if err != nil {
		r.fail(node, "%s", withoutPackage(err.Error()))
	}
}

// withoutPackage drops the "toolguard: " that texts of errors begin with: the
// caller has a prefix of its own.
func withoutPackage(text string) string {
	if name, rest, ok := strings.Cut(text, ": "); ok && !strings.ContainsAny(name, ` "`) {
		return rest
	}
	return text
}

func (r *reader) object(node int32, v reflect.Value) {
	if !r.is(node, strictjson.Object, "an object") {
		return
	}
	all := fields(v.Type())
	for child := range r.children(node) {
		f, known := named(all, r.doc.Key(child))
		if !known {
			r.fail(child, "unknown member%s", Suggestion(r.doc.Key(child), names(all)))
			continue
		}
		member := v.FieldByIndex(f.index)
		if member.Kind() == reflect.Pointer && r.doc.Nodes[child].Kind == strictjson.Null {
			r.want(child, "it left out, or a value")
			continue
		}
		before := len(r.errs)
		r.value(child, member)
		if isNumber(member.Type()) && member.IsZero() && len(r.errs) == before {
			r.fail(child, "%s, want above zero; for the default leave it out", r.quote(child))
		}
	}
}

// children yields the direct children of a node.
func (r *reader) children(node int32) func(yield func(int32) bool) {
	return func(yield func(int32) bool) {
		for c := node + 1; c < r.doc.Nodes[node].Next; c = r.doc.Nodes[c].Next {
			if !yield(c) {
				return
			}
		}
	}
}

func named(all []field, name string) (field, bool) {
	for _, f := range all {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func names(all []field) []string {
	out := make([]string, len(all))
	for i, f := range all {
		out[i] = f.name
	}
	return out
}

func (r *reader) mapping(node int32, v reflect.Value) {
	if !r.is(node, strictjson.Object, "an object") || r.doc.Nodes[node].Len == 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for child := range r.children(node) {
		element := reflect.New(v.Type().Elem()).Elem()
		r.value(child, element)
		v.SetMapIndex(reflect.ValueOf(r.doc.Key(child)).Convert(v.Type().Key()), element)
	}
}

func (r *reader) list(node int32, v reflect.Value) {
	if !r.is(node, strictjson.Array, "an array") || r.doc.Nodes[node].Len == 0 {
		return
	}
	length := int(r.doc.Nodes[node].Len)
	v.Set(reflect.MakeSlice(v.Type(), length, length))
	i := 0
	for child := range r.children(node) {
		r.value(child, v.Index(i))
		i++
	}
}

func (r *reader) pointer(node int32, v reflect.Value) {
	if r.doc.Nodes[node].Kind == strictjson.Null {
		return
	}
	v.Set(reflect.New(v.Type().Elem()))
	r.value(node, v.Elem())
}

// syntaxError says what is wrong with a text that is no strict JSON, and where.
func syntaxError(text []byte, err error) *Error {
	var syntax *strictjson.Error
	if !errors.As(err, &syntax) {
		return &Error{Problem: err.Error()}
	}
	line := 1 + strings.Count(string(text[:min(syntax.Offset, len(text))]), "\n")
	if syntax.Reason == strictjson.ReasonDuplicateKey {
		return &Error{syntax.Path, fmt.Sprintf("given twice, again in line %d", line)}
	}
	reason := strings.ReplaceAll(syntax.Reason.String(), "_", " ")
	return &Error{syntax.Path, fmt.Sprintf("not strict JSON: %s in line %d", reason, line)}
}
