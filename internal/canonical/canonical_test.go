package canonical

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/strictjson"
	"github.com/toolguard-go/toolguard/internal/strictjson/jsontest"
)

// wide lets canonical forms of extreme numbers be parsed again.
var wide = strictjson.Limits{MaxBytes: 1 << 30, MaxDigits: 1100, MaxExponent: 3000}

func parse(t require.TestingT, text string) *strictjson.Doc {
	doc, err := strictjson.Parse([]byte(text), wide)
	require.NoError(t, err, text)
	return &doc
}

func form(t require.TestingT, text string) string {
	return string(Append(nil, parse(t, text), nil))
}

func draw(t *rapid.T) jsontest.Pick {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
}

func TestForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{` { } `, `{}`},
		{`[ 1 , [ ] , null , true , false ]`, `[1,[],null,true,false]`},
		{`{"b":1,"a":{"d":[{"z":1,"y":2}],"c":0}}`, `{"a":{"c":0,"d":[{"y":2,"z":1}]},"b":1}`},
		{`{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		{`{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		{`"\u0000\u001F\u0008\u0009\u000a\u000C\u000d\u0022\u005c\u002f\/\u007f"`, `"\u0000\u001f\b\t\n\f\r\"\\//` + "\u007f" + `"`},
		{`"\u00e9\ud83d\ude00\u2028"`, "\"é😀\u2028\""},
		// The order of RFC 8785 section 3.2.3: by code units, so the emoji,
		// which begins with 0xD83D, stands before U+FB33.
		{`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			`{"\r":2,"1":4,"` + "\u0080" + `":6,"ö":7,"€":1,"😀":5,"` + "\ufb33" + `":3}`},
	} {
		assert.Equal(t, c.want, form(t, c.text))
	}
}

func TestNumberForm(t *testing.T) {
	t.Parallel()
	for want, spellings := range map[string][]string{
		"0":                           {"0", "-0", "0.0", "-0.00e5", "0e400"},
		"1":                           {"1", "1.0", "1e0", "10e-1", "0.1e1", "1E+00"},
		"-1":                          {"-1", "-1.0", "-1000e-3"},
		"100":                         {"100", "1e2", "1.00e2"},
		"1.5":                         {"1.5", "15e-1", "0.0150e2"},
		"-123.456":                    {"-123.456", "-123456e-3"},
		"0.1":                         {"0.1", "1e-1", "0.10"},
		"0.000001":                    {"0.000001", "1e-6"},
		"1e-7":                        {"0.0000001", "1e-7"},
		"1.2e-7":                      {"0.00000012", "12e-8"},
		"100000000000000000000":       {"1e20", "100000000000000000000"},
		"1e+21":                       {"1e21", "1000000000000000000000"},
		"-1.2e+22":                    {"-1.2e22", "-12000000000000000000000"},
		"1e+400":                      {"1e400", "0.01e402"},
		"9007199254740992":            {"9007199254740992"},
		"9007199254740993":            {"9007199254740993", "9007199254740993.0"}, // case b10
		"18446744071636006420":        {"18446744071636006420"},                   // case b12
		"1.23456789012345678901e+21":  {"1234567890123456789010"},
		"0.1000000000000000000000001": {"0.1000000000000000000000001"},
	} {
		for _, spelling := range spellings {
			assert.Equal(t, want, form(t, spelling), spelling)
		}
	}
}

func TestAppendInteger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw, want string
		ok        bool
	}{
		{"5.0", "5", true}, {"1e2", "100", true}, {"-0.0", "0", true}, {"-12.50e1", "-125", true},
		{"5.5", "", false}, {"1e-1", "", false}, {"-0.1", "", false},
		{"1e9", "1000000000", true}, {"1e10", "", false}, {"12345678901", "", false},
	} {
		got, ok := AppendInteger([]byte("x"), []byte(c.raw), 10)
		assert.Equal(t, c.ok, ok, c.raw)
		assert.Equal(t, "x"+c.want, string(got), c.raw)
	}
}

// For what float64 can hold, the layout is the one of RFC 8785.
func TestNumbersAgreeWithRFC8785(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		switch rapid.IntRange(0, 2).Draw(t, "size") {
		case 0:
			f = math.Ldexp(rapid.Float64Range(-1, 1).Draw(t, "fraction"), rapid.IntRange(-1000, 1000).Draw(t, "exponent"))
		case 1:
			f = float64(rapid.IntRange(-1e6, 1e6).Draw(t, "thousandths")) / 1000
		}
		require.Equal(t, ecmascript(f), form(t, fmt.Sprintf("%g", f)))
	})
}

// ecmascript is encoding/json's layout, which follows ECMAScript but for -0.
func ecmascript(f float64) string {
	if f == 0 {
		return "0"
	}
	text, _ := json.Marshal(f)
	return string(text)
}

// White space, order of members, escapes and the spelling of numbers do not
// matter, and the form is its own form.
func TestFormDependsOnMeaningOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := draw(t)
		value := jsontest.Value(pick, 4)
		speller := jsontest.Speller{Pick: pick, Number: respell(pick)}
		first := form(t, speller.Spell(value))
		require.Equal(t, first, form(t, speller.Spell(value)))
		require.Equal(t, first, form(t, first))
	})
}

// respell writes the same number with another exponent or more zeros.
func respell(pick jsontest.Pick) func(json.Number) string {
	return func(n json.Number) string {
		mantissa, e, _ := strings.Cut(strings.ToLower(n.String()), "e")
		exponent, _ := strconv.Atoi(e)
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		mantissa += strings.Repeat("0", pick(3))
		whole, fraction, _ := strings.Cut(mantissa, ".")
		if strings.Trim(whole, "-0") != "" && pick(2) == 0 {
			mantissa, exponent = whole+fraction, exponent-len(fraction)
		}
		return fmt.Sprintf([]string{"%se%d", "%sE%+04d"}[pick(2)], mantissa, exponent)
	}
}

// Two numbers have one form exactly if they are equal.
func TestNumbersNeverCollide(t *testing.T) {
	t.Parallel()
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a := number.Draw(t, "a")
		b := number.Draw(t, "b")
		if rapid.Bool().Draw(t, "near") {
			b = a[:len(a)-1] + string('0'+byte(rapid.IntRange(0, 9).Draw(t, "digit")))
		}
		x, ok := new(big.Rat).SetString(a)
		require.True(t, ok)
		y, ok := new(big.Rat).SetString(b)
		require.True(t, ok)
		require.Equal(t, x.Cmp(y) == 0, form(t, a) == form(t, b), "%s and %s", a, b)
		again, ok := new(big.Rat).SetString(form(t, a))
		require.True(t, ok)
		require.Zero(t, x.Cmp(again), a)
	})
}

// Different values have different forms.
func TestValuesNeverCollide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := draw(t)
		speller := jsontest.Speller{Pick: pick}
		a, b := jsontest.Value(pick, 2), jsontest.Value(pick, 2)
		same := form(t, speller.Spell(a)) == form(t, speller.Spell(b))
		require.Equal(t, fmt.Sprintf("%#v", exact(a)) == fmt.Sprintf("%#v", exact(b)), same)
	})
}

// exact replaces numbers by their exact value, so that equal means equal.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return "number " + r.String()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = exact(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = exact(v[k])
		}
		return out
	case string:
		return "string " + v
	}
	return value
}

func TestOrderIsByCodeUnits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := draw(t)
		doc := parse(t, jsontest.Speller{Pick: pick}.Spell(jsontest.Object(pick, 1)))
		sorted := parse(t, string(Append(nil, doc, nil)))
		var names [][]uint16
		for c := int32(1); c < sorted.Nodes[0].Next; c = sorted.Nodes[c].Next {
			names = append(names, utf16.Encode([]rune(sorted.Key(c))))
		}
		require.True(t, slices.IsSortedFunc(names, slices.Compare))
	})
}

func TestOmitTouchesTheTopLevelOnly(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"\u006bey":1,"a":{"key":2},"z":[{"key":3}]}`)
	omit := func(name string) bool { return name == "key" }
	assert.Equal(t, `{"a":{"key":2},"z":[{"key":3}]}`, string(Append(nil, doc, omit)))
	assert.Equal(t, `{}`, string(Append(nil, doc, func(string) bool { return true })))
	assert.Equal(t, `[{"key":1}]`, string(Append(nil, parse(t, `[{"key":1}]`), omit)))
}

func TestAppendNode(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"x":1,"a":{"c":2.0,"b":[]}}`)
	assert.Equal(t, `{"b":[],"c":2}`, string(AppendNode(nil, doc, 2)))
	assert.Equal(t, "2", string(AppendNode(nil, doc, 3)))
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		text := string(AppendString(nil, s))
		require.Equal(t, s, parse(t, text).Str(0))
		require.Equal(t, text, form(t, text))
	})
}

func TestAppendKeepsDst(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `pre:[-0.5,0.001,"é"]`, string(Append([]byte("pre:"), parse(t, `[-5e-1,1e-3,"\u00e9"]`), nil)))
}

const small = `{"city":"Berlin","days":3,"units":"metric","tags":["a","b"],"ok":true}   `

func TestNoAllocations(t *testing.T) {
	dst := make([]byte, 0, 1024)
	for _, text := range []string{`{}`, small, `{"\u0061":"x\n","n":[1.50,1e-3,1e30,-0]}`} {
		doc := parse(t, text)
		assert.Zero(t, testing.AllocsPerRun(1000, func() { dst = Append(dst[:0], doc, nil) }), text)
	}
}

func FuzzAppend(f *testing.F) {
	for _, seed := range []string{small, `{"b":1.50e3,"a":"\u00e9\n","\ue000":0,"😀":1}`, `[-0.0,1e400,9007199254740993]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, err := strictjson.Parse(text, strictjson.Limits{})
		if err != nil {
			return
		}
		first := Append(nil, &doc, nil)
		again := parse(t, string(first))
		require.Equal(t, string(first), string(Append(nil, again, nil)))
		require.Equal(t, exact(doc.Value(0)), exact(again.Value(0)))
		require.True(t, json.Valid(first))
		require.False(t, bytes.ContainsAny(first, "\n\t\r"))
	})
}

func BenchmarkAppend(b *testing.B) {
	for name, text := range map[string]string{"73B": small, "20KB": `[` + strings.Repeat(small+",", 270) + `1]`} {
		b.Run(name, func(b *testing.B) {
			doc, dst := parse(b, text), make([]byte, 0, len(text))
			b.ReportAllocs()
			for b.Loop() {
				dst = Append(dst[:0], doc, nil)
			}
		})
	}
}
