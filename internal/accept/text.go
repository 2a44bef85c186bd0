package accept

import (
	"encoding/json"
	"unicode/utf8"
	"unsafe"

	"github.com/toolguard-go/toolguard/internal/pattern"
)

// unbounded is the upper bound that a schema does not set.
const unbounded = 1<<31 - 1

// textRules are the keywords for strings. Lengths are in code points.
type textRules struct {
	min, max int
	pattern  *pattern.Pattern
	format   func(string) bool
}

// textRules returns nil if no keyword constrains strings.
func (s schema) textRules() *textRules {
	r := textRules{
		min:     s.count("minLength", 0),
		max:     s.count("maxLength", unbounded),
		pattern: s.pattern(s.m["pattern"]),
	}
	if name, ok := s.m["format"].(string); ok {
		r.format = s.opts.Formats[name]
	}
	if r.min == 0 && r.max == unbounded && r.pattern == nil && r.format == nil {
		return nil
	}
	return &r
}

// pattern compiles a regular expression: RE2 syntax, not anchored, as in
// jsonschema/v5. Matching is bounded by the budget of the walk.
func (s schema) pattern(v any) *pattern.Pattern {
	if v == nil {
		return nil
	}
	source, ok := v.(string)
	re, err := pattern.Compile(source)
	if !ok || err != nil {
		s.beyond = true
	}
	return re
}

// count reads a length or size. What no document can reach is unbounded.
func (s schema) count(keyword string, absent int) int {
	v, ok := s.m[keyword]
	if !ok {
		return absent
	}
	text, _ := v.(json.Number)
	f, err := text.Float64()
	if err != nil || f < 0 || f > 1<<53 || f != float64(int(f)) {
		s.beyond = true
		return absent
	}
	return min(int(f), unbounded)
}

// accept looks at s as it is after decoding.
func (r *textRules) accept(s []byte, matches *pattern.Budget) bool {
	if r.min > 0 || r.max < unbounded {
		if n := utf8.RuneCount(s); n < r.min || n > r.max {
			return false
		}
	}
	if r.pattern != nil && !r.pattern.Match(s, matches) {
		return false
	}
	return r.format == nil || r.format(asString(s))
}

// asString lends s as a string without copying it. The text of a Doc does not
// change, and format functions may not keep their argument.
func asString(s []byte) string { return unsafe.String(unsafe.SliceData(s), len(s)) }
