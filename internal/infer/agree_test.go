package infer_test

import (
	"encoding/json"
	"log/slog"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/infer"
	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// all has a field of every kind that a schema is inferred for.
type all struct {
	base
	*Extra
	Bool     bool            `json:"bool"`
	Int      int             `json:"int"`
	Small    int8            `json:"small,omitempty"`
	Unsigned uint16          `json:"unsigned"`
	Float    float64         `json:"float"`
	Text     string          `json:"text"`
	Quoted   int             `json:"quoted,string"`
	QuotedU  *uint           `json:"quoted_u,string"`
	QuotedF  float64         `json:"quoted_f,string"`
	QuotedB  bool            `json:"quoted_b,string"`
	QuotedS  string          `json:"quoted_s,string"`
	Number   json.Number     `json:"number"`
	Bytes    []byte          `json:"bytes"`
	Raw      json.RawMessage `json:"raw,omitzero"`
	Any      any             `json:"any"`
	Time     time.Time       `json:"time"`
	MaybeT   *time.Time      `json:"maybe_time"`
	Wait     time.Duration   `json:"wait"`
	Big      *big.Int        `json:"big"`
	Rat      *big.Rat        `json:"rat"`
	Addr     *netip.Addr     `json:"addr"`
	Log      slog.Level      `json:"log"`
	ID       uuid            `json:"uuid"`
	Level    level           `json:"level"`
	List     []string        `json:"list"`
	Pair     [2]int          `json:"pair"`
	Map      map[string]int  `json:"map"`
	ByNumber map[int]bool    `json:"by_number,omitempty"`
	Tree     *tree           `json:"tree"`
	Chain    chain[int]      `json:"chain"`
	Inner    struct{ X int } `json:"inner"`
}

func anyTree(depth int) *rapid.Generator[tree] {
	return rapid.Custom(func(t *rapid.T) tree {
		n := tree{Name: rapid.String().Draw(t, "name")}
		if depth > 0 {
			n.Kids = rapid.SliceOfN(anyTree(depth-1), 0, 2).Draw(t, "kids")
		}
		return n
	})
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T], name string) *T {
	return rapid.Ptr(g, true).Draw(t, name)
}

func draw[T any](t *rapid.T, name string) T { return rapid.Make[T]().Draw(t, name) }

func anyTime() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.Int64Range(0, 4e9), func(s int64) time.Time { return time.Unix(s, s%1e9).UTC() })
}

func anyAll(t *rapid.T) all {
	v := all{
		Bool: draw[bool](t, "bool"), Int: draw[int](t, "int"), Small: draw[int8](t, "small"), Unsigned: draw[uint16](t, "unsigned"),
		Float: draw[float64](t, "float"), Text: draw[string](t, "text"), Quoted: draw[int](t, "quoted"), QuotedU: maybe(t, rapid.Uint(), "u"),
		QuotedF: draw[float64](t, "f"), QuotedB: draw[bool](t, "b"), QuotedS: draw[string](t, "s"), Number: json.Number("1.5e3"),
		Bytes: draw[[]byte](t, "bytes"), Any: draw[map[string]string](t, "any"), Time: anyTime().Draw(t, "time"),
		MaybeT: maybe(t, anyTime(), "maybe"), Wait: draw[time.Duration](t, "wait"), Log: slog.Level(rapid.IntRange(-9, 9).Draw(t, "log")),
		ID: draw[uuid](t, "uuid"), Level: level(rapid.IntRange(0, 9).Draw(t, "level")), List: draw[[]string](t, "list"),
		Pair: draw[[2]int](t, "pair"), Map: draw[map[string]int](t, "map"), ByNumber: draw[map[int]bool](t, "by"),
		Tree: maybe(t, anyTree(2), "tree"), Chain: chain[int]{Value: 1, Next: &chain[int]{Value: 2}},
	}
	if draw[bool](t, "more") {
		addr := netip.AddrFrom4(draw[[4]byte](t, "addr"))
		v.Addr, v.Extra, v.Big, v.Rat = &addr, &Extra{}, big.NewInt(draw[int64](t, "big")), big.NewRat(draw[int64](t, "rat"), 7)
		v.Raw = json.RawMessage(`{"x":[null]}`)
	}
	return v
}

func compiled(t require.TestingT, typ reflect.Type) *schema.Schema {
	text, err := infer.Schema(typ)
	require.NoError(t, err)
	s, err := schema.Compile(text, schema.Strict)
	require.NoError(t, err)
	return s
}

func violations(t require.TestingT, s *schema.Schema, text []byte) []schema.Violation {
	doc, err := strictjson.Parse(slices.Clone(text), strictjson.Limits{})
	require.NoError(t, err, "%s", text)
	found, _ := s.Validate(&doc)
	return found
}

// What encoding/json writes, the schema admits.
func TestSchemaAdmitsWhatIsWritten(t *testing.T) {
	t.Parallel()
	s := compiled(t, reflect.TypeFor[all]())
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(anyAll(t))
		require.NoError(t, err)
		require.Empty(t, violations(t, s, text), "%s", text)
		require.NoError(t, json.Unmarshal(text, new(all)), "%s", text)
	})
}

// odds are values that fit into some fields and not into others.
var odds = []string{
	`null`, `true`, `0`, `-1`, `1.5`, `255`, `70000`, `""`, `"x"`, `"5"`, `"-5"`, `"05"`, `"1.5"`, `"1/2"`, `"1/0"`, `"true"`, `"\"q\""`, `"\"q"`,
	`"aGk="`, `"aGk"`, `"2026-01-31T12:00:00Z"`, `"2026-01-31"`, `"192.0.2.1"`, `"::1"`, `"INFO"`, `"INFO+2"`, `"L1"`, `"red"`,
	`"00000000-0000-0000-0000-000000000000"`, `{}`, `[]`, `[1]`, `[1,2]`, `["x"]`, `{"a":1}`, `{"5":true}`, `{"name":"x"}`,
	`{"name":"x","kids":[{"name":"y"}]}`, `{"value":1,"next":null}`, `{"X":1}`,
}

// What the schema admits, encoding/json reads. Only of a type with an
// UnmarshalText of its own nobody knows which texts it takes.
func TestWhatTheSchemaAdmitsIsRead(t *testing.T) {
	t.Parallel()
	type known struct {
		all
		Level int `json:"level,omitempty"`
	}
	text, err := json.Marshal(all{Number: "1", Raw: json.RawMessage(`1`), Small: 1, ByNumber: map[int]bool{1: true}, Extra: &Extra{}})
	require.NoError(t, err)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &members))
	delete(members, "level")
	s := compiled(t, reflect.TypeFor[known]())
	for name, usual := range members {
		admitted := 0
		for _, odd := range odds {
			members[name] = json.RawMessage(odd)
			text, err := json.Marshal(members)
			require.NoError(t, err)
			if len(violations(t, s, text)) == 0 {
				admitted++
				require.NoError(t, json.Unmarshal(text, new(all)), "%s: %s", name, odd)
			}
		}
		members[name] = usual
		require.NotZero(t, admitted, "nothing fits into %s", name)
	}
}
