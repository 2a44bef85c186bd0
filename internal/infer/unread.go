package infer

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Unread returns the first property that a schema names and a t has no field
// for, so that decoding would drop it in silence. The tree is a decoded schema.
// Only plain structs are held against it: maps and types that read themselves
// take what comes.
func Unread(tree any, t reflect.Type) (path string, found bool) {
	m, _ := tree.(map[string]any)
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); m == nil || p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler) {
		return "", false
	}
	switch t.Kind() {
	case reflect.Struct:
		return unreadIn(m, t)
	case reflect.Slice, reflect.Array:
		return step("[]", m["items"], t.Elem())
	case reflect.Map:
		return step("[]", m["additionalProperties"], t.Elem())
	}
	return "", false
}

func step(name string, tree any, t reflect.Type) (path string, found bool) {
	if path, found = Unread(tree, t); found {
		path = Join(name, path)
	}
	return path, found
}

// unreadIn compares names as encoding/json does, which minds no case.
func unreadIn(m map[string]any, t reflect.Type) (path string, found bool) {
	fields := fieldsOf(t)
	for _, name := range named(m) {
		i := slices.IndexFunc(fields, func(f *field) bool { return strings.EqualFold(f.name, name) })
		if i < 0 {
			return name, true
		}
		properties, _ := m["properties"].(map[string]any)
		if path, found = step(name, properties[name], fields[i].typ); found {
			return path, true
		}
	}
	return "", false
}

// named are the properties that may or must be given, sorted. One whose schema
// is false must not be.
func named(m map[string]any) []string {
	properties, _ := m["properties"].(map[string]any)
	names := slices.DeleteFunc(slices.Collect(maps.Keys(properties)), func(name string) bool { return properties[name] == false })
	required, _ := m["required"].([]any)
	for _, name := range required {
		if s, ok := name.(string); ok {
			names = append(names, s)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Names reports whether a schema names the property at its top.
func Names(tree any, property string) bool {
	m, _ := tree.(map[string]any)
	return slices.Contains(named(m), property)
}

// Excludes reports whether a schema that admits only what it names does not
// name the property.
func Excludes(tree any, property string) bool {
	m, _ := tree.(map[string]any)
	return m["additionalProperties"] == false && m["patternProperties"] == nil && !Names(tree, property)
}
