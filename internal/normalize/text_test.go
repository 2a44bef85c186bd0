package normalize

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/strictjson"
	"github.com/toolguard-go/toolguard/internal/strictjson/jsontest"
)

var lenient = TextOptions{NothingRequired: true, AllowControlChars: true}

func kinds(changes []Change) (names []string) {
	for _, c := range changes {
		names = append(names, c.Kind.String())
	}
	return names
}

func TestTextRepairs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw, want string
		kinds     []Kind
	}{
		{"", `{}`, []Kind{EmptyText}}, // cases a02, a03, a04
		{" \n\t", `{}`, []Kind{EmptyText}},
		{"\u00a0", `{}`, []Kind{WhiteSpace, EmptyText}},
		{"null", `{}`, []Kind{NullText}}, // case b09
		{" null\n", `{}`, []Kind{NullText}},
		{"\ufeff{\"a\":1}\v", `{"a":1}`, []Kind{WhiteSpace}},
		{"```json\n{\"a\": 1}\n```", `{"a": 1}`, []Kind{CodeFence}},
		{" ```\r\n{\"a\":\"```\"}\r\n``` \n", `{"a":"` + "```" + `"}`, []Kind{CodeFence}},
		{"````JSON {\"a\":1}````", `{"a":1}`, []Kind{CodeFence}},
		{"```{}```", `{}`, []Kind{CodeFence}},
		{"```null```", `{}`, []Kind{CodeFence, NullText}},
		{`"{\"headless\": true}"`, `{"headless": true}`, []Kind{StringDocument}}, // case b02
		{`\n"{}"`, `{}`, []Kind{LiteralSpace, StringDocument}},
		{"```\n\"{}\"\n```", `{}`, []Kind{CodeFence, StringDocument}},
		{"\"{\n\\\"a\\\":1}\"", "{\n\"a\":1}", []Kind{ControlChars, StringDocument}},
		{`{}{"symbol": "TSLA"}`, `{"symbol": "TSLA"}`, []Kind{GluedObject}}, // case a07
		{`{}{}`, `{}`, []Kind{GluedObject}},
		{`{"pages": [1, 2, 3,], "page_index": "0"}`, `{"pages": [1, 2, 3], "page_index": "0"}`, []Kind{TrailingComma}}, // case a16
		{`{"a":[[],],"b":{"c":"d" , } , }`, `{"a":[[]],"b":{"c":"d"  }  }`, []Kind{TrailingComma}},
		{"{\"text\": \"if x {\n\treturn\n}\"}", `{"text": "if x {\n\treturn\n}"}`, []Kind{ControlChars}}, // case a08
		{"{\"\x00\":\"\\\\\x1f\\\"\"}", `{"\u0000":"\\\u001f\""}`, []Kind{ControlChars}},
		{`{"command": "a\nb", "range": \n[2142, 2250]\n}`, `{"command": "a\nb", "range":  [2142, 2250] }`, []Kind{LiteralSpace}}, // case a09
		{`{"a":1,\n}\r\t`, `{"a":1 }  `, []Kind{LiteralSpace, TrailingComma}},
		{"```json\n{}{\"a\":\"\t\",\\n}\n```", `{"a":"\t" }`, []Kind{CodeFence, GluedObject, ControlChars, LiteralSpace, TrailingComma}},
		{"\u3000```json\n```", `{}`, []Kind{WhiteSpace, CodeFence, EmptyText}},
	} {
		text, changes := Text([]byte(c.raw), lenient)
		assert.Equal(t, c.want, string(text), "%q", c.raw)
		doc, err := strictjson.Parse(text, strictjson.Limits{})
		assert.NoError(t, err, "%q", c.raw)
		assert.True(t, doc.IsObject())
		got := []Kind{}
		for _, change := range changes {
			got = append(got, change.Kind)
		}
		assert.Equal(t, c.kinds, got, "%q: %v", c.raw, kinds(changes))
	}
}

