// Package clean makes the result of a tool fit to be read by a model.
//
// It takes out what is noise or worse in a prompt: terminal escapes, progress
// bars, control characters, invisible and direction-changing characters,
// invalid UTF-8, binary data and its base64 form, and what goes beyond a size.
// It hides nothing and judges nothing: words, numbers and names come through
// as they are, and text without any of these is returned untouched.
//
// Whatever is taken out is said: in a [Note], and where content went missing
// with a short neutral marker in the text, such as
// "[base64 image/png 372 kB omitted]".
//
// All functions are pure, deterministic and safe for concurrent use. Cleaning
// twice is cleaning once.
package clean

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Kind says what was taken out of a text.
type Kind uint8

const (
	// Escapes: terminal escape sequences. The label of a link stays.
	Escapes Kind = iota + 1
	// Overwritten: earlier states of a line that a carriage return or a
	// backspace wrote over.
	Overwritten
	// Controls: control characters, NUL included. Newline and tab stay.
	Controls
	// Invisible: zero-width and direction-changing characters, soft hyphens,
	// tags. Joiners stay where a script or an emoji needs them.
	Invisible
	// Invalid: bytes that were not UTF-8, replaced by U+FFFD.
	Invalid
	// Encoded: a long run of base64 or hex, replaced by a marker.
	Encoded
	// Binary: the whole text, replaced by a marker.
	Binary
	// Cut: the middle of the text, replaced by a marker.
	Cut
)

var kindNames = [...]string{"", "escapes", "overwritten", "controls", "invisible", "invalid", "encoded", "binary", "cut"}

// String returns the kind's name in lower case, "clean.Kind(n)" for others.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "clean.Kind(" + strconv.Itoa(int(k)) + ")"
	}
	return kindNames[k]
}

// A Note says what was taken out of a text and how much of it. There is at
// most one note of a kind, except that [Encoded] has one per media type.
type Note struct {
	Kind  Kind
	Count int    // how many places
	Bytes int    // how many bytes of the original
	Media string // the media type of Encoded and Binary data, "" if unknown
}

// Has reports whether one of the notes is of kind k.
func Has(notes []Note, k Kind) bool {
	for _, n := range notes {
		if n.Kind == k {
			return true
		}
	}
	return false
}

const (
	// DefaultMaxBytes is the size of a text kept whole if nothing is said.
	DefaultMaxBytes = 64 << 10

	// smallestMax leaves room for a marker and something on both sides of it.
	smallestMax = 128
)

// Options adjusts cleaning. The zero value is the default.
type Options struct {
	// MaxBytes is the size above which the middle of a text is cut out. The
	// result, marker included, is not longer. If zero or less, 64 KiB; values
	// below 128 count as 128.
	MaxBytes int
}

// maxBytes returns the size that applies.
func (o Options) maxBytes() int {
	if o.MaxBytes <= 0 {
		return DefaultMaxBytes
	}
	return max(o.MaxBytes, smallestMax)
}

// Text returns s cleaned, and what was taken out of it, nil if nothing was.
// The result is valid UTF-8 without control characters other than newline and
// tab. A text that needs no cleaning is returned as it is, at no allocation.
func Text(s string, opts Options) (string, []Note) {
	limit := opts.maxBytes()
	if len(s) <= limit && plain(s) {
		return s, nil
	}
	var t tally
	return bounded(scrub(s, &t), limit, &t), t.notes
}

// bounded cuts what is scrubbed and scrubs once more what the cut laid bare: a
// shortened line can make wrapped base64 of the lines before it.
func bounded(s string, limit int, t *tally) string {
	if len(s) <= limit {
		return s
	}
	return scrub(cut(s, limit, t), t)
}

// scrub is everything but the size.
func scrub(s string, t *tally) string {
	if plain(s) {
		return s
	}
	if isBinary(s) {
		return describe(s, t)
	}
	s = draw(validate(s, t), t)
	return replaceEncoded(reveal(s, t), t)
}

// validate replaces each run of bytes that are not UTF-8 by one U+FFFD.
func validate(s string, t *tally) string {
	if utf8.ValidString(s) {
		return s
	}
	for i := 0; i < len(s); {
		bad := invalidRun(s[i:])
		if bad > 0 {
			t.add(Invalid, 1, bad, "")
		}
		_, size := utf8.DecodeRuneInString(s[i+bad:])
		i += bad + size
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// invalidRun returns how many bytes at the start of s are not UTF-8.
func invalidRun(s string) (n int) {
	for n < len(s) {
		if r, size := utf8.DecodeRuneInString(s[n:]); r != utf8.RuneError || size > 1 {
			break
		}
		n++
	}
	return n
}

// A tally adds notes up.
type tally struct{ notes []Note }

// add counts into the note of that kind and media type.
func (t *tally) add(kind Kind, count, bytes int, media string) {
	for i := range t.notes {
		if n := &t.notes[i]; n.Kind == kind && n.Media == media {
			n.Count += count
			n.Bytes += bytes
			return
		}
	}
	t.notes = append(t.notes, Note{kind, count, bytes, media})
}

// marker writes "[what media size more omitted]".
func marker(what, media string, bytes int, more string) string {
	parts := []string{"[" + what, media, size(bytes), more, "omitted]"}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, " ")
}

// size writes a number of bytes the way people read it.
func size(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n) + " bytes"
	case n < 1_000_000:
		return strconv.Itoa(n/1000) + " kB"
	}
	return strconv.Itoa(n/1_000_000) + " MB"
}
