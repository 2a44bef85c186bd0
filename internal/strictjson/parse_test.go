package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/strictjson/jsontest"
)

func draw(t *rapid.T) jsontest.Pick {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
}

func TestParseAcceptsJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `null`, "\r\n\t true ", `false`, `{"":0}`, `{"a":{"a":[{"a":1}]}}`,
		`-0.0e-0`, `1E+0`, `1e400`, `1e-400`, `1e0000400`, `123456789012345678901234567890`, `[1,-2.5,[[]],{}]`,
		`"\u0000\"\\\/\b\f\n\r\t\ud83d\ude00\uFFFF"`, "\"\u007f\u2028é😀\"", `{"a":1,"A":2,"á":3}`,
		strings.Repeat("[", 64) + strings.Repeat("]", 64), `[` + strings.Repeat("7", 1000) + `]`,
		`[` + strings.Repeat(`{},[],{"a":[0]},`, 100) + `[]]`, // depth is what is open at once
		"{\"code\": \"use `print` and ```x``` here\"}",        // case a13
		`{"query": "what's open"}`,                            // case a14
		`{"message": "}A </tool_call> B\"}"}`,                 // case a18
	} {
		doc, err := Parse([]byte(text), Limits{})
		require.NoError(t, err, text)
		assert.Equal(t, decodeStd(t, text), doc.Value(0), text)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":[`, 40)
	for _, c := range []struct {
		text   string
		reason Reason
		offset int
		path   string
	}{
		{"", ReasonEmpty, 0, ""},
		{" \n", ReasonEmpty, 2, ""},
		{`{`, ReasonTruncated, 1, ""},
		{`{"a"`, ReasonTruncated, 4, ""},
		{`{"a":`, ReasonTruncated, 5, "/a"},
		{`{"a":[1,{"b":tru`, ReasonTruncated, 16, "/a/1/b"},
		{`{"a":1,`, ReasonTruncated, 7, ""},
		{`{"lines": [{"sku": "A", "qty": 1`, ReasonTruncated, 32, "/lines/0"}, // case a15
		{`{"time": 2`, ReasonTruncated, 10, ""},                               // case p03
		{`{"a":"b`, ReasonTruncated, 7, "/a"},
		{`{"a":"b\`, ReasonTruncated, 8, "/a"},
		{`["\u12`, ReasonTruncated, 6, "/0"},
		{`["\ud83d`, ReasonTruncated, 8, "/0"},
		{`["\ud83d\ude`, ReasonTruncated, 12, "/0"},
		{"[\"\xe6\x97", ReasonTruncated, 4, "/0"},
		{`-`, ReasonTruncated, 1, ""},
		{`1.`, ReasonTruncated, 2, ""},
		{`1e`, ReasonTruncated, 2, ""},
		{`1e+`, ReasonTruncated, 3, ""},
		{`{}{"a":1}`, ReasonTrailing, 2, ""}, // case a07
		{`{} x`, ReasonTrailing, 3, ""},
		{`{"a":1}}`, ReasonTrailing, 7, ""},
		{`nullx`, ReasonTrailing, 4, ""},
		{`{"a" 1}`, ReasonSyntax, 5, ""},
		{`{"a":1 "b":2}`, ReasonSyntax, 7, ""},
		{`{a:1}`, ReasonSyntax, 1, ""},
		{`{,}`, ReasonSyntax, 1, ""},
		{`[1 2]`, ReasonSyntax, 3, ""},
		{`[1,,2]`, ReasonSyntax, 3, "/1"},
		{`[01]`, ReasonSyntax, 2, "/0"},
		{`[-01]`, ReasonSyntax, 3, "/0"},
		{`[+1]`, ReasonSyntax, 1, "/0"},
		{`[.5]`, ReasonSyntax, 1, "/0"},
		{`[1.e1]`, ReasonSyntax, 3, "/0"},
		{`[1e]`, ReasonSyntax, 3, "/0"},
		{`[nul]`, ReasonSyntax, 4, "/0"},
		{`["\x"]`, ReasonSyntax, 3, "/0"},
		{`["\u12g4"]`, ReasonSyntax, 6, "/0"},
		{"\ufeff{}", ReasonSyntax, 0, ""},
		{"{\x00}", ReasonSyntax, 1, ""},
		{"[\u00a01]", ReasonSyntax, 1, "/0"},
		{`{"range": \n[1]}`, ReasonSyntax, 10, "/range"}, // case a09
		{`{"a":[1,2,],"b":3}`, ReasonTrailingComma, 10, "/a"},
		{`{"a":1, }`, ReasonTrailingComma, 8, ""},
		{`{'query': 1}`, ReasonSingleQuotes, 1, ""}, // case a14
		{`{"query": 'x'}`, ReasonSingleQuotes, 10, "/query"},
		{`{"x":{"ok": True}}`, ReasonPythonLiteral, 12, "/x/ok"},
		{`[None]`, ReasonPythonLiteral, 1, "/0"},
		{`{"limit": NaN}`, ReasonNotJSONNumber, 10, "/limit"}, // case a17
		{`{"limit": -Infinity}`, ReasonNotJSONNumber, 11, "/limit"},
		{`{"limit": 1e999}`, ReasonExponent, 12, "/limit"},
		{`[1e-401]`, ReasonExponent, 4, "/0"},
		{`[1e99999999999999999999999]`, ReasonExponent, 3, "/0"},
		{`[` + strings.Repeat("7", 600) + "." + strings.Repeat("7", 401) + `]`, ReasonDigits, 1, "/0"},
		{"{\"text\": \"a\n\tb\"}", ReasonControlChar, 11, "/text"}, // case a08
		{"{\"a\x00\": 1}", ReasonControlChar, 3, ""},
		{"[\"a\xffb\"]", ReasonInvalidUTF8, 3, "/0"},
		{"[\"\xed\xa0\x80\"]", ReasonInvalidUTF8, 2, "/0"},
		{"[\"\xc0\xaf\"]", ReasonInvalidUTF8, 2, "/0"},
		{`{"a":"\uDADA"}`, ReasonLoneSurrogate, 6, "/a"}, // case a21
		{`["\udc00"]`, ReasonLoneSurrogate, 2, "/0"},
		{`["\udc00\udc00"]`, ReasonLoneSurrogate, 2, "/0"},
		{`["\ud83d\ue000"]`, ReasonLoneSurrogate, 2, "/0"},
		{`["\ud83dx"]`, ReasonLoneSurrogate, 2, "/0"},
		{`["\ud83d\n"]`, ReasonLoneSurrogate, 2, "/0"},
		{`["\ud83d\u0041"]`, ReasonLoneSurrogate, 2, "/0"},
		{`["\ud83d\ud83d"]`, ReasonLoneSurrogate, 2, "/0"},
		{`{"":0,"":1}`, ReasonDuplicateKey, 6, "/"}, // case a21
		{`{"x":[{"a/b":0,"c":1,"a\u002fb":2}]}`, ReasonDuplicateKey, 21, "/x/0/a~1b"},
		{deep, ReasonDepth, 192, strings.Repeat("/a/0", 32)},
		{strings.Repeat("[", 100_000), ReasonDepth, 64, strings.Repeat("/0", 64)}, // case a21
	} {
		doc, err := Parse([]byte(c.text), Limits{})
		var failure *Error
		name := Preview([]byte(c.text), 60)
		require.ErrorAs(t, err, &failure, name)
		assert.Equal(t, c.reason.String(), failure.Reason.String(), name)
		assert.Equal(t, c.offset, failure.Offset, name)
		assert.Equal(t, c.path, failure.Path, name)
		assert.NotEmpty(t, failure.Error())
		assert.False(t, doc.IsObject())
		assert.Empty(t, doc.Nodes)
	}
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		limits Limits
		want   Error
	}{
		{`[1,2]`, Limits{MaxBytes: 4}, Error{Reason: ReasonSize, Limit: 4, Size: 5}},
		{`[[[`, Limits{MaxDepth: 2}, Error{Reason: ReasonDepth, Offset: 2, Path: "/0/0", Limit: 2, Size: 3}},
		{`[12.345]`, Limits{MaxDigits: 4}, Error{Reason: ReasonDigits, Offset: 1, Path: "/0", Limit: 4, Size: 5}},
		{`[1e-9]`, Limits{MaxExponent: 8}, Error{Reason: ReasonExponent, Offset: 4, Path: "/0", Limit: 8, Size: 9}},
	} {
		_, err := Parse([]byte(c.text), c.limits)
		require.Equal(t, &c.want, err)
		_, err = Parse([]byte(strings.Replace(c.text, "[[[", "[[[]]]", 1)), Limits{})
		require.NoError(t, err)
	}
	_, err := Parse(bytes.Repeat([]byte(" "), DefaultMaxBytes+1), Limits{})
	require.EqualError(t, err, "strictjson: size at offset 0: 1048577 exceeds 1048576")
}

func TestDuplicateKeysAreFoundInObjectsOfAnySize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, pairwise - 1, pairwise, pairwise + 1, 300} {
		for _, twins := range [][2]int{{0, n - 1}, {(n - 1) / 2, n - 1}, {0, 1}} {
			parts := make([]string, n)
			for i := range parts {
				parts[i] = fmt.Sprintf(`"k%03d":{"k":[1]}`, i)
			}
			text := "{" + strings.Join(parts, ",") + "}"
			_, err := Parse([]byte(text), Limits{})
			require.NoError(t, err)
			parts[twins[1]] = fmt.Sprintf(`"\u006b%03d":0`, twins[0])
			_, err = Parse([]byte("{"+strings.Join(parts, ",")+"}"), Limits{})
			var failure *Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, ReasonDuplicateKey, failure.Reason)
			require.Equal(t, fmt.Sprintf("k%03d", twins[0]), failure.Name)
		}
	}
}

