package normalize

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/strictjson"
	"github.com/toolguard-go/toolguard/internal/strictjson/jsontest"
)

func parse(t require.TestingT, text string) *strictjson.Doc {
	doc, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	require.NoError(t, err, text)
	return &doc
}

func always(e Expectation) func(int32) Expectation {
	return func(int32) Expectation { return e }
}

func only(types TypeSet) Expectation { return Expectation{Types: types, Known: true} }

func everyNode(doc *strictjson.Doc) (nodes []int32) {
	for i := range doc.Nodes {
		nodes = append(nodes, int32(i))
	}
	return nodes
}

// coerce runs Values on the one value of {"v": value}.
func coerce(t require.TestingT, value string, e Expectation) (string, []Change) {
	text, changes := Values(parse(t, `{"v":`+value+`}`), always(e), []int32{1})
	if text == nil {
		return value, changes
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}"), changes
}

func TestCoercions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		types TypeSet
		want  string
		kind  Kind
	}{
		{`"5"`, TInteger, `5`, NumberFromString}, // case a16
		{`"-12"`, TInteger | TNull, `-12`, NumberFromString},
		{`"5.0"`, TInteger, `5`, NumberFromString},
		{`"1e2"`, TInteger, `100`, NumberFromString},
		{`"5.50"`, TNumber, `5.50`, NumberFromString},
		{`"5.0"`, TNumber | TInteger, `5.0`, NumberFromString},
		{`"9007199254740993"`, TInteger, `9007199254740993`, NumberFromString}, // case b10
		{`"\u0035"`, TInteger | TBoolean, `5`, NumberFromString},
		{`"true"`, TBoolean, `true`, BooleanFromString},
		{`"false"`, TBoolean | TInteger, `false`, BooleanFromString}, // case b05
		{`"[\"a\", 1]"`, TArray, `["a", 1]`, ArrayFromString},        // case b14
		{`" [1]\n"`, TArray | TObject, `[1]`, ArrayFromString},
		{`"{\"a\":{}}"`, TObject, `{"a":{}}`, ObjectFromString},
	} {
		got, changes := coerce(t, c.value, only(c.types))
		assert.Equal(t, c.want, got, c.value)
		require.Len(t, changes, 1, c.value)
		assert.Equal(t, Change{Kind: c.kind, Path: "/v", Offset: 5, From: c.value, To: c.want, Count: 1}, changes[0])
	}
}

func TestWhatIsNotCoerced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		types TypeSet
	}{
		{`"no"`, TBoolean}, {`"yes"`, TBoolean}, {`"0"`, TBoolean}, {`"1"`, TBoolean}, {`"True"`, TBoolean}, {`" true"`, TBoolean}, {`1`, TBoolean}, // case b05
		{`"yes please"`, TBoolean}, {`""`, AnyType &^ TString}, // case b13
		{`"true"`, TBoolean | TString}, {`"2"`, TInteger | TString}, {`"[1]"`, TArray | TString}, {`"2"`, AnyType}, // case b06
		{`"[draft] notes"`, TArray}, {`"a,b"`, TArray}, {`"{\"a\":1}"`, TArray}, {`"[1,]"`, TArray}, {`"[1] x"`, TArray}, {`"{\"a\":1,\"a\":2}"`, TObject}, // case b14
		{`" 5"`, TInteger}, {`"5 "`, TNumber}, {`"5.5"`, TInteger}, {`"1,000"`, TNumber}, {`"0x10"`, TInteger}, {`"05"`, TInteger}, {`"+5"`, TInteger},
		{`"NaN"`, TNumber}, {`"1e999"`, TNumber}, {`"5"`, TBoolean}, {`"5"`, 0}, {`"null"`, TNull},
		{`5`, TString}, {`true`, TString}, {`5.5`, TInteger}, {`[5]`, TInteger}, {`"5"`, TArray}, {`{}`, TArray},
	} {
		got, changes := coerce(t, c.value, only(c.types))
		assert.Equal(t, c.value, got)
		assert.Nil(t, changes, c.value)
	}
	got, _ := coerce(t, `"5"`, Expectation{Types: TInteger})
	assert.Equal(t, `"5"`, got, "an unknown schema says nothing")
}

