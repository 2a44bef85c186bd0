// Package example makes up a minimal valid example of a tool's arguments.
//
// A model that broke a schema repairs its call faster with one valid example
// before it than with any description. The example has the required members
// only, uses what the schema itself offers (const, default, examples, enum)
// and otherwise values that read as placeholders: "string", "2026-01-31".
package example

import (
	"bytes"
	"encoding/json"
)

// Bounds on the search. Schemas may come from strangers.
const (
	maxBytes    = 1024 // of the example
	maxAttempts = 64
	maxSteps    = 20_000 // about one per subschema visited, over all attempts
)

// Generate returns a minimal example that is valid against the schema, an
// object always, and false if it finds none that fits into 1 KiB. The same
// schema always gives the same example.
//
// tree is the decoded schema (map[string]any, []any, string, bool, nil and
// json.Number) and is not changed. valid is the judge: it is called with
// decoded candidates, at most 64 times, must not keep or change them, and
// decides alone; Generate itself only guesses well. It does not panic unless
// valid does, and is safe for concurrent use if valid is.
func Generate(tree any, valid func(document any) bool) (json.RawMessage, bool) {
	s := search{valid: valid, steps: maxSteps}
	// Arguments are an object, whether the schema says so or not.
	s.schema = map[string]any{"allOf": []any{tree, map[string]any{"type": "object"}}}
	s.root = tree
	return s.run()
}

// A search tries the builder's first choice everywhere, then every single
// deviation from it, then every two, and so on until its bounds are reached.
type search struct {
	root   any // references lead into it
	schema any
	valid  func(any) bool
	steps  int // left
}

// A pick settles the choice point with the given number.
type pick struct{ point, option int }

// run tries candidates in the order of the queue: the fewest deviations first.
func (s *search) run() (json.RawMessage, bool) {
	queue := [][]pick{nil}
	for attempt := 0; attempt < maxAttempts && attempt < len(queue) && s.steps > 0; attempt++ {
		picks := queue[attempt]
		b := &builder{search: s, picks: picks, path: []string{"#"}}
		if text, ok := s.try(b); ok {
			return text, true
		}
		if len(queue) < maxAttempts {
			queue = append(queue, deviations(picks, b.sizes)...)
		}
	}
	return nil, false
}

// try builds one candidate and asks the judge, unless it is too long anyway.
func (s *search) try(b *builder) (json.RawMessage, bool) {
	document, ok := b.value(s.schema)
	if !ok {
		return nil, false
	}
	text, ok := encode(document)
	return text, ok && len(text) <= maxBytes && s.valid(document)
}

// deviations adds one more pick to picks in every possible way, at the choice
// points behind the last one. sizes are the options each choice point had.
func deviations(picks []pick, sizes []int) [][]pick {
	from := 0
	if len(picks) > 0 {
		from = picks[len(picks)-1].point + 1
	}
	var all [][]pick
	for point := from; point < len(sizes); point++ {
		for option := 1; option < sizes[point] && len(all) < maxAttempts; option++ {
			all = append(all, append(picks[:len(picks):len(picks)], pick{point, option}))
		}
	}
	return all
}

// encode writes compact JSON with sorted members and without HTML escapes,
// which would make a model escape as well.
func encode(document any) (json.RawMessage, bool) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(document)
	return bytes.TrimRight(out.Bytes(), "\n"), err == nil
}
