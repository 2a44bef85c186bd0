package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Schemas and documents over few names and values, so that they meet.

var names = []string{"a", "b", "A", "a_b", "$ref", "type", "x/y", "é"}

func rapidObject(t *rapid.T) string {
	return object(t, 2)
}

func object(t *rapid.T, depth int) string {
	var members []string
	for _, name := range names {
		if rapid.IntRange(0, 3).Draw(t, "has") == 0 {
			members = append(members, quote(name)+":"+value(t, depth-1))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func value(t *rapid.T, depth int) string {
	scalars := []string{"null", "true", "0", "1", "1.0", "-1.5", "9007199254740993", `""`, `"a"`, `"2024-01-02"`, `"é"`}
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case depth > 0 && kind == 0:
		return object(t, depth)
	case depth > 0 && kind == 1:
		n := rapid.IntRange(0, 3).Draw(t, "len")
		items := make([]string, n)
		for i := range items {
			items[i] = value(t, depth-1)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return rapid.SampledFrom(scalars).Draw(t, "scalar")
}

// rapidSchema draws a schema; a wild one has keywords with values of any kind.
func rapidSchema(t *rapid.T, depth int, wild bool) string {
	var keywords []string
	for range rapid.IntRange(0, 3).Draw(t, "keywords") {
		keywords = append(keywords, keyword(t, depth, wild))
	}
	if depth == 4 {
		keywords = append(keywords, `"$defs":{"d":{"type":["object","string"],"properties":{"a":{"$ref":"#"}}}}`)
	}
	return "{" + strings.Join(unique(keywords), ",") + "}"
}

func keyword(t *rapid.T, depth int, wild bool) string {
	all := []string{
		"type", "enum", "const", "minimum", "exclusiveMaximum", "multipleOf", "minLength", "pattern", "format",
		"minItems", "uniqueItems", "required", "maxProperties", "dependentRequired", "$ref",
		"properties", "patternProperties", "additionalProperties", "propertyNames", "items", "prefixItems", "contains",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "unevaluatedProperties",
	}
	if depth <= 0 {
		all = all[:14]
	}
	name := rapid.SampledFrom(all).Draw(t, "keyword")
	if wild && rapid.IntRange(0, 3).Draw(t, "wild") == 0 {
		odd := []string{"null", "true", `"dict"`, `"(?=x)"`, `["a",1,"a"]`, "1e999999", "-1", "{}", `{"a":5}`, `"#/$defs/d"`, `"#/nope"`, `"#"`}
		return quote(name) + ":" + rapid.SampledFrom(odd).Draw(t, "odd")
	}
	return quote(name) + ":" + keywordValue(t, name, depth-1, wild)
}

func keywordValue(t *rapid.T, name string, depth int, wild bool) string {
	pick := func(values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	sub := func() string { return rapidSchema(t, depth, wild) }
	switch name {
	case "type":
		return pick(`"object"`, `"string"`, `"integer"`, `"number"`, `["null","array"]`, `["object","null"]`)
	case "enum":
		return pick(`["a",null]`, `[1,"1",{}]`, `[[],{"a":1}]`)
	case "const":
		return pick(`"a"`, "1", "null")
	case "minimum", "exclusiveMaximum":
		return pick("0", "1", "-1.5")
	case "multipleOf":
		return pick("1", "0.5")
	case "minLength", "minItems", "maxProperties":
		return pick("1", "2", "1e30")
	case "pattern":
		return pick(`"^a"`, `"\\d"`)
	case "format":
		return pick(`"date"`, `"nothing"`)
	case "uniqueItems":
		return pick("true", "false")
	case "required":
		return pick(`["a"]`, `["b","x/y"]`)
	case "dependentRequired":
		return `{"a":["b"]}`
	case "$ref":
		return `"#/$defs/d"`
	case "properties":
		return fmt.Sprintf(`{%s:%s,"b":%s}`, quote(rapid.SampledFrom([]string{"a", "x/y", "type", "é"}).Draw(t, "name")), sub(), sub())
	case "patternProperties":
		return fmt.Sprintf(`{"^[aA]":%s}`, sub())
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return "[" + sub() + "," + sub() + "]"
	case "additionalProperties", "unevaluatedProperties", "items":
		return pick("false", sub())
	}
	return sub()
}

func unique(keywords []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, k := range keywords {
		name, _, _ := strings.Cut(k, ":")
		if !seen[name] {
			out = append(out, k)
		}
		seen[name] = true
	}
	return out
}

func quote(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}