// What must be refused is refused by the second parse, whatever Text did.
func TestTextNeverCompletesOrChooses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"lines": [{"sku": "A", "qty": 1`, // case a15
		`{"time": 2`, "```json\n{\"a\": 1\n```", "```json\n{\"a\": 1}", "{\"a\": 1}\n```", `{"a": "x`, `{"a": "x}`, `{"a":1]`,
		`{"a":1}{"a":2}`, `{}{"a":1}{"b":2}`, `{}{}{"a":1}`, `{} {"a":1}`, `{"a":1}{}`, `{}{"a":1`, `{}[1]`, `{},{"a":1}`, // case a07
		`{,}`, `{"a":,}`, `{"a":[,]}`, `{"a":[1,,]}`, `{"a":1,,}`, `{"a":1},`, `,{"a":1}`, `,`, `{"a",}`,
		`{'query': 'open now'}`, `{a: 1}`, // case a14
		`{"limit": NaN}`, `{"limit": 1e999}`, // case a17
		`{"a":1,"a":2,}`, `{"a":1\n2}`, `{"a":tr\nue}`, `{"a":\x}`, `{"a":1\x}`, `{"a":1\"}`, "\"{\t}", `{"a":1\}`, `\`, `{"a": "\x"}`, "{\"a\": \"\\\n\"}",
		`{\"a\": 1}`, `{"a":1} // done`, "Sure!\n```json\n{}\n```", "~~~\n{}\n~~~", "``{}``", "``````", "```python\n{}\n```",
		"```true```", "```\n{}\n```\n```\n{}\n```", "{\"a\":\"\xff\",}", `{"a":"\ud800",}`, `"{\"a\":"`,
	} {
		text, _ := Text([]byte(raw), lenient)
		if text != nil {
			doc, _ := strictjson.Parse(text, strictjson.Limits{})
			assert.False(t, doc.IsObject(), "%q became %q", raw, text)
		}
	}
}

// Values that are not objects stay what they are: case a06.
func TestTextLeavesOtherValuesAlone(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`[1,2]`, `"x"`, `7`, `true`, `"null"`, `""`, `"[1]"`, `"{\"a\":1,}"`, `"\"{}\""`, `"{\"a\":1,\"a\":2}"`, `[{}]`,
		`[1,,]`, `{,}`, `[,]`, `{"a":,}`, // nor are commas that follow no value
		`{"a":1}`, "{\"code\": \"use `print` and ```x``` here\"}", // case a13
	} {
		text, changes := Text([]byte(raw), lenient)
		assert.Nil(t, text, raw)
		assert.Nil(t, changes, raw)
	}
}

func TestTextOptions(t *testing.T) {
	t.Parallel()
	text, _ := Text([]byte("null"), TextOptions{})
	assert.Nil(t, text)
	text, _ = Text([]byte("{\"a\":\"\n\"}"), TextOptions{})
	assert.Nil(t, text)
	text, changes := Text([]byte("{\"a\":\"\n\",}"), TextOptions{})
	assert.Equal(t, "{\"a\":\"\n\"}", string(text))
	assert.Equal(t, []string{"trailing_comma"}, kinds(changes))
	text, _ = Text([]byte("```{}```"), TextOptions{Limits: strictjson.Limits{MaxBytes: 7}})
	assert.Nil(t, text)
	text, _ = Text([]byte(`"{\"a\":[]}"`), TextOptions{Limits: strictjson.Limits{MaxDepth: 1}})
	assert.Nil(t, text)
}

func TestTextChanges(t *testing.T) {
	t.Parallel()
	raw := " ```json\n{\"a\":[1,],\"b\":[2,],\"text\":\"x\n" + strings.Repeat("long ", 20) + "\"}``` "
	_, changes := Text([]byte(raw), lenient)
	long := strings.Repeat("long ", 20)
	assert.Equal(t, []Change{
		{Kind: CodeFence, Offset: 1, From: "```json", Count: 1},
		{Kind: TrailingComma, Offset: strings.Index(raw, ",]"), From: ",", Count: 2},
		{Kind: ControlChars, Offset: strings.Index(raw, "\"x\n"), Count: 1,
			From: "\"x\n" + long[:MaxPreview-6] + "…", To: `"x\n` + long[:MaxPreview-7] + "…"},
	}, changes)
	_, changes = Text([]byte("\v{}{}\u00a0"), lenient)
	assert.Equal(t, []Change{
		{Kind: WhiteSpace, Offset: 0, From: "\v", Count: 2},
		{Kind: GluedObject, Offset: 1, From: "{}", Count: 1},
	}, changes)
}

func TestTextDoesNotModifyItsInput(t *testing.T) {
	t.Parallel()
	raw := "```json\n{}{\"a\":[1,\\n],\"b\":\"\t\",}\n```"
	given := []byte(raw)
	text, _ := Text(given, lenient)
	require.NotNil(t, text)
	require.Equal(t, raw, string(given))
}

// Damage of every repairable kind, in any mixture, is undone exactly.
func TestTextUndoesDamage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		value := jsontest.Object(pick, 3)
		speller := jsontest.Speller{
			Pick:        pick,
			Between:     func() string { return []string{"", " ", "\n", `\n`, `\t\r`}[pick(5)] },
			BeforeClose: func() string { return []string{"", ",", " , "}[pick(3)] },
			Rune: func(r rune) string {
				if r < ' ' && pick(2) == 0 {
					return string(r)
				}
				return jsontest.Rune(pick, r)
			},
		}
		raw := strings.TrimLeft(speller.Spell(value), "\n"+` \ntr`)
		raw = []string{"", "{}"}[pick(2)] + raw
		raw = fmt.Sprintf([]string{"%s", " %s\n", "```json\n%s\n```", "\ufeff```%s```\u00a0"}[pick(4)], raw)
		doc, err := strictjson.Parse([]byte(raw), strictjson.Limits{})
		if err != nil {
			text, _ := Text([]byte(raw), lenient)
			doc, err = strictjson.Parse(text, strictjson.Limits{})
			require.NoError(t, err, "%q", raw)
		}
		require.Equal(t, any(value), doc.Value(0), "%q", raw)
	})
}

