package example

import (
	"maps"
	"reflect"
	"slices"
)

// merge narrows the flat schema a by the flat schema b.
func merge(a, b map[string]any) {
	for keyword, v := range b {
		old, both := a[keyword]
		if !both {
			a[keyword] = v
			continue
		}
		a[keyword] = mergeKeyword(keyword, old, v)
	}
}

// mergeKeyword combines two values of one keyword. Where there is no rule the
// first stays: two patterns, say, have no common form, and the judge decides.
func mergeKeyword(keyword string, a, b any) any {
	switch keyword {
	case "properties", "patternProperties", "dependentSchemas":
		return mergeNamed(a, b)
	case "items", "additionalProperties", "propertyNames", "contains":
		return both(a, b)
	case "required":
		return union(a, b)
	case "type":
		return commonTypes(a, b)
	case "enum":
		return common(a, b)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return stricter(a, b, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return stricter(a, b, -1)
	}
	return a
}

// both is a schema that asks for a and b; it is flattened when it is needed.
func both(a, b any) any { return map[string]any{"allOf": []any{a, b}} }

// mergeNamed combines two maps of schemas name by name.
func mergeNamed(a, b any) any {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	merged := maps.Clone(x)
	if merged == nil {
		return b
	}
	for name, schema := range y {
		if old, ok := merged[name]; ok {
			schema = both(old, schema)
		}
		merged[name] = schema
	}
	return merged
}

// union may list a name twice.
func union(a, b any) any {
	x, _ := a.([]any)
	y, _ := b.([]any)
	return slices.Concat(x, y)
}

// common returns the values that both lists have.
func common(a, b any) any {
	x, _ := a.([]any)
	y, _ := b.([]any)
	if len(x)*len(y) > maxOffered*maxOffered {
		return a
	}
	return slices.DeleteFunc(slices.Clone(x), func(v any) bool { return !contains(y, v) })
}

// commonTypes intersects two declarations of type; an integer is a number.
func commonTypes(a, b any) any {
	x := typesOf(map[string]any{"type": a})
	y := typesOf(map[string]any{"type": b})
	shared := []any{}
	for _, name := range x {
		switch {
		case slices.Contains(y, name):
			shared = append(shared, name)
		case name == "number" && slices.Contains(y, "integer"):
			shared = append(shared, "integer")
		case name == "integer" && slices.Contains(y, "number"):
			shared = append(shared, "integer")
		}
	}
	return shared
}

// disjoint reports whether no type is common to both schemas.
func disjoint(a, b map[string]any) bool {
	x, declaredX := a["type"]
	y, declaredY := b["type"]
	return declaredX && declaredY && len(commonTypes(x, y).([]any)) == 0
}

// stricter returns the larger (sign 1) or smaller (sign -1) of two limits.
func stricter(a, b any, sign int) any {
	x, okX := rat(a)
	y, okY := rat(b)
	if okX && okY && y.Cmp(x) == sign {
		return b
	}
	return a
}

// contains compares deeply. 1 and 1.0 differ here; the judge knows better.
func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return reflect.DeepEqual(item, v) })
}
