package redact

import (
	"strings"
	"unicode/utf8"
)

const (
	// ellipsis ends a text that was cut.
	ellipsis = "…"

	// slack is read beyond what could be kept, so that a finding which begins
	// before the cut is seen whole.
	slack = 4096

	// longestPrefix is how much of an unbroken run at the edge of the window
	// is dropped: no rule needs more than this to recognise a secret's start.
	longestPrefix = 1024
)

// Cut returns the start of text, redacted, in at most maxRunes characters, and
// whether anything is missing from it. It redacts before it cuts, so no part
// of a secret that straddles the limit survives; it cuts between characters
// and never inside a marker. A cut text ends in "…", which counts. A maxRunes
// below 1 keeps nothing.
//
// Work is bounded by maxRunes, not by text: of a very long text only a window
// is read, less whatever straddles the window's own edge.
func (r *Redactor) Cut(text string, maxRunes int) (out string, cut bool) {
	if maxRunes < 1 {
		return "", text != ""
	}
	out, cut = window(text, min(maxRunes, unlimited/8)*2*utf8.UTFMax+slack)
	for range maxPasses {
		out = shorten(r.Redact(out), maxRunes, &cut)
		// A cut makes an edge, and an edge can make a finding (1.2.3.4|.5).
		if r.Redact(out) == out {
			return out, cut
		}
	}
	return ellipsis, true
}

// window returns at most size bytes from the start of text, without the word
// its edge falls into: half a secret is not recognised as one.
func window(text string, size int) (string, bool) {
	if len(text) <= size {
		return text, false
	}
	text = text[:size]
	if edge := strings.LastIndexAny(text, " \t\r\n"); edge > size-longestPrefix {
		return text[:edge], true
	}
	edge := size - longestPrefix
	for edge > 0 && !utf8.RuneStart(text[edge]) {
		edge--
	}
	return text[:edge], true
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
