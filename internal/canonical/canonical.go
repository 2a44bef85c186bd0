// Package canonical writes a parsed document in the one form that depends
// only on what the document means.
//
// Order of members and spelling of strings are those of RFC 8785. Numbers
// differ from it on purpose: RFC 8785 sends them through float64, where 2^53
// and 2^53+1 are one number, so two orders would be one. Here they keep their
// exact value, laid out as RFC 8785 would; see [AppendNumber].
package canonical

import (
	"slices"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Append appends the canonical form of doc to dst. Members of the top-level
// object for which omit returns true are left out; nil omits nothing. The
// doc must come from a successful [strictjson.Parse].
//
// The form is JSON again. It is not always within the limits the text was
// parsed under: 21-digit integers are written out and exponents add up.
// Without omit, and with room in dst, nothing is allocated for objects of up
// to 24 members.
func Append(dst []byte, doc *strictjson.Doc, omit func(key string) bool) []byte {
	return appendValue(dst, doc, 0, omit)
}

// AppendNode appends the canonical form of node i of doc alone.
func AppendNode(dst []byte, doc *strictjson.Doc, i int32) []byte {
	return appendValue(dst, doc, i, nil)
}

func appendValue(dst []byte, doc *strictjson.Doc, i int32, omit func(string) bool) []byte {
	switch n := &doc.Nodes[i]; n.Kind {
	case strictjson.Number:
		return AppendNumber(dst, doc.Raw(i))
	case strictjson.String:
		return appendString(dst, doc.Content(i), n.Escaped)
	case strictjson.Array:
		return appendArray(dst, doc, i)
	case strictjson.Object:
		return appendObject(dst, doc, i, omit)
	}
	return append(dst, doc.Raw(i)...)
}

func appendArray(dst []byte, doc *strictjson.Doc, i int32) []byte {
	dst = append(dst, '[')
	for c := i + 1; c < doc.Nodes[i].Next; c = doc.Nodes[c].Next {
		if c > i+1 {
			dst = append(dst, ',')
		}
		dst = appendValue(dst, doc, c, nil)
	}
	return append(dst, ']')
}

func appendObject(dst []byte, doc *strictjson.Doc, i int32, omit func(string) bool) []byte {
	var room [24]int32
	members := room[:0]
	for c := i + 1; c < doc.Nodes[i].Next; c = doc.Nodes[c].Next {
		if omit == nil || !omit(doc.Key(c)) {
			members = append(members, c)
		}
	}
	slices.SortFunc(members, func(a, b int32) int {
		return compareUTF16(doc.KeyContent(a), doc.KeyContent(b))
	})
	dst = append(dst, '{')
	for n, c := range members {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, doc.KeyContent(c), doc.Nodes[c].KeyEscaped)
		dst = append(dst, ':')
		dst = appendValue(dst, doc, c, nil)
	}
	return append(dst, '}')
}

// compareUTF16 orders member names by their UTF-16 code units, as RFC 8785
// section 3.2.3 does. Both are still escaped.
func compareUTF16(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		if x, y := a[0], b[0]; x|y < utf8.RuneSelf && x != '\\' && y != '\\' { // as nearly all are
			if x != y {
				return int(x) - int(y)
			}
			a, b = a[1:], b[1:]
			continue
		}
		r, n := strictjson.DecodeRune(a)
		s, m := strictjson.DecodeRune(b)
		if r != s {
			return int(rankUTF16(r) - rankUTF16(s))
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

// rankUTF16 moves the characters above the surrogates behind those that are
// written with surrogates, which is all that sets the two orders apart.
func rankUTF16(r rune) rune {
	if 0xE000 <= r && r <= 0xFFFF {
		return r + utf8.MaxRune
	}
	return r
}

// appendString appends a string of which content is the inside. Without
// escapes it is canonical already: the parser let no control bytes through.
func appendString(dst, content []byte, escaped bool) []byte {
	dst = append(dst, '"')
	if !escaped {
		return append(append(dst, content...), '"')
	}
	for len(content) > 0 {
		r, n := strictjson.DecodeRune(content)
		dst = appendRune(dst, r)
		content = content[n:]
	}
	return append(dst, '"')
}

// AppendString appends s, which must be UTF-8, as a canonical JSON string.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	n := 0
	for n < len(s) && s[n] >= ' ' && s[n] < utf8.RuneSelf && shortEscapes[s[n]] == 0 {
		n++
	}
	dst = append(dst, s[:n]...) // which is all of most strings
	for _, r := range s[n:] {
		dst = appendRune(dst, r)
	}
	return append(dst, '"')
}

// shortEscapes are the two-character escapes RFC 8785 prescribes.
var shortEscapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

func appendRune(dst []byte, r rune) []byte {
	switch {
	case r < utf8.RuneSelf && shortEscapes[r] != 0:
		return append(dst, '\\', shortEscapes[r])
	case r < ' ':
		return append(dst, '\\', 'u', '0', '0', '0'+byte(r>>4), "0123456789abcdef"[r&0xF])
	}
	return utf8.AppendRune(dst, r)
}
