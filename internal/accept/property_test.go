package accept

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	names    = []string{"a", "b", "B", "c/d", "é"}
	numbers  = []string{"0", "1", "1.0", "-1", "2.5", "1e1", "0.1", "9007199254740993", "36893488147419103232", "1E-3", "10.00"}
	texts    = []string{"", "a", "ab", "日本", "2026-01-31", "192.0.2.1", "\n\"", "aaaa"}
	patterns = []string{"^a", "b$", "^[a-z]*$", "日"}
	drafts   = []int{0, 4, 6, 7, 2019, 2020}
)

func pick[T any](t *rapid.T, from []T) T { return rapid.SampledFrom(from).Draw(t, "pick") }

// chance is true about once in n times.
func chance(t *rapid.T, n int) bool { return rapid.IntRange(1, n).Draw(t, "chance") == 1 }

func jsonNumber(t *rapid.T) any { return json.Number(pick(t, numbers)) }

func size(t *rapid.T) any { return json.Number(strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "size"))) }

func nameList(t *rapid.T) any {
	list := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID).Draw(t, "names")
	return anys(list)
}

func anys[T any](list []T) []any {
	out := []any{}
	for _, v := range list {
		out = append(out, v)
	}
	return out
}

// freeValue draws any JSON value.
func freeValue(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 4+min(depth, 1)*2).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return jsonNumber(t)
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			list = append(list, freeValue(t, depth-1))
		}
		return list
	case 6:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			m[pick(t, names)] = freeValue(t, depth-1)
		}
		return m
	}
	return pick(t, texts)
}

// anySchema draws a schema from the supported vocabulary.
func anySchema(t *rapid.T, draft, depth int) any {
	if chance(t, 12) && draft != 4 {
		return rapid.Bool().Draw(t, "bool schema")
	}
	m := map[string]any{}
	for range rapid.IntRange(1, 4).Draw(t, "keywords") {
		if depth > 0 && chance(t, 2) {
			applicator(t, m, draft, depth-1)
		} else {
			assertion(t, m, draft)
		}
	}
	return m
}

func assertion(t *rapid.T, m map[string]any, draft int) {
	switch rapid.IntRange(0, 9).Draw(t, "assertion") {
	case 0, 1, 2:
		m["type"] = pick(t, []any{"string", "integer", "number", "boolean", "object", "array", "object", "array",
			[]any{"null", "string"}, []any{"integer", "object"}})
	case 3:
		m["enum"] = []any{freeValue(t, 1)}
	case 4:
		m["const"] = freeValue(t, 1)
	case 5:
		m[pick(t, []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})] = size(t)
	case 6:
		limits(t, m, draft)
	case 7:
		m["required"] = nameList(t)
	case 8:
		m[pick(t, []string{"pattern", "pattern", "format"})] = pick(t, patterns)
	case 9:
		m["uniqueItems"] = rapid.Bool().Draw(t, "unique")
		m["format"] = pick(t, []string{"date", "ipv4", "unknown"})
	}
}

func limits(t *rapid.T, m map[string]any, draft int) {
	keyword := pick(t, []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
	switch {
	case keyword == "multipleOf":
		m[keyword] = json.Number(pick(t, []string{"1", "0.1", "2.50", "3"}))
	case draft == 4 && len(keyword) > len("minimum"):
		m[keyword] = rapid.Bool().Draw(t, "exclusive")
		m[map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}[keyword]] = jsonNumber(t)
	default:
		m[keyword] = jsonNumber(t)
	}
}

func applicator(t *rapid.T, m map[string]any, draft, depth int) {
	sub := func() any { return anySchema(t, draft, depth) }
	switch keyword := pick(t, []string{"properties", "properties", "properties", "items", "items", "prefixItems", "additionalItems", "additionalProperties",
		"patternProperties", "propertyNames", "contains", "dependencies", "dependentSchemas", "dependentRequired",
		"allOf", "anyOf", "oneOf", "not", "if", "$ref"}); keyword {
	case "properties", "dependentSchemas":
		named := map[string]any{}
		for range rapid.IntRange(1, 4).Draw(t, "properties") {
			named[pick(t, names)] = sub()
		}
		m[keyword] = named
	case "patternProperties":
		m[keyword] = map[string]any{pick(t, patterns): sub()}
	case "dependencies":
		m[keyword] = map[string]any{pick(t, names): sub(), "b": nameList(t)}
	case "dependentRequired":
		m[keyword] = map[string]any{pick(t, names): nameList(t)}
	case "prefixItems", "allOf", "anyOf", "oneOf":
		m[keyword] = []any{sub(), sub()}
	case "additionalItems":
		m["items"], m["additionalItems"] = []any{sub(), sub()}, sub()
		if draft == 0 || draft == 2020 {
			m["items"] = sub()
		}
	case "contains":
		m[keyword], m["minContains"], m["maxContains"] = sub(), size(t), size(t)
	case "if":
		m["if"], m["then"], m["else"] = sub(), sub(), sub()
	case "$ref":
		m[keyword] = pick(t, []string{"#", "#/$defs/x", "#/$defs/y"})
	default:
		m[keyword] = sub()
	}
}

