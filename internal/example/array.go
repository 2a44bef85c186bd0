package example

import "encoding/json"

// array makes an array with as many items as are demanded, and one where the
// schema describes items: their shape is what a model gets wrong.
func (b *builder) array(m map[string]any) (any, bool) {
	least := count(m["minItems"])
	if least > maxMembers {
		return nil, false
	}
	wanted := least
	if b.describesItems(m) && b.choose(2) == 0 {
		wanted = max(least, 1)
	}
	if most, ok := m["maxItems"]; ok {
		wanted = min(wanted, count(most))
	}
	items, ok := b.items(m, wanted)
	if !ok && wanted > least {
		return b.items(m, least)
	}
	return items, ok
}

// describesItems is false for a list that may hold anything: an item of it
// would show nothing.
func (b *builder) describesItems(m map[string]any) bool {
	items, ok := m["items"].(map[string]any)
	return ok && len(items) > 0
}

// items makes the items. Where they must be unique, each has its own salt.
func (b *builder) items(m map[string]any, wanted int) (any, bool) {
	salt := b.salt
	defer func() { b.salt = salt }()
	items := make([]any, 0, wanted)
	for i, schema := range itemSchemas(m, wanted) {
		if m["uniqueItems"] == true {
			b.salt = i
		}
		v, ok := b.value(schema)
		if !ok {
			return nil, false
		}
		items = append(items, v)
	}
	return items, true
}

// itemSchemas lists what the first items must be. The first minContains items
// also satisfy contains; there are more than wanted if it demands so.
func itemSchemas(m map[string]any, wanted int) []any {
	contained := 0
	contains, ok := m["contains"]
	if ok {
		contained = 1
		if v, ok := m["minContains"]; ok {
			contained = count(v)
		}
		contained = min(contained, maxMembers)
	}
	schemas := make([]any, max(wanted, contained))
	for i := range schemas {
		schemas[i] = itemSchema(m, i)
		if i < contained {
			schemas[i] = both(schemas[i], contains)
		}
	}
	return schemas
}

// itemSchema returns the schema of item i, in the spelling of any draft.
func itemSchema(m map[string]any, i int) any {
	prefix, _ := m["prefixItems"].([]any)
	rest, ok := m["items"]
	if list, isList := rest.([]any); isList {
		prefix = list
		rest, ok = m["additionalItems"]
	}
	switch {
	case i < len(prefix):
		return prefix[i]
	case ok:
		return rest
	}
	return true
}

// count reads a size, 0 if there is none and no more than is ever made.
func count(v any) int {
	n, _ := v.(json.Number)
	f, err := n.Float64()
	if err != nil || f < 0 {
		return 0
	}
	return int(min(f, 1<<20))
}
