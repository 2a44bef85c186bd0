package clean

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, raw, want string
		notes           []Note
	}{
		{"clean", `{"a": [1.50, "x\n\"y\"", null],  "é":"世"}`, `{"a": [1.50, "x\n\"y\"", null],  "é":"世"}`, nil},
		{"returns between tokens", "{\r\n\t\"a\":1\r\n}", "{\r\n\t\"a\":1\r\n}", nil},
		{"escapes that hide nothing", `["\u00e9 \/ \u003c"]`, `["\u00e9 \/ \u003c"]`, nil},
		{"hidden escape sequence", `{"a":"\u001b[31mred\u001b[0m","b":1e5}`, `{"a":"red","b":1e5}`, []Note{{Escapes, 2, 9, ""}}},
		{"hidden nul and progress", `["a\u0000b","1%\r2%"]`, `["ab","2%"]`, []Note{{Controls, 1, 1, ""}, {Overwritten, 1, 2, ""}}},
		{"direction, raw and escaped", "[\"a\u202eb\",\"c\\u202Ed\"]", `["ab","cd"]`, []Note{{Invisible, 2, 6, ""}}},
		{"names", `{"a\u200b":1}`, `{"a":1}`, []Note{{Invisible, 1, 3, ""}}},
		{"invalid utf-8", "[\"a\xff\\u0041\xfeb\"]", "[\"a\uFFFDA\uFFFDb\"]", []Note{{Invalid, 2, 2, ""}}},
		{"half a character", `["x\ud83dy","\ud83d\ude00"]`, "[\"x\uFFFDy\",\"\\ud83d\\ude00\"]", []Note{{Invalid, 1, 6, ""}}},
		{"a replacement character is not half of one", `["\ufffd"]`, `["\ufffd"]`, nil},
		{"html stays", `["<b>\u0000&"]`, `["<b>&"]`, []Note{{Controls, 1, 1, ""}}},
		// case k05
		{"base64", `{"data":"` + png64 + `","note":"ok"}`, `{"data":"[base64 image/png 5 kB omitted]","note":"ok"}`,
			[]Note{{Encoded, 1, len(png64), "image/png"}}},
		{"base64 with escaped slashes", `["` + strings.ReplaceAll(png64, "/", `\/`) + `"]`, `["[base64 image/png 5 kB omitted]"]`,
			[]Note{{Encoded, 1, len(png64), "image/png"}}},
		{"base64, wrapped", `["` + strings.ReplaceAll(wrap(png64, 76), "\n", `\n`) + `"]`, `["[base64 image/png 5 kB omitted]"]`,
			[]Note{{Encoded, 1, len(wrap(png64, 76)), "image/png"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, notes, ok := JSON([]byte(c.raw), Options{})
			require.True(t, ok)
			assert.Equal(t, c.want, string(got))
			assert.Equal(t, c.notes, notes)
			checkJSON(t, c.raw, Options{})
		})
	}
}

func TestNotJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "{", "nope", `{"a":1} x`, "\ufeff{}", "[\"a\x00\"]", `["\`} {
		out, notes, ok := JSON([]byte(raw), Options{})
		assert.False(t, ok, raw)
		assert.Nil(t, out)
		assert.Nil(t, notes)
	}
}

func TestLongJSONBecomesText(t *testing.T) {
	t.Parallel()
	raw := `{"rows":[` + strings.Repeat("{\"name\":\"widget\"},\r\n", 500) + `{}]}`
	out, notes, ok := JSON([]byte(raw), Options{MaxBytes: 1000})
	require.True(t, ok)
	assert.True(t, Has(notes, Cut))
	assert.False(t, json.Valid(out))
	assert.LessOrEqual(t, len(out), 1000)
	assert.NotContains(t, string(out), "\r")
	again, more := Text(string(out), Options{MaxBytes: 1000})
	assert.Equal(t, string(out), again)
	assert.Empty(t, more)
}

func TestCleanJSONIsReturnedAsItIs(t *testing.T) {
	raw := []byte(`{"id":42,"text":"line one\nline \"two\"","tags":["a","é"]}`)
	out, _, _ := JSON(raw, Options{})
	assert.Same(t, &raw[0], &out[0])
	assert.Zero(t, testing.AllocsPerRun(1000, func() { JSON(raw, Options{}) }))
}

func checkJSON(t require.TestingT, raw string, opts Options) {
	before := raw
	out, notes, ok := JSON([]byte(raw), opts)
	require.Equal(t, before, raw)
	require.Equal(t, json.Valid([]byte(raw)), ok)
	if !ok {
		return
	}
	require.True(t, utf8.Valid(out))
	require.LessOrEqual(t, len(out), opts.maxBytes())
	if Has(notes, Cut) {
		return
	}
	require.True(t, json.Valid(out), "%q", out)
	again, more, _ := JSON(out, opts)
	require.Equal(t, string(out), string(again), "not stable")
	require.Empty(t, more)
	checkStrings(t, out)
}

// checkStrings checks what a reader of the JSON gets to see.
func checkStrings(t require.TestingT, out []byte) {
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		token, err := dec.Token()
		if err != nil {
			return
		}
		if s, ok := token.(string); ok {
			clean, notes := Text(s, Options{MaxBytes: len(s)})
			require.Equal(t, s, clean)
			require.Empty(t, notes)
		}
	}
}

func TestJSONProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value, err := json.Marshal(map[string]any{drawText(t): []string{drawText(t)}, "n": 1})
		require.NoError(t, err)
		checkJSON(t, string(value), Options{MaxBytes: rapid.IntRange(0, 8000).Draw(t, "max")})
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":"\u001b[31m"}`, "[\"\xff\\ud800\"]", `"\u202e\n"`, "{\"\u200b\":[1,\"\\b\"]}\r\n"} {
		f.Add(s, 0)
	}
	f.Fuzz(func(t *testing.T, raw string, limit int) { checkJSON(t, raw, Options{MaxBytes: limit}) })
}

func BenchmarkJSON(b *testing.B) {
	raw := []byte(`[` + strings.Repeat(`{"id":42,"name":"Widget","ok":true},`, 1700) + `1]`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		JSON(raw, Options{})
	}
}