func TestOnlyFailingNodesAreTouched(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{ "a" : "1",`+"\n"+` "b":"2" , "c":["3", 4.0]}`)
	text, changes := Values(doc, always(only(TInteger)), []int32{4, 1, 4})
	assert.Equal(t, `{ "a" : 1,`+"\n"+` "b":"2" , "c":[3, 4.0]}`, string(text))
	assert.Equal(t, "/a", changes[0].Path)
	assert.Equal(t, "/c/0", changes[1].Path)
	text, changes = Values(doc, always(only(TInteger)), nil)
	assert.Nil(t, text)
	assert.Nil(t, changes)
}

func TestNullMembersAreRemoved(t *testing.T) { // case b07
	t.Parallel()
	for text, want := range map[string]string{
		`{"url":"u", "css":null}`:           `{"url":"u"}`,
		`{"css":null, "url":"u"}`:           `{"url":"u"}`,
		`{"a":1,"css":null,"b":2}`:          `{"a":1,"b":2}`,
		`{ "css" : null }`:                  `{  }`,
		`{"css":null,"x":null}`:             `{}`,
		`{"a":1, "css":null , "x":null }`:   `{"a":1 }`,
		`{"css":null,"a":1,"x":null,"y":2}`: `{"a":1,"y":2}`,
		`{"css":null,"a":1,"x":null}`:       `{"a":1}`,
		`{"a":{"css":null},"x":null}`:       `{"a":{}}`,
		`{"a":[{"css":null,"b":[null]}]}`:   `{"a":[{"b":[null]}]}`,
	} {
		doc := parse(t, text)
		got, changes := Values(doc, always(Expectation{Types: TString, Optional: true, Known: true}), everyNode(doc))
		assert.Equal(t, want, string(got))
		assert.Len(t, changes, strings.Count(text, "null")-strings.Count(want, "null"))
		assert.Equal(t, NullRemoved, changes[0].Kind)
		assert.Contains(t, changes[0].From, `null`)
		assert.Empty(t, changes[0].To)
		parse(t, string(got))
	}
}

func TestNullIsKept(t *testing.T) {
	t.Parallel()
	for _, e := range []Expectation{
		{Types: TString, Known: true},                         // required
		{Types: TString | TNull, Optional: true, Known: true}, // accepted
		{Types: TString, Optional: true},                      // unknown
	} {
		got, changes := coerce(t, "null", e)
		assert.Equal(t, "null", got)
		assert.Nil(t, changes)
	}
}

func TestEnumIsTrimmed(t *testing.T) {
	t.Parallel()
	enum := func(values ...string) Expectation { return Expectation{Types: TString, Enum: values, Known: true} }
	for _, c := range []struct {
		value string
		e     Expectation
		want  string
	}{
		{`" celsius\n"`, enum("celsius", "kelvin"), `"celsius"`},
		{`"\u00a0\u0061\"\t"`, enum(`a"`), `"a\""`},
		{`" Celsius"`, enum("celsius"), `" Celsius"`},
		{`"cel sius"`, enum("celsius"), `"cel sius"`},
		{`"  a"`, enum("a", " a"), `"  a"`},
		{`"a"`, enum(" a"), `"a"`},
		{`" a "`, enum(" a"), `" a "`},
		{`" a"`, enum(), `" a"`},
		{`" a"`, Expectation{Types: TString, Enum: []string{"a"}}, `" a"`},
		{`" 5"`, Expectation{Types: TInteger, Enum: []string{"5"}, Known: true}, `" 5"`},
	} {
		got, changes := coerce(t, c.value, c.e)
		assert.Equal(t, c.want, got, c.value)
		assert.Equal(t, c.want != c.value, len(changes) == 1)
	}
}

func TestIntegralFloats(t *testing.T) { // case b16
	t.Parallel()
	doc := parse(t, `{"n": 5.0, "m": [1e2, 5.5, -0.0, 7, "5.0", 1E+2]}`)
	text, changes := IntegralFloats(doc, always(only(TInteger|TNull)))
	assert.Equal(t, `{"n": 5, "m": [100, 5.5, 0, 7, "5.0", 100]}`, string(text))
	assert.Equal(t, Change{Kind: IntegralFloat, Path: "/m/0", Offset: 17, From: "1e2", To: "100", Count: 1}, changes[1])
	for _, e := range []Expectation{only(TNumber), only(TInteger | TNumber), only(TString), {Types: TInteger}, only(AnyType)} {
		text, changes = IntegralFloats(doc, always(e))
		assert.Nil(t, text)
		assert.Nil(t, changes)
	}
	unasked := func(int32) Expectation { panic("asked about a plain integer") }
	text, _ = IntegralFloats(parse(t, `{"n":5,"s":"1.5"}`), unasked)
	assert.Nil(t, text)
	text, _ = IntegralFloats(parse(t, `[1e400]`), always(only(TInteger)))
	assert.Equal(t, "[1"+strings.Repeat("0", 400)+"]", string(text))
	long := parse(t, `[`+strings.Repeat("7", 900)+`e400]`)
	text, _ = IntegralFloats(long, always(only(TInteger)))
	assert.Nil(t, text, "digits the next parse would refuse")
}

func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"`+strings.Repeat("k", 5000)+`":[`+strings.Repeat(`"5",`, 100_000)+`"`+strings.Repeat("5", 900)+`"]}`)
	text, changes := Values(doc, always(only(TInteger)), everyNode(doc))
	assert.Equal(t, 100_000, strings.Count(string(text), "5,"))
	require.Len(t, changes, maxListed)
	assert.Equal(t, 1, changes[0].Count)
	assert.Equal(t, 100_001-maxListed+1, changes[maxListed-1].Count)
	for _, c := range changes {
		assert.LessOrEqual(t, len(c.Path), MaxPath)
		assert.LessOrEqual(t, len(c.From), MaxPreview)
	}
}

