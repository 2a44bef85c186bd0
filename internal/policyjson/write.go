package policyjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// writer appends values to text until one cannot be written.
type writer struct {
	text []byte
	err  error
}

func (w *writer) fail(path, format string, args ...any) {
	if w.err == nil {
		w.err = &Error{path, fmt.Sprintf(format, args...) + " cannot be written"}
	}
}

func (w *writer) value(v reflect.Value, path string) {
	switch {
	case v.Type() == durationType:
		w.duration(time.Duration(v.Int()), path)
		return
	case isText(v.Type()):
		w.enum(v, path)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		w.text = strconv.AppendBool(w.text, v.Bool())
	case reflect.String:
		w.string(v.String(), path)
	case reflect.Float32, reflect.Float64:
		w.float(v, path)
	case reflect.Struct:
		w.object(v, path)
	case reflect.Map:
		w.mapping(v, path)
	case reflect.Slice:
		w.list(v, path)
	case reflect.Pointer:
		w.pointer(v, path)
	default:
		w.integer(v, path)
	}
}

func (w *writer) integer(v reflect.Value, path string) {
	if v.CanUint() {
		w.text = strconv.AppendUint(w.text, v.Uint(), 10)
		return
	}
	if v.Int() < 0 {
		w.fail(path, "%d", v.Int())
	}
	w.text = strconv.AppendInt(w.text, v.Int(), 10)
}

func (w *writer) float(v reflect.Value, path string) {
	f := v.Float()
	if !(f >= 0 && f <= math.MaxFloat64) {
		w.fail(path, "%v", f)
	}
	w.text = strconv.AppendFloat(w.text, f, 'g', -1, v.Type().Bits())
}

func (w *writer) duration(d time.Duration, path string) {
	if d < 0 {
		w.fail(path, "%v", d)
	}
	w.text = strconv.AppendQuote(w.text, formatDuration(d))
}

// formatDuration uses one unit, as people do: "60s" and "1500ms".
func formatDuration(d time.Duration) string {
	units := []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}}
	for _, u := range units {
		if d != 0 && d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	if d == 0 {
		return "0s"
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// enum writes only what its type will read again: many types have a text for
// values outside their set as well.
func (w *writer) enum(v reflect.Value, path string) {
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err == nil {
		err = reflect.New(v.Type()).Interface().(encoding.TextUnmarshaler).UnmarshalText(text)
	}
	if err != nil {
		w.fail(path, "%s", text)
		return
	}
	w.string(string(text), path)
}

func (w *writer) string(s, path string) {
	if !utf8.ValidString(s) {
		w.fail(path, "%q", s)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a buffer takes everything
	w.text = append(w.text, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

func (w *writer) object(v reflect.Value, path string) {
	w.text = append(w.text, '{')
	first := true
	for _, f := range fields(v.Type()) {
		if member := v.FieldByIndex(f.index); !isEmpty(member) {
			w.member(f.name, member, path, &first)
		}
	}
	w.text = append(w.text, '}')
}

func (w *writer) mapping(v reflect.Value, path string) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	w.text = append(w.text, '{')
	first := true
	for _, k := range keys {
		w.member(k.String(), v.MapIndex(k), path, &first)
	}
	w.text = append(w.text, '}')
}

func (w *writer) member(name string, v reflect.Value, path string, first *bool) {
	if !*first {
		w.text = append(w.text, ',')
	}
	*first = false
	path += "/" + jsonpointer.Escape(name)
	w.string(name, path)
	w.text = append(w.text, ':')
	w.value(v, path)
}

func (w *writer) list(v reflect.Value, path string) {
	w.text = append(w.text, '[')
	for i := range v.Len() {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.value(v.Index(i), path+"/"+strconv.Itoa(i))
	}
	w.text = append(w.text, ']')
}

func (w *writer) pointer(v reflect.Value, path string) {
	if v.IsNil() {
		w.text = append(w.text, "null"...)
		return
	}
	w.value(v.Elem(), path)
}

// isEmpty reports what is left out of a document.
func isEmpty(v reflect.Value) bool {
	switch {
	case v.Kind() == reflect.Map || v.Kind() == reflect.Slice:
		return v.Len() == 0
	case v.Kind() != reflect.Struct || isText(v.Type()):
		return v.IsZero()
	}
	for i := range v.NumField() {
		if !isEmpty(v.Field(i)) {
			return false
		}
	}
	return true
}
