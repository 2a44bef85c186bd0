// Package jsontest makes up JSON values and spells them in many ways, for
// property tests of the packages that read JSON. Nothing but tests uses it.
package jsontest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// A Pick chooses a number in [0, n). It is the only source of chance, so that
// a property test can shrink what it found.
type Pick func(n int) int

var words = []string{"", "a", "b", "id", "name", "a b", "q\"q", `b\s`, "/~", "\x00", "\n", "\t\u007f", "é", "日本", "😀", "\ufffd", "\ue000", "\u2028", "true", "5", "{}", "```"}

var numbers = []string{"0", "-0", "1", "-7", "10", "42", "0.5", "-1.25", "1e2", "5.0", "1E-3", "1e400", "9007199254740992", "9007199254740993", "18446744071636006420", "123456789012345678901234567890"}

// Word makes up a short string, often an awkward one.
func Word(pick Pick) string {
	word := words[pick(len(words))]
	if pick(3) == 0 {
		word += words[pick(len(words))]
	}
	return word
}

// Value makes up a value at most depth containers deep.
func Value(pick Pick, depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch pick(kinds) {
	case 0:
		return nil
	case 1:
		return pick(2) == 0
	case 2:
		return json.Number(numbers[pick(len(numbers))])
	case 5:
		values := make([]any, 0)
		for range pick(4) {
			values = append(values, Value(pick, depth-1))
		}
		return values
	case 6:
		return Object(pick, depth)
	}
	return Word(pick)
}

// Object makes up an object, sometimes one with dozens of members.
func Object(pick Pick, depth int) map[string]any {
	members := make(map[string]any)
	n := pick(5)
	if pick(20) == 0 {
		n = 40
	}
	for i := range n {
		name := Word(pick)
		if n > 5 {
			name += fmt.Sprint(i)
		}
		members[name] = Value(pick, max(depth-1, 0))
	}
	return members
}

// A Speller writes values down. What it varies never changes their meaning.
type Speller struct {
	Pick Pick
	// Number spells a number; nil keeps the spelling it has.
	Number func(json.Number) string
	// Between is put between tokens instead of random white space.
	Between func() string
	// BeforeClose is put before the end of a container that is not empty.
	BeforeClose func() string
	// Rune spells one character of a string; nil varies the escapes.
	Rune func(r rune) string
}

// Spell returns one of the texts that mean value.
func (s Speller) Spell(value any) string {
	var b strings.Builder
	s.value(&b, value)
	return b.String()
}

func (s Speller) value(b *strings.Builder, value any) {
	b.WriteString(s.between())
	switch v := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case json.Number:
		b.WriteString(s.number(v))
	case string:
		s.str(b, v)
	case []any:
		s.array(b, v)
	case map[string]any:
		s.object(b, v)
	}
	b.WriteString(s.between())
}

func (s Speller) array(b *strings.Builder, values []any) {
	b.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		s.value(b, v)
	}
	s.end(b, len(values), ']')
}

func (s Speller) object(b *strings.Builder, members map[string]any) {
	names := slices.Sorted(maps.Keys(members))
	for i := range names {
		j := s.Pick(i + 1)
		names[i], names[j] = names[j], names[i]
	}
	b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s.between())
		s.str(b, name)
		b.WriteString(s.between() + ":")
		s.value(b, members[name])
	}
	s.end(b, len(names), '}')
}

func (s Speller) end(b *strings.Builder, children int, closing byte) {
	if children > 0 && s.BeforeClose != nil {
		b.WriteString(s.BeforeClose())
	}
	b.WriteString(s.between())
	b.WriteByte(closing)
}

func (s Speller) str(b *strings.Builder, text string) {
	b.WriteByte('"')
	for _, r := range text {
		if s.Rune != nil {
			b.WriteString(s.Rune(r))
		} else {
			b.WriteString(Rune(s.Pick, r))
		}
	}
	b.WriteByte('"')
}

func (s Speller) number(n json.Number) string {
	if s.Number == nil {
		return n.String()
	}
	return s.Number(n)
}

func (s Speller) between() string {
	if s.Between != nil {
		return s.Between()
	}
	return []string{"", "", "", " ", "\n", "\t\r "}[s.Pick(6)]
}

var short = map[rune]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// Rune spells r as itself or as an escape, as far as it has the choice.
func Rune(pick Pick, r rune) string {
	style := pick(4)
	switch {
	case style == 1 && short[r] != "":
		return short[r]
	case style > 1 && r >= ' ' && r != '"' && r != '\\':
		return string(r)
	case style == 0 && r >= ' ' && r != '"' && r != '\\':
		return string(r)
	}
	format := []string{`\u%04x`, `\u%04X`}[pick(2)]
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune{r}) {
		fmt.Fprintf(&b, format, unit)
	}
	return b.String()
}
