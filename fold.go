package toolguard

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode"

	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// fieldSet is what [encoding/json] reads members of an object into, by name. It
// takes a member that equals a name only apart from case for that field, behind
// the back of a schema, which compares exactly.
type fieldSet struct {
	fields  map[string]*fieldSet // nil sets: nothing below has names
	element *fieldSet            // of arrays and maps
}

// folding is implemented by tools whose arguments become a Go type.
type folding interface{ fieldSet() *fieldSet }

func (t *Typed[In]) fieldSet() *fieldSet { return fieldSetOf(reflect.TypeFor[In]()) }

// fieldSets keeps what is known of a type: it is looked at once.
var fieldSets sync.Map // of *fieldSet by reflect.Type

func fieldSetOf(t reflect.Type) *fieldSet {
	if set, ok := fieldSets.Load(t); ok {
		return set.(*fieldSet)
	}
	set, _ := fieldSets.LoadOrStore(t, fieldWalk{}.of(t))
	return set.(*fieldSet)
}

// fieldWalk holds the types met so far; types may contain themselves.
type fieldWalk map[reflect.Type]*fieldSet

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (w fieldWalk) of(t reflect.Type) *fieldSet {
	if p := reflect.PointerTo(t); p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler) {
		return nil // it reads by itself
	}
	if set, ok := w[t]; ok {
		return set
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.Slice, reflect.Array, reflect.Map:
		w[t] = &fieldSet{}
		w[t].element = w.of(t.Elem())
		return w[t]
	case reflect.Struct:
		w[t] = &fieldSet{fields: map[string]*fieldSet{}}
		w.enter(w[t].fields, t, map[reflect.Type]bool{})
		return w[t]
	}
	return nil
}

// readsItself reports whether a value of the type hands what it is decoded from to
// code of its own.
func readsItself(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if p := reflect.PointerTo(t); p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return t.Kind() == reflect.Map && readsItself(t.Key(), seen) || readsItself(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if readsItself(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// enter adds the fields of a struct, then what its embedded structs add: a name
// further out hides one further in.
func (w fieldWalk) enter(fields map[string]*fieldSet, t reflect.Type, entered map[reflect.Type]bool) {
	entered[t] = true
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, inner := fieldName(f)
		switch {
		case inner != nil && !entered[inner]:
			embedded = append(embedded, inner)
		case name != "" && inner == nil:
			if _, has := fields[name]; !has {
				fields[name] = w.of(f.Type)
			}
		}
	}
	for _, inner := range embedded {
		w.enter(fields, inner, entered)
	}
}

// fieldName returns the name a field has in JSON, or the struct whose fields
// count as the outer one's; "" and nil is a field that JSON passes over.
func fieldName(f reflect.StructField) (name string, inner reflect.Type) {
	tag := f.Tag.Get("json")
	if tag == "-" {
		return "", nil
	}
	name, _, _ = strings.Cut(tag, ",")
	if !validFieldName(name) {
		name = ""
	}
	if t := f.Type; f.Anonymous && name == "" {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct {
			return "", t
		}
	}
	if !f.IsExported() {
		return "", nil
	}
	if name == "" {
		name = f.Name
	}
	return name, nil
}

// validFieldName tells a name in a tag from one that encoding/json ignores.
func validFieldName(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// maxFolded bounds how many slips in case are told of at once.
const maxFolded = 20

// folded finds the members that Go would read into a field of another spelling. The
// key is one, whatever the tool is made of: another spelling would hide it.
func (c *call) folded(found []schema.Violation) []schema.Violation {
	w := foldCheck{doc: &c.doc, found: found}
	if tool, ok := c.guard.body.Load().tool.(folding); ok {
		w.visit(0, tool.fieldSet())
	}
	w.visit(0, c.guard.args.keyField)
	return w.found
}

type foldCheck struct {
	doc   *strictjson.Doc
	found []schema.Violation
}

func (w *foldCheck) visit(node int32, set *fieldSet) {
	n := &w.doc.Nodes[node]
	if set == nil || n.Kind < strictjson.Array || set.fields != nil && n.Kind != strictjson.Object {
		return
	}
	for c := node + 1; c < n.Next; c = w.doc.Nodes[c].Next {
		if set.fields == nil {
			w.visit(c, set.element)
		} else {
			w.member(c, set)
		}
	}
}

func (w *foldCheck) member(c int32, set *fieldSet) {
	name := w.doc.KeyContent(c)
	if w.doc.Nodes[c].KeyEscaped {
		name = []byte(w.doc.Key(c))
	}
	if below, ok := set.fields[string(name)]; ok {
		w.visit(c, below)
		return
	}
	for want := range set.fields {
		if strings.EqualFold(want, string(name)) {
			w.report(c, string(name), want)
			return
		}
	}
}

// report keeps a slip unless the schema has the same against the member.
func (w *foldCheck) report(c int32, name, want string) {
	if len(w.found) >= maxFolded {
		return
	}
	for i := range w.found {
		if w.found[i].Node == c {
			return
		}
	}
	w.found = append(w.found, schema.Violation{
		Path: w.doc.Pointer(c), Node: c, Rule: schema.RuleCaseMismatch, Name: name, Want: want,
		Kind: w.doc.Nodes[c].Kind.String(), Got: strictjson.Preview(w.doc.Raw(c), maxShownName),
	})
}