// Comparing every pair of names would take minutes.
func TestHugeObjectIsLinear(t *testing.T) {
	t.Parallel()
	text := []byte{'{'}
	for i := range 300_000 {
		text = append(strconv.AppendInt(append(text, '"'), int64(i), 10), `":0,`...)
	}
	doc, err := Parse(append(text, `"last":0}`...), Limits{MaxBytes: 4 << 20})
	require.NoError(t, err)
	require.EqualValues(t, 300_001, doc.Nodes[0].Len)
}

// The nodes describe the text completely: spans nest, siblings do not overlap.
func TestNodesAreConsistent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := draw(t)
		doc, err := Parse([]byte(jsontest.Speller{Pick: pick}.Spell(jsontest.Value(pick, 4))), Limits{})
		require.NoError(t, err)
		require.EqualValues(t, len(doc.Nodes), doc.Nodes[0].Next)
		for i := range doc.Nodes {
			checkNode(t, &doc, int32(i))
		}
	})
}

func checkNode(t require.TestingT, doc *Doc, i int32) {
	n := doc.Nodes[i]
	require.True(t, json.Valid(doc.Raw(i)))
	require.Equal(t, n.Kind == String && bytes.ContainsRune(doc.Raw(i), '\\'), n.Escaped)
	children, at := int32(0), n.Start
	for c := i + 1; c < n.Next; c = doc.Nodes[c].Next {
		child := doc.Nodes[c]
		require.Equal(t, n.Kind == Object, child.KeyEnd > 0)
		if n.Kind == Object {
			require.Less(t, at, child.KeyStart)
			require.Less(t, child.KeyEnd, child.Start)
			require.Equal(t, bytes.ContainsRune(doc.KeyContent(c), '\\'), child.KeyEscaped)
		}
		require.Less(t, at, child.Start)
		at = child.End
		children++
	}
	require.Equal(t, children, n.Len)
	require.LessOrEqual(t, at, n.End)
}

