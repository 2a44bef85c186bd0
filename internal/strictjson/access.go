package strictjson

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// IsObject reports whether the top-level value is an object. It is false for
// a Doc that came with an error.
func (d *Doc) IsObject() bool {
	return len(d.Nodes) > 0 && d.Nodes[0].Kind == Object
}

// Raw returns the bytes of node i as they stand in Text, which they share.
func (d *Doc) Raw(i int32) []byte {
	n := &d.Nodes[i]
	return d.Text[n.Start:n.End:n.End]
}

// Key returns the decoded member name of node i, "" if it is not a member.
func (d *Doc) Key(i int32) string {
	return decoded(d.KeyContent(i), d.Nodes[i].KeyEscaped)
}

// KeyIs reports whether node i is a member called name. It does not allocate.
func (d *Doc) KeyIs(i int32, name string) bool {
	n := &d.Nodes[i]
	return n.KeyEnd > 0 && equal(d.Text[n.KeyStart+1:n.KeyEnd-1], n.KeyEscaped, name)
}

// KeyContent returns the bytes between the quotes of the member name of
// node i, still escaped, for [DecodeRune]. It is nil if i is not a member.
func (d *Doc) KeyContent(i int32) []byte {
	n := &d.Nodes[i]
	if n.KeyEnd == 0 {
		return nil
	}
	return d.Text[n.KeyStart+1 : n.KeyEnd-1]
}

// Content returns the bytes between the quotes of String node i, still
// escaped, for [DecodeRune].
func (d *Doc) Content(i int32) []byte {
	n := &d.Nodes[i]
	return d.Text[n.Start+1 : n.End-1]
}

// Str returns the decoded value of String node i.
func (d *Doc) Str(i int32) string {
	return decoded(d.Content(i), d.Nodes[i].Escaped)
}

// StrIs reports whether node i is a String of value s. It does not allocate.
func (d *Doc) StrIs(i int32, s string) bool {
	return d.Nodes[i].Kind == String && equal(d.Content(i), d.Nodes[i].Escaped, s)
}

// Member returns the member called name of node i, false if there is none or
// i is not an object. It looks at one name after the other.
func (d *Doc) Member(i int32, name string) (int32, bool) {
	if d.Nodes[i].Kind != Object {
		return 0, false
	}
	for c := i + 1; c < d.Nodes[i].Next; c = d.Nodes[c].Next {
		if d.KeyIs(c, name) {
			return c, true
		}
	}
	return 0, false
}

// Value returns node i as map[string]any, []any, [json.Number], string, bool
// or nil. Numbers keep the spelling they had. Nothing is shared with Text.
func (d *Doc) Value(i int32) any {
	switch n := &d.Nodes[i]; n.Kind {
	case False, True:
		return n.Kind == True
	case Number:
		return json.Number(d.Raw(i))
	case String:
		return d.Str(i)
	case Array:
		return d.array(i)
	case Object:
		return d.object(i)
	}
	return nil
}

func (d *Doc) array(i int32) []any {
	values := make([]any, 0, d.Nodes[i].Len)
	for c := i + 1; c < d.Nodes[i].Next; c = d.Nodes[c].Next {
		values = append(values, d.Value(c))
	}
	return values
}

func (d *Doc) object(i int32) map[string]any {
	members := make(map[string]any, d.Nodes[i].Len)
	for c := i + 1; c < d.Nodes[i].Next; c = d.Nodes[c].Next {
		members[d.Key(c)] = d.Value(c)
	}
	return members
}

func (d *Doc) appendKey(dst []byte, i int32) []byte {
	if d.Nodes[i].KeyEscaped {
		return appendDecoded(dst, d.KeyContent(i))
	}
	return append(dst, d.KeyContent(i)...)
}

// Preview returns the beginning of the document; see the function [Preview].
func (d *Doc) Preview(max int) string { return Preview(d.Text, max) }

// Preview returns the first max bytes of text at most, cut between characters
// and then marked with an ellipsis of three bytes that counts. Bytes that are
// not UTF-8 are shown as U+FFFD, which does not count. The rest, control
// bytes included, is shown as it is: escaping belongs to the renderer.
func Preview(text []byte, max int) string {
	if len(text) <= max {
		return strings.ToValidUTF8(string(text), "\uFFFD")
	}
	const ellipsis = "…"
	cut := min(len(text), max) - len(ellipsis)
	if cut <= 0 {
		return ""
	}
	for back := 0; back < utf8.UTFMax && cut > 0 && !utf8.RuneStart(text[cut]); back++ {
		cut--
	}
	return strings.ToValidUTF8(string(text[:cut]), "\uFFFD") + ellipsis
}
