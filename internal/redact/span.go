package redact

import (
	"cmp"
	"slices"
	"strings"
)

// A span is a finding: text[start:end].
type span struct {
	start, end int
	kind       kind
}

// merge sorts found and joins what overlaps, so that nothing of any finding
// survives, and frames of a stack trace with only white space between them.
// It reuses the slice.
func merge(text string, found []span) []span {
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	out := found[:1]
	for _, s := range found[1:] {
		last := &out[len(out)-1]
		if s.start >= last.end && !last.continues(text, s) {
			out = append(out, s)
			continue
		}
		last.end = max(last.end, s.end)
		last.kind = min(last.kind, s.kind)
	}
	return out
}

// continues reports that next goes on with the stack trace s.
func (s span) continues(text string, next span) bool {
	return s.kind == stackTrace && next.kind == stackTrace && spaces.run(text, s.end, unlimited) >= next.start
}

// splice replaces the spans, which are in order and apart, by their markers.
func splice(text string, found []span) string {
	var b strings.Builder
	b.Grow(len(text) + 16)
	at := 0
	for _, s := range found {
		b.WriteString(text[at:s.start])
		b.WriteString(markers[s.kind])
		at = s.end
	}
	b.WriteString(text[at:])
	return b.String()
}