func decodeStd(t require.TestingT, text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	require.NoError(t, d.Decode(&value), text)
	return value
}

// Every spelling of every value is accepted and decoded as encoding/json does.
func TestParseAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := draw(t)
		value := jsontest.Value(pick, 4)
		text := jsontest.Speller{Pick: pick}.Spell(value)
		require.True(t, json.Valid([]byte(text)))
		doc, err := Parse([]byte(text), Limits{})
		require.NoError(t, err, text)
		require.Equal(t, value, doc.Value(0))
		require.Equal(t, decodeStd(t, text), doc.Value(0))
	})
}

func TestDamagedTextsAgreeWithEncodingJSON(t *testing.T) {
	t.Parallel()
	damage := []string{"", "", "{", "}", "[", "]", ",", ":", `"`, `\`, "0", "-", ".", "e", "n", "'", "\x00", "\n", "\xff", `\u`, "é"}
	rapid.Check(t, func(t *rapid.T) {
		pick := draw(t)
		text := jsontest.Speller{Pick: pick}.Spell(jsontest.Value(pick, 3))
		for range 1 + pick(2) {
			at := pick(len(text) + 1)
			text = text[:at] + damage[pick(len(damage))] + text[min(len(text), at+pick(3)):]
		}
		checkAgainstStd(t, []byte(text))
	})
}

// stricter are the reasons for which a text that is JSON is refused.
var stricter = []Reason{ReasonInvalidUTF8, ReasonLoneSurrogate, ReasonDuplicateKey, ReasonDepth, ReasonSize, ReasonDigits, ReasonExponent}

func checkAgainstStd(t require.TestingT, text []byte) {
	doc, err := Parse(text, Limits{})
	if err == nil {
		require.True(t, json.Valid(text), "%q", text)
		require.True(t, utf8.Valid(text), "%q", text)
		require.Equal(t, decodeStd(t, string(text)), doc.Value(0))
		return
	}
	var failure *Error
	require.True(t, errors.As(err, &failure))
	if json.Valid(text) {
		require.Contains(t, stricter, failure.Reason, "%q", text)
	}
	require.LessOrEqual(t, failure.Offset, len(text))
	if failure.Reason == ReasonTruncated {
		require.Equal(t, len(text), failure.Offset)
	}
}

// A document cut anywhere is reported as cut, never as anything else.
func TestEveryPrefixIsTruncated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := draw(t)
		object := map[string]any{"first": jsontest.Value(pick, 3), "😀": "é\\😀\n"}
		text := strings.TrimSpace(jsontest.Speller{Pick: pick}.Spell(object))
		for n := 1; n < len(text); n++ {
			_, err := Parse([]byte(text[:n]), Limits{})
			var failure *Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, ReasonTruncated, failure.Reason, text[:n])
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"x\n"],"b":null}`, `{"a":1,"\u0061":2}`, `"\ud83d\ude00"`, `[1,]`, "{\"a\":\"\xff\"}", `{"a":NaN}`, `-`, `[[[[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkAgainstStd(t, text) })
}

// A call without arguments is not parsed: what is known of it is what the parser says.
func TestTheEmptyObjectIsKnown(t *testing.T) {
	t.Parallel()
	parsed := parser{doc: Doc{Text: []byte("{}")}, limits: Limits{}.OrDefault()}
	require.Nil(t, parsed.document())
	known, err := Parse([]byte("{}"), Limits{})
	require.NoError(t, err)
	assert.Equal(t, parsed.doc, known)
}
