package strictjson

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
	"github.com/toolguard-go/toolguard/internal/strictjson/jsontest"
)

const small = `{"city":"Berlin","days":3,"units":"metric","tags":["a","b"],"ok":true}   `

func mustParse(t require.TestingT, text string) *Doc {
	doc, err := Parse([]byte(text), Limits{})
	require.NoError(t, err)
	return &doc
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, `{"a":"x\u0079\n","\u00e9":[true,{"n":9007199254740993}],"":null}`) // case b10
	require.True(t, doc.IsObject())
	assert.Equal(t, "", doc.Key(0))
	assert.False(t, doc.KeyIs(0, ""))
	a, ok := doc.Member(0, "a")
	require.True(t, ok)
	assert.Equal(t, `"x\u0079\n"`, string(doc.Raw(a)))
	assert.Equal(t, "xy\n", doc.Str(a))
	assert.True(t, doc.StrIs(a, "xy\n"))
	assert.False(t, doc.StrIs(a, "xy"))
	assert.False(t, doc.StrIs(a, "xy\n "))
	e, ok := doc.Member(0, "é")
	require.True(t, ok)
	assert.Equal(t, "é", doc.Key(e))
	assert.False(t, doc.StrIs(e, "é"))
	n, ok := doc.Member(e+2, "n")
	require.True(t, ok)
	assert.Equal(t, "/é/1/n", doc.Pointer(n))
	assert.Equal(t, json.Number("9007199254740993"), doc.Value(n))
	empty, ok := doc.Member(0, "")
	require.True(t, ok)
	assert.Equal(t, "/", doc.Pointer(empty))
	assert.Equal(t, "", doc.Pointer(0))
	_, ok = doc.Member(0, "b")
	assert.False(t, ok)
	_, ok = doc.Member(a, "b")
	assert.False(t, ok)
	assert.False(t, (&Doc{}).IsObject())
}

func TestReplacementCharacterIsNotInvalidUTF8(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, `["\ufffd"]`)
	assert.True(t, doc.StrIs(1, "\ufffd"))
	assert.False(t, doc.StrIs(1, "\xff"))
}

func TestPointersResolve(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := draw(t)
		doc := mustParse(t, jsontest.Speller{Pick: pick}.Spell(jsontest.Value(pick, 4)))
		seen := map[string]bool{}
		for i := range doc.Nodes {
			pointer := doc.Pointer(int32(i))
			require.False(t, seen[pointer])
			seen[pointer] = true
			found, ok := jsonpointer.Lookup(doc.Value(0), jsonpointer.Tokens(pointer))
			require.True(t, ok, pointer)
			require.Equal(t, doc.Value(int32(i)), found, pointer)
		}
	})
}

func TestPreview(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `{"a":1}`, mustParse(t, `{"a":1}`).Preview(7))
	assert.Equal(t, `{"a…`, mustParse(t, `{"a":1}`).Preview(6))
	assert.Equal(t, "", Preview([]byte("abcd"), 3))
	assert.Equal(t, "", Preview([]byte("abcd"), -1))
	assert.Equal(t, "日…", Preview([]byte("日本語"), 8))
	assert.Equal(t, "a\ufffdb", Preview([]byte("a\xff\xfeb"), 10))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		max := rapid.IntRange(0, 40).Draw(t, "max")
		require.True(t, utf8.ValidString(Preview(text, max)))
		valid := strings.ToValidUTF8(string(text), "")
		require.LessOrEqual(t, len(Preview([]byte(valid), max)), max)
	})
}

func TestReasonNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for r := ReasonEmpty; r <= ReasonExponent; r++ {
		require.NotContains(t, r.String(), "reason(")
		require.False(t, seen[r.String()])
		seen[r.String()] = true
	}
	assert.Equal(t, "reason(0)", Reason(0).String())
	assert.Equal(t, "reason(200)", Reason(200).String())
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, `[null,true,false,1,"",[],{}]`)
	var names []string
	for _, n := range doc.Nodes[1:] {
		names = append(names, n.Kind.String())
	}
	assert.Equal(t, []string{"null", "boolean", "boolean", "number", "string", "array", "object"}, names)
	assert.Equal(t, "kind(7)", Kind(7).String())
}

func TestDocIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, small)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { _, _, _ = doc.Value(0), doc.Pointer(5), doc.KeyIs(1, "city") })
	}
	wg.Wait()
}

func TestAllocations(t *testing.T) {
	empty, text := []byte(`{}`), []byte(small)
	doc := mustParse(t, `{"plain":"text","esc\u0061ped":"te\u0078t"}`)
	for _, c := range []struct {
		name string
		most float64
		run  func()
	}{
		{"empty", 1, func() { _, _ = Parse(empty, Limits{}) }},
		{"small", 1, func() { _, _ = Parse(text, Limits{}) }},
		{"compare", 0, func() { _, _ = doc.KeyIs(2, "escaped"), doc.StrIs(2, "text") }},
		{"member", 0, func() { _, _ = doc.Member(0, "escaped") }},
		{"raw", 0, func() { _ = doc.Raw(0) }},
		{"key", 1, func() { sink = doc.Key(1) }},
	} {
		assert.LessOrEqual(t, testing.AllocsPerRun(1000, c.run), c.most, c.name)
	}
}

var sink string

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"empty": `{}`, "73B": small, "20KB": `[` + strings.Repeat(small+",", 270) + `1]`,
		"long": `{"text":"` + strings.Repeat("plain words of text ", 1000) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			data := []byte(text)
			for b.Loop() {
				_, _ = Parse(data, Limits{})
			}
		})
	}
}

func BenchmarkStdValid(b *testing.B) {
	data := []byte(small)
	for b.Loop() {
		_ = json.Valid(data)
	}
}