// Whatever the schema says, the result parses, and each value either is what
// it was or is what its string spelled.
func TestValuesKeepMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		value := jsontest.Object(pick, 2)
		value["s"] = []string{"5", "2.0", "true", "[1]", `{"a":null}`, " a "}[pick(6)]
		doc := parse(t, jsontest.Speller{Pick: pick}.Spell(value))
		expectations := map[int32]Expectation{}
		for i := range doc.Nodes {
			expectations[int32(i)] = Expectation{Types: TypeSet(pick(128)), Enum: []string{"a", "b"}[:pick(3)], Optional: pick(2) == 0, Known: pick(4) > 0}
		}
		text, changes := Values(doc, func(i int32) Expectation { return expectations[i] }, everyNode(doc))
		require.Equal(t, text == nil, changes == nil)
		if text == nil {
			return
		}
		again := parse(t, string(text))
		require.Equal(t, model(doc, 0, expectations), again.Value(0), "%s", text)
	})
}

// model coerces the decoded tree, the slow and obvious way.
func model(doc *strictjson.Doc, i int32, expect map[int32]Expectation) any {
	n, e := doc.Nodes[i], expect[i]
	switch n.Kind {
	case strictjson.Array:
		values := []any{}
		for c := i + 1; c < n.Next; c = doc.Nodes[c].Next {
			values = append(values, model(doc, c, expect))
		}
		return values
	case strictjson.Object:
		members := map[string]any{}
		for c := i + 1; c < n.Next; c = doc.Nodes[c].Next {
			e := expect[c]
			if doc.Nodes[c].Kind != strictjson.Null || !e.Known || !e.Optional || e.Types&TNull != 0 {
				members[doc.Key(c)] = model(doc, c, expect)
			}
		}
		return members
	case strictjson.String:
		if e.Known {
			return modelString(doc.Str(i), e)
		}
	}
	return doc.Value(i)
}

func modelString(s string, e Expectation) any {
	if e.Types&TString != 0 {
		for _, candidate := range e.Enum {
			if strings.TrimSpace(s) == candidate {
				return candidate
			}
		}
		return s
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(s))
	decoder.UseNumber()
	if !json.Valid([]byte(s)) || decoder.Decode(&value) != nil {
		return s
	}
	if strings.TrimSpace(s) != s && !strings.ContainsAny(s, "[{") {
		return s
	}
	switch v := value.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(s, 64)
		switch {
		case e.Types&TNumber != 0:
			return v
		case e.Types&TInteger != 0 && f == float64(int64(f)):
			return json.Number(fmt.Sprint(int64(f)))
		}
	case bool:
		if e.Types&TBoolean != 0 {
			return v
		}
	case []any:
		if e.Types&TArray != 0 {
			return v
		}
	case map[string]any:
		if e.Types&TObject != 0 {
			return v
		}
	}
	return s
}

func TestNothingToDoIsFree(t *testing.T) {
	doc := parse(t, `{"city":"Berlin","days":3,"tags":["a","b"],"ok":true}`)
	expect := always(only(TInteger))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = IntegralFloats(doc, expect) }))
}

// Asking for every number of a very large document takes quadratic time.
func TestIntegralFloatsAsksABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	doc, err := strictjson.Parse([]byte(`{"a":[`+strings.Repeat("1.0,", 100_000)+`0.5]}`), strictjson.Limits{})
	require.NoError(t, err)
	asked := 0
	text, changes := IntegralFloats(&doc, func(int32) Expectation {
		asked++
		return Expectation{Types: TInteger, Known: true}
	})
	require.NotEmpty(t, changes)
	require.Less(t, asked, 5_000)
	require.Greater(t, asked, 1_000)
	require.True(t, strings.HasPrefix(string(text), `{"a":[1,1,1,`))
}