// fitting draws a value that has a good chance to be valid.
func fitting(t *rapid.T, root, tree any, depth int) any {
	m, _ := tree.(map[string]any)
	if chance(t, 15) || m == nil || depth <= 0 {
		return freeValue(t, min(depth, 1))
	}
	if v, ok := m["const"]; ok {
		return v
	}
	if enum, ok := m["enum"].([]any); ok {
		return enum[0]
	}
	if ref, ok := m["$ref"].(string); ok && len(m) == 1 {
		target, _ := resolve(root, ref[1:])
		return fitting(t, root, target, depth-1)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := m[keyword].([]any); ok && chance(t, 2) {
			return fitting(t, root, pick(t, list), depth-1)
		}
	}
	return fittingType(t, root, m, depth)
}

func fittingType(t *rapid.T, root any, m map[string]any, depth int) any {
	name, _ := m["type"].(string)
	switch {
	case name == "object" || name == "" && (m["properties"] != nil || m["required"] != nil):
		return fittingObject(t, root, m, depth)
	case name == "array" || name == "" && m["items"] != nil:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			list = append(list, fitting(t, root, m["items"], depth-1))
		}
		return list
	case name == "integer" || name == "number":
		return jsonNumber(t)
	case name == "boolean":
		return rapid.Bool().Draw(t, "bool")
	case name == "string":
		return pick(t, texts)
	}
	return freeValue(t, 1)
}

func fittingObject(t *rapid.T, root any, m map[string]any, depth int) any {
	properties, _ := m["properties"].(map[string]any)
	required, _ := m["required"].([]any)
	value := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if chance(t, 2) {
			value[name] = fitting(t, root, properties[name], depth-1)
		}
	}
	for _, name := range required {
		value[name.(string)] = fitting(t, root, properties[name.(string)], depth-1)
	}
	return value
}

// Evaluation is exact wherever it does not give up, and nothing drawn here is
// a reason to give up. So the two answers must be equal, in both directions.
func TestEqualsGeneralValidator(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draft := pick(t, drafts)
		tree := map[string]any{"allOf": []any{anySchema(t, draft, 3)}, "$defs": map[string]any{
			"x": anySchema(t, draft, 2), "y": anySchema(t, draft, 2)}}
		v5, err := general(tree, draft)
		if err != nil {
			t.Skip(err)
		}
		p := Compile(tree, Options{Draft: draft, Formats: testFormats})
		for range 8 {
			value := fitting(t, tree, tree["allOf"].([]any)[0], 5)
			text, err := json.Marshal(value)
			require.NoError(t, err)
			doc := parseRapid(t, text)
			fast := p.Check(doc).Accepted
			valid := v5.Validate(doc.Value(0)) == nil
			if p.Decides() {
				require.Equal(t, valid, fast, "document %s", text)
			}
		}
	})
}

// Most documents that are valid against a simple schema must be accepted, or
// the package is of no use.
func TestAcceptsMostValidDocuments(t *testing.T) {
	t.Parallel()
	valid, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		properties := map[string]any{}
		for _, name := range names {
			m := map[string]any{}
			assertion(t, m, 0)
			properties[name] = m
		}
		tree := map[string]any{"type": "object", "properties": properties, "required": nameList(t)}
		v5, err := general(tree, 0)
		require.NoError(t, err)
		p := Compile(tree, Options{Formats: testFormats, FoldCheck: true})
		for range 5 {
			text, err := json.Marshal(fitting(t, tree, tree, 3))
			require.NoError(t, err)
			doc := parseRapid(t, text)
			fast := p.Check(doc).Accepted
			if v5.Validate(doc.Value(0)) == nil {
				valid++
				if fast {
					accepted++
				}
			} else {
				require.False(t, fast, "document %s", text)
			}
		}
	})
	t.Logf("accepted %d of %d valid documents", accepted, valid)
	assert.Greater(t, valid, 50)
	assert.GreaterOrEqual(t, accepted*100, valid*95)
}
