package policyjson

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

var (
	durationType    = reflect.TypeFor[time.Duration]()
	marshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isText reports whether values of the type read and write themselves as text.
func isText(t reflect.Type) bool {
	return t.Implements(marshalerType) && reflect.PointerTo(t).Implements(unmarshalerType)
}

// isNumber reports whether a zero of the type would be a number in a document.
func isNumber(t reflect.Type) bool {
	return !isText(t) && t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}

// field is a member of a struct, as it is called in a document.
type field struct {
	name  string
	index []int
}

// fields returns the members of a struct, those of embedded ones in their place.
func fields(t reflect.Type) []field {
	var all []field
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			all = append(all, field{Name(f.Name), f.Index})
		}
	}
	return all
}

// Name returns what a Go field is called in a document: MaxAttempts is
// max_attempts, LLM is llm and TLSConfig is tls_config.
func Name(goName string) string {
	var b strings.Builder
	runes := []rune(goName)
	for i, c := range runes {
		wordBegins := i > 0 && unicode.IsUpper(c) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if wordBegins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// checkType refuses types that have no place in a policy.
func checkType(t reflect.Type) error { return typeError(t, nil) }

func typeError(t reflect.Type, inside []reflect.Type) error {
	switch {
	case t == durationType || isText(t):
		return nil
	case slices.Contains(inside, t):
		return fmt.Errorf("policyjson: type %v contains itself", t)
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Pointer:
		return fmt.Errorf("policyjson: type %v has two ways to be null", t)
	}
	inside = append(inside, t)
	switch t.Kind() {
	case reflect.Struct:
		return structError(t, inside)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("policyjson: type %v has keys that are no strings", t)
		}
		return typeError(t.Elem(), inside)
	case reflect.Slice, reflect.Pointer:
		return typeError(t.Elem(), inside)
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	}
	return fmt.Errorf("policyjson: type %v has no place in a policy", t)
}

func structError(t reflect.Type, inside []reflect.Type) error {
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous && f.Type.Kind() != reflect.Struct:
			return fmt.Errorf("policyjson: %v embeds %v, which is no struct", t, f.Type)
		case !f.Anonymous && !f.IsExported():
			return fmt.Errorf("policyjson: %v.%s is not exported", t, f.Name)
		}
		if err := typeError(f.Type, inside); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for _, f := range fields(t) {
		if names[f.name] {
			return fmt.Errorf("policyjson: %v has two members called %s", t, f.name)
		}
		names[f.name] = true
	}
	return nil
}