// A quadratic step would take minutes, and one change per byte be listed.
func TestTextOfHostileRuns(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"`", "{}", "[1,],", `\n`, "\"\x00\"", "[,", " ", "\v", "\x00", `"\`, ", "} {
		raw := strings.Repeat(unit, 256<<10/len(unit))
		for _, text := range []string{raw, `"` + raw[2:], "[1," + raw[3:]} {
			_, changes := Text([]byte(text), lenient)
			require.LessOrEqual(t, len(changes), int(IntegralFloat))
		}
	}
}

// token splits a text that may be damaged. It knows strings, brackets and
// runs of anything else; what separates them is dropped.
var token = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|[{}\[\]:,]|\\[nrt]|(?:[^\s,:{}\[\]"\\])+`)

func tokens(text string) (list []string, commas int) {
	for _, tok := range token.FindAllString(text, -1) {
		switch {
		case tok == ",":
			commas++
		case tok[0] == '"':
			list = append(list, "string "+decode(tok))
		case tok[0] != '\\':
			list = append(list, tok)
		}
	}
	return list, commas
}

// decode reads a string that may hold raw control bytes.
func decode(tok string) (s string) {
	var b strings.Builder
	for _, c := range []byte(tok) {
		if c < ' ' {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	if json.Unmarshal([]byte(b.String()), &s) != nil {
		return tok
	}
	return s
}

func find(changes []Change, kind Kind) (Change, bool) {
	i := slices.IndexFunc(changes, func(c Change) bool { return c.Kind == kind })
	if i < 0 {
		return Change{}, false
	}
	return changes[i], true
}

// checkText holds the promise of Text against its result for any raw: what
// parses has the tokens of raw, less those the changes name.
func checkText(t require.TestingT, raw string) {
	text, changes := Text([]byte(raw), lenient)
	require.Equal(t, text == nil, changes == nil)
	if text == nil {
		return
	}
	if _, err := strictjson.Parse(text, strictjson.Limits{}); err != nil {
		return
	}
	meant := strings.TrimFunc(raw, isSpace)
	if fence, ok := find(changes, CodeFence); ok {
		marks := strings.TrimRight(fence.From, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ5")
		meant = strings.TrimSuffix(strings.TrimPrefix(meant, fence.From), marks)
		meant = strings.TrimFunc(meant, isSpace)
	}
	if _, ok := find(changes, GluedObject); ok {
		meant = strings.TrimPrefix(meant, "{}")
	}
	want, commas := tokens(meant)
	if _, ok := find(changes, StringDocument); ok {
		require.Len(t, want, 1)
		want, commas = tokens(strings.TrimPrefix(want[0], "string "))
	}
	if len(want) == 0 || slices.Equal(want, []string{"null"}) {
		want = []string{"{", "}"}
	}
	got, left := tokens(string(text))
	require.Equal(t, want, got, "%q became %q", raw, text)
	trailing, _ := find(changes, TrailingComma)
	require.Equal(t, commas-trailing.Count, left)
}

var seeds = []string{
	"```json\n{\"a\":[1,],}\n```", `{}{"a":"\n"}`, `"{\"a\":1}"`, "{\"a\":\"\x01\"\\n}", "", "null", "\ufeff{}", "``````", `{"a":"b`, "```js{}```", `"{}"\n`,
}

func TestTextKeepsTokensOfAnything(t *testing.T) {
	t.Parallel()
	parts := []string{"{", "}", "{}", "[", "]", ",", ":", `"`, `"a"`, `"{}"`, `\"`, `\n`, "\n", "\x00", "1", "null", "```", "json", " ", "\u00a0", `"a":1`}
	rapid.Check(t, func(t *rapid.T) {
		checkText(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "parts"), ""))
	})
	for _, raw := range seeds {
		checkText(t, raw)
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkText(t, string(raw)) })
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for k := EmptyText; k <= IntegralFloat; k++ {
		require.NotContains(t, k.String(), "kind(")
		require.False(t, seen[k.String()])
		seen[k.String()] = true
	}
	assert.Equal(t, "kind(0)", Kind(0).String())
}
