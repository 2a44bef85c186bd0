package infer

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a member of an object as encoding/json sees it.
type field struct {
	name     string
	typ      reflect.Type
	index    []int // the way to it, through embedded structs
	tag      string
	tagged   bool // its name is given, not Go's
	quoted   bool // the option "string"
	optional bool
	fault    string // why it can never be set
}

// embedded is a struct whose fields count as those of the one around it.
type embedded struct {
	typ      reflect.Type
	index    []int
	optional bool // it may be a nil pointer
	fault    string
}

// fieldsOf lists the fields of a struct in their order. Of several with one name
// the least deep counts, of those the tagged one; if that leaves more than one,
// none does.
func fieldsOf(t reflect.Type) []*field {
	var all []*field
	seen := map[reflect.Type]bool{}
	for level := []embedded{{typ: t}}; len(level) > 0; {
		var next []embedded
		times := map[reflect.Type]int{}
		for _, e := range level {
			times[e.typ]++
		}
		for _, e := range level {
			if seen[e.typ] {
				continue
			}
			seen[e.typ] = true
			fields, deeper := e.fields()
			all, next = append(all, fields...), append(next, deeper...)
			if times[e.typ] > 1 { // embedded twice: they hide each other
				all = append(all, fields...)
			}
		}
		level = next
	}
	return dominant(all)
}

// dominant keeps the fields that are not hidden by others.
func dominant(all []*field) []*field {
	byName := map[string][]*field{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	var kept []*field
	for _, rivals := range byName {
		slices.SortStableFunc(rivals, rank)
		if len(rivals) == 1 || rank(rivals[0], rivals[1]) != 0 {
			kept = append(kept, rivals[0])
		}
	}
	slices.SortFunc(kept, func(a, b *field) int { return slices.Compare(a.index, b.index) })
	return kept
}

func rank(a, b *field) int {
	if c := cmp.Compare(len(a.index), len(b.index)); c != 0 {
		return c
	}
	switch {
	case a.tagged == b.tagged:
		return 0
	case a.tagged:
		return -1
	}
	return 1
}

// fields returns the fields of one struct, and the structs embedded in it.
func (e embedded) fields() (fields []*field, deeper []embedded) {
	for i := range e.typ.NumField() {
		sf := e.typ.Field(i)
		tag := sf.Tag.Get("json")
		if tag == "-" || hidden(sf) {
			continue
		}
		index := append(slices.Clone(e.index), i)
		name, options := parseTag(tag)
		if base := elem(sf.Type); name == "" && sf.Anonymous && base.Kind() == reflect.Struct {
			deeper = append(deeper, e.embed(sf, base, index))
			continue
		}
		fields = append(fields, &field{
			name: cmp.Or(name, sf.Name), typ: sf.Type, index: index, tag: sf.Tag.Get("jsonschema"), tagged: name != "",
			quoted:   slices.Contains(options, "string") && quotable(elem(sf.Type).Kind()),
			optional: e.optional || slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero"),
			fault:    e.fault,
		})
	}
	return fields, deeper
}

func (e embedded) embed(sf reflect.StructField, base reflect.Type, index []int) embedded {
	pointer := sf.Type.Kind() == reflect.Pointer
	inner := embedded{typ: base, index: index, optional: e.optional || pointer, fault: e.fault}
	if pointer && !sf.IsExported() {
		inner.fault = "is in " + base.String() + ", an embedded pointer that encoding/json cannot set: embed the value"
	}
	return inner
}

// hidden reports a field that encoding/json passes over. An embedded struct
// shows its exported fields even if it is not exported itself.
func hidden(sf reflect.StructField) bool {
	if sf.IsExported() {
		return false
	}
	return !sf.Anonymous || elem(sf.Type).Kind() != reflect.Struct
}

// elem looks through one pointer without a name, as encoding/json does.
func elem(t reflect.Type) reflect.Type {
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// parseTag splits a json tag. A name that encoding/json does not take is none.
func parseTag(tag string) (name string, options []string) {
	parts := strings.Split(tag, ",")
	for _, r := range parts[0] {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) {
			return "", parts[1:]
		}
	}
	return parts[0], parts[1:]
}

// quotable are the kinds that the option "string" has a meaning for.
func quotable(k reflect.Kind) bool {
	_, _, integer := limits(k)
	return integer || k == reflect.Bool || k == reflect.String || k == reflect.Float32 || k == reflect.Float64
}
