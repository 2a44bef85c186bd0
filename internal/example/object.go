package example

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// maxMembers bounds objects and arrays; an example beyond it helps nobody.
const maxMembers = 64

// object makes an object of the members that are demanded.
func (b *builder) object(m map[string]any) (any, bool) {
	m, ok := b.withDependent(m)
	if !ok {
		return nil, false
	}
	names := b.memberNames(m)
	object := make(map[string]any, len(names))
	for _, name := range names {
		v, ok := b.value(b.memberSchema(m, name))
		if !ok {
			return nil, false
		}
		object[name] = v
	}
	return object, true
}

// withDependent merges the schemas that the presence of members asks for,
// false if they exclude each other or ask for too many members.
func (b *builder) withDependent(m map[string]any) (map[string]any, bool) {
	merged := map[string]bool{}
	for again := true; again; {
		again = false
		names := demanded(m)
		if len(names) > maxMembers {
			return nil, false
		}
		for _, keyword := range [...]string{"dependentSchemas", "dependencies"} {
			schemas, _ := m[keyword].(map[string]any)
			for _, name := range names {
				schema, ok := schemas[name]
				if _, isList := schema.([]any); !ok || isList || merged[keyword+name] {
					continue
				}
				m, merged[keyword+name], again = maps.Clone(m), true, true
				if !b.mergeSchema(m, schema) {
					return nil, false
				}
			}
		}
	}
	return m, true
}

// demanded lists the required members and those that they require.
func demanded(m map[string]any) []string {
	names := textList(m["required"])
	slices.Sort(names)
	names = slices.Compact(names)
	for i := 0; i < len(names) && i <= maxMembers; i++ {
		for _, keyword := range [...]string{"dependentRequired", "dependencies"} {
			lists, _ := m[keyword].(map[string]any)
			for _, name := range textList(lists[names[i]]) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// memberNames adds to the demanded members as many as minProperties wants:
// declared ones first, then made-up names.
func (b *builder) memberNames(m map[string]any) []string {
	names := demanded(m)
	least := min(count(m["minProperties"]), maxMembers+1)
	declared, _ := m["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if len(names) < least && declared[name] != false && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := 0; len(names) < least && i < 2*maxMembers; i++ {
		if name, ok := b.newName(m, i); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// newName makes up member name number i: one that propertyNames admits, that
// matches patternProperties, or simply "key1".
func (b *builder) newName(m map[string]any, i int) (string, bool) {
	salt := b.salt
	b.salt = i
	defer func() { b.salt = salt }()
	if rule, ok := m["propertyNames"]; ok {
		v, _ := b.value(map[string]any{"allOf": []any{rule, map[string]any{"type": "string"}}})
		name, ok := v.(string)
		return name, ok
	}
	patterns, _ := m["patternProperties"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		return b.matching(pattern, 0, maxText)
	}
	return "key" + strconv.Itoa(i+1), true
}

// memberSchema combines everything that m says of the member called name.
func (b *builder) memberSchema(m map[string]any, name string) any {
	var parts []any
	properties, _ := m["properties"].(map[string]any)
	if schema, ok := properties[name]; ok {
		parts = append(parts, schema)
	}
	patterns, _ := m["patternProperties"].(map[string]any)
	if !b.spend(len(patterns)) {
		return false
	}
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
			parts = append(parts, patterns[pattern])
		}
	}
	if rest, ok := m["additionalProperties"]; ok && len(parts) == 0 {
		return rest
	}
	return map[string]any{"allOf": parts}
}

// textList returns the strings of a list, none if v is no list.
func textList(v any) []string {
	list, _ := v.([]any)
	var texts []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}
