package schema

import (
	"encoding/json"
	"regexp"
	"slices"
)

var jsonTypes = map[string]bool{
	"array": true, "boolean": true, "integer": true, "null": true,
	"number": true, "object": true, "string": true,
}

// wellFormed says of each keyword that constrains a value whether its value
// can be compiled. Subschemas are looked at on their own. Keywords that are
// not listed constrain nothing; the metaschemas want some of those well-formed
// too, see annotations.
var wellFormed = map[string]func(v any) bool{
	"$ref":             isString,
	"$dynamicRef":      isString,
	"$recursiveRef":    isString,
	"type":             isType,
	"enum":             isValues,
	"minimum":          isNumber,
	"maximum":          isNumber,
	"exclusiveMinimum": isBound,
	"exclusiveMaximum": isBound,
	"multipleOf":       isPositive,

	"maxLength":     isCount,
	"minLength":     isCount,
	"maxItems":      isCount,
	"minItems":      isCount,
	"maxContains":   isCount,
	"minContains":   isCount,
	"maxProperties": isCount,
	"minProperties": isCount,

	"pattern":           isPattern,
	"format":            isString,
	"uniqueItems":       isBool,
	"required":          isNames,
	"dependentRequired": isNamesByName,

	"properties":            isMap,
	"patternProperties":     isMap,
	"dependentSchemas":      isMap,
	"dependencies":          isMap,
	"$defs":                 isMap,
	"definitions":           isMap,
	"items":                 isSchemaOrList,
	"additionalItems":       isSchema,
	"additionalProperties":  isSchema,
	"contains":              isSchema,
	"propertyNames":         isSchema,
	"unevaluatedItems":      isSchema,
	"unevaluatedProperties": isSchema,
	"not":                   isSchema,
	"if":                    isSchema,
	"then":                  isSchema,
	"else":                  isSchema,
	"allOf":                 isSchemas,
	"anyOf":                 isSchemas,
	"oneOf":                 isSchemas,
	"prefixItems":           isSchemas,
}

// annotations constrain nothing, but must be well-formed to compile.
// Those that are not are dropped without a note: nothing is lost.
var annotations = map[string]func(v any) bool{
	"$anchor":        isString,
	"$comment":       isString,
	"$dynamicAnchor": isString,
	"$id":            isString,
	"$schema":        isString,
	"$vocabulary":    func(any) bool { return false },
	"deprecated":     isBool,
	"description":    isString,
	"examples":       isList,
	"id":             isString,
	"readOnly":       isBool,
	"title":          isString,
	"writeOnly":      isBool,
}

// The checks below look at one keyword's value and not into subschemas.
func isString(v any) bool { _, ok := v.(string); return ok }
func isBool(v any) bool   { _, ok := v.(bool); return ok }
func isMap(v any) bool    { _, ok := v.(map[string]any); return ok }
func isList(v any) bool   { _, ok := v.([]any); return ok }
func isValues(v any) bool { l, ok := v.([]any); return ok && len(l) > 0 }
func isSchema(v any) bool { return isMap(v) || isBool(v) }
func isSchemas(v any) bool {
	l, ok := v.([]any)
	return ok && len(l) > 0 && !slices.ContainsFunc(l, func(e any) bool { return !isSchema(e) })
}

func isSchemaOrList(v any) bool { return isSchema(v) || isSchemas(v) }

// isType leaves repeated names to the rewrites.
func isType(v any) bool {
	if name, ok := v.(string); ok {
		return jsonTypes[name]
	}
	names, ok := v.([]any)
	for _, n := range names {
		if name, isName := n.(string); !isName || !jsonTypes[name] {
			return false
		}
	}
	return ok && len(names) > 0
}

// isNames asks for strings only; repetitions are for the rewrites.
func isNames(v any) bool {
	names, ok := v.([]any)
	return ok && !slices.ContainsFunc(names, func(n any) bool { return !isString(n) })
}

// isNamesByName is the shape of dependentRequired.
func isNamesByName(v any) bool {
	m, ok := v.(map[string]any)
	for _, names := range m {
		if !isNames(names) {
			return false
		}
	}
	return ok
}

func isNumber(v any) bool { _, ok := rational(v); return ok }

// isBound admits the flag of draft 4; the rewrites leave none elsewhere.
func isBound(v any) bool { return isNumber(v) || isBool(v) }

// isPositive: a multiple of zero would be a division by zero.
func isPositive(v any) bool {
	r, ok := rational(v)
	return ok && r.Sign() > 0
}

// isCount admits 2.0, as the metaschemas do.
func isCount(v any) bool {
	r, ok := rational(v)
	return ok && r.IsInt() && r.Sign() >= 0
}

// isPattern asks for a pattern Go's linear-time engine can run; look-around
// and back-references are not.
func isPattern(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	_, err := regexp.Compile(s)
	return err == nil
}

// text is the compact JSON of a schema's value.
func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}
