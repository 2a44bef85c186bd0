package redact

import (
	"strings"
	"unicode/utf8"
)

const (
	// ellipsis ends a text that was cut.
	ellipsis = "…"

	// slack is read beyond what could be kept, so that little of it is lost
	// where markers are shorter than what they replace.
	slack = 4096

	// undecided is how much before the edge of a window may be the start of
	// something no rule can recognise yet. The longest tokens known are
	// recognised by their first hundred bytes.
	undecided = 1024
)

// Cut returns the start of text, redacted, in at most maxRunes characters, and
// whether anything is missing from it. It redacts before it cuts, so no part
// of a secret that straddles the limit survives; it cuts between characters
// and never inside a marker. A cut text ends in "…", which counts. A maxRunes
// below 1 keeps nothing.
//
// Work is bounded by maxRunes, not by text: of a very long text only a window
// is read, and of that window what may be the start of a finding is dropped.
func (r *Redactor) Cut(text string, maxRunes int) (out string, cut bool) {
	if maxRunes < 1 {
		return "", text != ""
	}
	out = text
	if size := min(maxRunes, unlimited/8)*2*utf8.UTFMax + slack; len(text) > size {
		out, cut = decided(r.Redact(text[:size])), true
	}
	for range maxPasses {
		out = shorten(r.Redact(out), maxRunes, &cut)
		// A cut makes an edge, and an edge can make a finding (10.0.0.5|.6).
		if r.Redact(out) == out {
			return out, cut
		}
	}
	return ellipsis, true
}

// decided returns a redacted window without the last word of it. Where the last
// word has no beginning near the edge, as much goes as a rule could need.
func decided(window string) string {
	from := max(0, len(window)-undecided)
	edge := from + max(0, strings.LastIndexAny(window[from:], " \t\r\n"))
	return window[:outsideMarker(window, runeStart(window, edge))]
}

// runeStart moves i back to where a character starts.
func runeStart(text string, i int) int {
	for i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// shorten cuts text to limit runes, the ellipsis included, and sets cut. A text
// that is missing something already gets its ellipsis too.
func shorten(text string, limit int, cut *bool) string {
	end := runeOffset(text, limit)
	if end == len(text) && (!*cut || strings.HasSuffix(text, ellipsis)) {
		return text
	}
	*cut = true
	return text[:outsideMarker(text, runeOffset(text, limit-1))] + ellipsis
}

// runeOffset returns the length in bytes of the first n runes.
func runeOffset(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// outsideMarker moves a cut that falls into a marker to its start.
func outsideMarker(text string, at int) int {
	open := strings.LastIndexByte(text[:at], '[')
	if open < 0 || !strings.HasPrefix(text[open:], everything[:len(everything)-1]) {
		return at
	}
	if length := strings.IndexByte(text[open:], ']'); length >= 0 && open+length < at {
		return at
	}
	return open
}
