package policyjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// colour is an enum as the policies have them.
type colour uint8

var colours = []string{"red", "green"}

func (c colour) MarshalText() ([]byte, error) {
	if int(c) < len(colours) {
		return []byte(colours[c]), nil
	}
	return fmt.Appendf(nil, "colour(%d)", uint8(c)), nil
}

func (c *colour) UnmarshalText(b []byte) error {
	for i, name := range colours {
		if name == string(b) {
			*c = colour(i)
			return nil
		}
	}
	return fmt.Errorf("paint: colour %q is none of %q", b, colours)
}

type inner struct {
	Wait   time.Duration
	Factor float64
}

type base struct {
	Off   bool
	Paint colour
}

// policy has everything a policy may have.
type policy struct {
	base
	MaxAttempts int
	Small       uint8
	Signed      int8
	Ratio       float32
	Delay       time.Duration
	Contact     string
	Nested      inner
	Pointer     *inner
	Retries     *int
	Classes     map[string]time.Duration
	Rules       map[string]inner
	Paints      map[string]colour
	SerializeBy []string
	Waits       []time.Duration
}

func TestNames(t *testing.T) {
	t.Parallel()
	for goName, want := range map[string]string{
		"Off": "off", "MaxAttempts": "max_attempts", "LLM": "llm", "TLSConfig": "tls_config",
		"MaxHTTPConns": "max_http_conns", "Base64Size": "base64_size", "ID": "id", "": "",
	} {
		assert.Equal(t, want, Name(goName))
	}
	assert.Equal(t, "a~1b~0", jsonpointer.Escape("a/b~"))
}

func TestWrites(t *testing.T) {
	t.Parallel()
	zero := 0
	for _, c := range []struct {
		name string
		in   any
		want string
	}{
		{"nothing", policy{}, `{}`},
		{"empty is nothing", policy{Classes: map[string]time.Duration{}, Waits: []time.Duration{}}, `{}`},
		{"embedded first", policy{base: base{Off: true, Paint: 1}, MaxAttempts: 3}, `{"off":true,"paint":"green","max_attempts":3}`},
		{"durations", policy{Waits: []time.Duration{0, 60 * time.Second, 300 * time.Second, 2 * time.Hour, 90 * time.Minute, 1500 * time.Millisecond, 7 * time.Microsecond, 5}},
			`{"waits":["0s","60s","300s","2h","5400s","1500ms","7us","5ns"]}`},
		{"sorted keys, zeros in maps", policy{Paints: map[string]colour{"b": 0, "a": 1}}, `{"paints":{"a":"green","b":"red"}}`},
		{"pointers", policy{Pointer: &inner{}, Retries: &zero}, `{"pointer":{},"retries":0}`},
		{"text as it is", policy{Contact: "a <b@c> & \"d\"\n"}, `{"contact":"a <b@c> & \"d\"\n"}`},
		{"floats", policy{Ratio: 0.2, Nested: inner{Factor: 1e300}}, `{"ratio":0.2,"nested":{"factor":1e+300}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Marshal(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(got))
			assert.True(t, json.Valid(got))
		})
	}
}

func TestWritesOnlyWhatCanBeReadBack(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]any{
		`/delay: -1s cannot be written`:                   policy{Delay: -time.Second},
		`/max_attempts: -1 cannot be written`:             policy{MaxAttempts: -1},
		`/rules/a~1b/factor: NaN cannot be written`:       policy{Rules: map[string]inner{"a/b": {Factor: math.NaN()}}},
		`/nested/factor: +Inf cannot be written`:          policy{Nested: inner{Factor: math.Inf(1)}},
		`/paint: colour(9) cannot be written`:             policy{base: base{Paint: 9}},
		`/serialize_by/1: "\xff" cannot be written`:       policy{SerializeBy: []string{"", "\xff"}},
		"/classes/\xff: \"\\xff\" cannot be written":      policy{Classes: map[string]time.Duration{"\xff": 1}},
		`a document of 2000014 bytes cannot be written`:   policy{Contact: string(make([]byte, 333333)) + "aa"},
		`policyjson: nothing to write`:                    nil,
		`policyjson: type chan int has no place`:          make(chan int),
		`policyjson: type func() has no place`:            struct{ F func() }{},
		`policyjson: type policyjson.list contains`:       list{},
		`policyjson: type **int has two ways to be null`:  struct{ P **int }{},
		`policyjson: type map[int]int has keys`:           map[int]int{},
		`policyjson: struct { a int }.a is not exported`:  struct{ a int }{},
		`has two members called tls_on`:                   struct{ TLSOn, TlsOn bool }{},
		`embeds *policyjson.inner, which is no struct`:    struct{ *inner }{},
		`policyjson: type complex128 has no place`:        []complex128{},
		`policyjson: type interface {} has no place in a`: map[string]any{},
	} {
		_, err := Marshal(in)
		assert.ErrorContains(t, err, want)
	}
}

type list struct{ Next *list }

func TestReads(t *testing.T) {
	t.Parallel()
	var got policy
	require.NoError(t, Unmarshal([]byte(`{
		"off": true, "paint": "green", "max_attempts": 3, "small": 255, "signed": 127, "ratio": 0.5, "delay": "1m30s",
		"contact": "caf\u00e9", "nested": {"wait": "1.5h"}, "pointer": {"factor": 2}, "retries": 0,
		"classes": {"media": "300s"}, "rules": {}, "serialize_by": ["id", ""], "waits": []
	}`), &got))
	zero := 0
	assert.Equal(t, policy{
		base: base{Off: true, Paint: 1}, MaxAttempts: 3, Small: 255, Signed: 127, Ratio: 0.5, Delay: 90 * time.Second,
		Contact: "café", Nested: inner{Wait: 90 * time.Minute}, Pointer: &inner{Factor: 2}, Retries: &zero,
		Classes: map[string]time.Duration{"media": 300 * time.Second}, SerializeBy: []string{"id", ""},
	}, got)

	require.NoError(t, Unmarshal([]byte(`{}`), &got))
	assert.Equal(t, policy{}, got, "a document replaces the policy, it does not add to it")
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		// The shape of the text.
		{``, `not strict JSON: empty in line 1`},
		{"{\n\n", `not strict JSON: truncated in line 3`},
		{`{"off":true}{}`, `not strict JSON: trailing in line 1`},
		{`{"nested":{"wait":"1s",}}`, `/nested: not strict JSON: trailing comma in line 1`},
		{"{\"delay\":\"1s\",\n\"delay\":\"2s\"}", `/delay: given twice, again in line 2`},
		{`{"delay":"1s","del\u0061y":"2s"}`, `/delay: given twice, again in line 1`},
		{`null`, `null, want an object`},
		{`[]`, `an array, want an object`},
		// Names; case d13.
		{`{"max_atempts":3}`, `/max_atempts: unknown member, did you mean "max_attempts"?`},
		{`{"maxAttempts":3}`, `/maxAttempts: unknown member, did you mean "max_attempts"?`},
		{`{"Off":true}`, `/Off: unknown member, did you mean "off"?`},
		{`{"nested":{"timeout":"1s"}}`, `/nested/timeout: unknown member, want one of factor, wait`},
		{`{"rules":{"a/b":{"fcator":1}}}`, `/rules/a~1b/fcator: unknown member, did you mean "factor"?`},
		{`{"zzzzzzzz":1}`, `/zzzzzzzz: unknown member`},
		{`{"base":{}}`, `/base: unknown member`},
		// Durations.
		{`{"delay":60}`, `/delay: 60, want a duration as a string, such as "60s" or "200ms": a bare number has no unit`},
		{`{"delay":"60"}`, `/delay: "60", want a duration as a string, such as "60s" or "200ms"`},
		{`{"delay":"1d"}`, `/delay: "1d", want a duration as a string`},
		{`{"delay":true}`, `/delay: true, want a duration as a string`},
		{`{"delay":"-1s"}`, `/delay: "-1s", want a duration that is not negative`},
		{`{"delay":"9999999h"}`, `/delay: "9999999h", want a duration as a string`},
		{`{"delay":"0s"}`, `/delay: "0s", want above zero; for the default leave it out`},
		{`{"waits":["1s",2]}`, `/waits/1: 2, want a duration`},
		// Numbers.
		{`{"max_attempts":-1}`, `/max_attempts: -1, want a whole number that is not negative`},
		{`{"max_attempts":0}`, `/max_attempts: 0, want above zero; for the default leave it out`},
		{`{"max_attempts":1.5}`, `/max_attempts: 1.5, want a whole number, written with digits only`},
		{`{"max_attempts":1e3}`, `/max_attempts: 1e3, want a whole number, written with digits only`},
		{`{"max_attempts":"3"}`, `/max_attempts: "3", want a whole number`},
		{`{"max_attempts":9223372036854775808}`, `/max_attempts: 9223372036854775808, want at most 9223372036854775807`},
		{`{"max_attempts":99999999999999999999}`, `/max_attempts: 99999999999999999999, want at most 9223372036854775807`},
		{`{"small":256}`, `/small: 256, want at most 255`},
		{`{"signed":128}`, `/signed: 128, want at most 127`},
		{`{"ratio":1e39}`, `/ratio: 1e39, want a number of usual size`},
		{`{"nested":{"factor":-0.5}}`, `/nested/factor: -0.5, want a number that is not negative`},
		{`{"nested":{"factor":"2"}}`, `/nested/factor: "2", want a number`},
		{`{"nested":{"factor":0}}`, `/nested/factor: 0, want above zero`},
		// Everything else.
		{`{"off":1}`, `/off: 1, want true or false`},
		{`{"off":null}`, `/off: null, want true or false`},
		{`{"paint":"blue"}`, `/paint: colour "blue" is none of ["red" "green"]`},
		{`{"paint":1}`, `/paint: 1, want a string`},
		{`{"paints":{"sky":"blue"}}`, `/paints/sky: colour "blue" is none of`},
		{`{"contact":{}}`, `/contact: an object, want a string`},
		{`{"nested":"x"}`, `/nested: "x", want an object`},
		{`{"pointer":1}`, `/pointer: 1, want an object`},
		{`{"pointer":null}`, `/pointer: null, want it left out, or a value`},
		{`{"classes":["media"]}`, `/classes: an array, want an object`},
		{`{"serialize_by":"id"}`, `/serialize_by: "id", want an array`},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			before := policy{MaxAttempts: 7}
			after := before
			err := Unmarshal([]byte(c.text), &after)
			var all Errors
			require.ErrorAs(t, err, &all)
			require.Len(t, all, 1)
			assert.Contains(t, err.Error()+"\n", c.want)
			assert.Equal(t, before, after, "an error leaves the policy alone")
		})
	}
}

func TestRefusesEverythingAtOnceInOrder(t *testing.T) {
	t.Parallel()
	err := Unmarshal([]byte(`{"rules":{"b":{"wait":1},"a":{"x":1}},"off":3,"delay":"soon","nested":{"factor":-1}}`), &policy{})
	require.EqualError(t, err, `/delay: "soon", want a duration as a string, such as "60s" or "200ms"
/nested/factor: -1, want a number that is not negative
/off: 3, want true or false
/rules/a/x: unknown member, want one of factor, wait
/rules/b/wait: 1, want a duration as a string, such as "60s" or "200ms": a bare number has no unit`)
}

func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	long, err := json.Marshal(map[string]string{"delay": string(make([]rune, 5000))})
	require.NoError(t, err)
	assert.Less(t, len(Unmarshal(long, &policy{}).Error()), 200)
}

func TestUnmarshalNeedsATarget(t *testing.T) {
	t.Parallel()
	for _, target := range []any{nil, policy{}, (*policy)(nil)} {
		assert.ErrorContains(t, Unmarshal([]byte(`{}`), target), "nothing to read into")
	}
	assert.ErrorContains(t, Unmarshal([]byte(`{}`), &struct{ C chan int }{}), "no place in a policy")
}

func TestNear(t *testing.T) {
	t.Parallel()
	known := []string{"timeout", "retry", "rate", "max_keys"}
	for name, want := range map[string]string{
		"timeuot": "timeout", "time-out": "timeout", "Retry": "retry", "retries": "", "rates": "rate",
		"maxKeys": "max_keys", "max": "", "": "", "r": "", "tiemuot": "timeout", "cache": "",
	} {
		assert.Equal(t, want, Near(name, known), name)
	}
	assert.Equal(t, "bat", Near("cat", []string{"rat", "bat"}), "of equals the first in order")
	assert.Empty(t, Suggestion("x", nil))
}

func TestReadsWhatItWrote(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawPolicy(t)
		text, err := Marshal(want)
		require.NoError(t, err)
		var got policy
		require.NoError(t, Unmarshal(text, &got), string(text))
		require.Equal(t, want, got, string(text))
	})
}

func drawPolicy(t *rapid.T) policy {
	durations := rapid.Map(rapid.Int64Range(0, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) })
	inners := rapid.Custom(func(t *rapid.T) inner {
		return inner{durations.Draw(t, "wait"), rapid.Float64Range(0, math.MaxFloat64).Draw(t, "factor")}
	})
	keys := rapid.StringN(0, 5, -1)
	p := policy{
		base:        base{rapid.Bool().Draw(t, "off"), colour(rapid.IntRange(0, 1).Draw(t, "paint"))},
		MaxAttempts: rapid.IntMin(0).Draw(t, "attempts"),
		Small:       rapid.Uint8().Draw(t, "small"),
		Signed:      rapid.Int8Min(0).Draw(t, "signed"),
		Ratio:       rapid.Float32Range(0, math.MaxFloat32).Draw(t, "ratio"),
		Delay:       durations.Draw(t, "delay"),
		Contact:     rapid.String().Draw(t, "contact"),
		Nested:      inners.Draw(t, "nested"),
		Classes:     rapid.MapOfN(keys, durations, 1, 3).Draw(t, "classes"),
		Rules:       rapid.MapOfN(keys, inners, 1, 3).Draw(t, "rules"),
		Waits:       rapid.SliceOfN(durations, 1, 3).Draw(t, "waits"),
	}
	if rapid.Bool().Draw(t, "pointers") {
		p.Pointer, p.Retries = new(inners.Draw(t, "pointer")), new(rapid.IntMin(0).Draw(t, "retries"))
	}
	return p
}

func FuzzUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"delay":"60s","rules":{"a":{"factor":2}}}`, `{"max_attempts":1e400}`, `{"retries":null,"pointer":{}}`,
		`{"paint":"blue","waits":[1,"-1s"],"off":[[[]]]}`, `{"small":-0,"ratio":-0.0}`, "\xff", `{"a`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var first, second policy
		if err := Unmarshal(text, &first); err != nil {
			var all Errors
			if !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("not a list of errors: %v", err)
			}
			return
		}
		written, err := Marshal(first)
		require.NoError(t, err)
		require.NoError(t, Unmarshal(written, &second), string(written))
		require.EqualValues(t, first, second)
	})
}
