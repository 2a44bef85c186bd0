package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// paint reads itself from text; no value of it is known.
type paint int

func (p *paint) UnmarshalText(text []byte) error {
	if string(text) != "red" {
		return fmt.Errorf("no such colour %q", text)
	}
	*p = 1
	return nil
}

// shy panics when it is read.
type shy int

func (s *shy) UnmarshalText([]byte) error { panic("not me") }

type branch struct {
	Name string   `json:"name"`
	Kids []branch `json:"kids,omitempty"`
}

func echoes[In any](info toolguard.Info) *toolguard.Typed[In] {
	info.Name = "echo"
	return toolguard.Func(info, func(_ context.Context, in In) (string, error) { return fmt.Sprintf("%+v", in), nil })
}

func given(schema string) toolguard.Info { return toolguard.Info{Schema: json.RawMessage(schema)} }

// A tool made of any of these types can be called, with its own example too.
func TestInputTypes(t *testing.T) {
	t.Parallel()
	for args, tool := range map[string]toolguard.Tool{
		`{"V":{"a":[1]}}`: echoes[struct{ V json.RawMessage }](toolguard.Info{}),
		`{"V":"5"}`: echoes[struct {
			V int `json:",string"`
		}](toolguard.Info{}),
		`{"V":"2026-01-31T12:00:00Z"}`:         echoes[struct{ V time.Time }](toolguard.Info{}),
		`{"V":5.25}`:                           echoes[struct{ V json.Number }](toolguard.Info{}),
		`{"V":"aGk="}`:                         echoes[struct{ V []byte }](toolguard.Info{}),
		`{"V":5000000000}`:                     echoes[struct{ V time.Duration }](toolguard.Info{}),
		`{"V":123456789012345678901234567890}`: echoes[struct{ V *big.Int }](toolguard.Info{}),
		`{"V":"192.0.2.1"}`:                    echoes[struct{ V netip.Addr }](toolguard.Info{}),
		`{"V":null}`:                           echoes[struct{ V *url.URL }](toolguard.Info{}),
		`{"name":"a","kids":[{"name":"b"}]}`:   echoes[branch](toolguard.Info{}),
		`{"x":1,"y":[]}`:                       echoes[map[string]any](toolguard.Info{}),
		`{"a":1,"A":2}`: echoes[struct {
			Lower int `json:"a"`
			Upper int `json:"A"`
		}](toolguard.Info{}),
		`{"z":{}}`:  echoes[json.RawMessage](toolguard.Info{}),
		`{"V":"x"}`: echoes[struct{ V any }](toolguard.Info{}),
		`{"c":"red"}`: echoes[struct {
			C paint `json:"c"`
		}](given(`{"properties":{"c":{"enum":["red","blue"]}},"required":["c"],"additionalProperties":false}`)),
	} {
		g := guardOf(t, tool, nil)
		env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(args)})
		assert.True(t, env.OK, "%s: %s", args, env.ForModel())
		missing := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"no such":1}`)})
		if !missing.OK {
			require.NotNil(t, missing.Error.Example, args)
			assert.True(t, g.Do(t.Context(), toolguard.Call{Args: missing.Error.Example}).OK, "%s", missing.Error.Example)
		}
	}
}

// What cannot be called at all is an error of New that names the place and what
// to do about it.
func TestInputsThatCannotBe(t *testing.T) {
	t.Parallel()
	type order struct {
		ID    string `json:"id"`
		Count int    `json:"count"`
	}
	text := func(schema string) toolguard.Tool {
		info := given(schema)
		info.Name = "say"
		return toolguard.Text(info, func(_ context.Context, s string) (string, error) { return s, nil })
	}
	for name, tt := range map[string]struct {
		tool toolguard.Tool
		want []string
	}{
		"reads nothing made up": {echoes[struct {
			C paint `json:"c"`
		}](toolguard.Info{}), []string{`argument "c"`, `no such colour "string"`, "set Info.Schema"}},
		"panics":             {echoes[struct{ V shy }](toolguard.Info{}), []string{"panics", "not me"}},
		"pointer":            {echoes[*order](toolguard.Info{}), []string{"use the value type toolguard_test.order"}},
		"string":             {echoes[string](toolguard.Info{}), []string{"neither a struct nor a map", "Info.Schema"}},
		"function":           {echoes[struct{ F func() }](toolguard.Info{}), []string{"field F", `json:"-"`, "Info.Schema"}},
		"no field for it":    {echoes[order](given(`{"properties":{"id":{},"price":{}}}`)), []string{"Info.Schema", `"price"`, "order"}},
		"required, no field": {echoes[order](given(`{"required":["price"]}`)), []string{`"price"`}},
		"another kind":       {echoes[order](given(`{"properties":{"count":{"type":"string"}},"required":["count"]}`)), []string{`argument "count"`, "string does not fit into int", "correct Info.Schema"}},
		"text without input": {text(`{"type":"object"}`), []string{`"input"`}},
		"text of something":  {text(`{"properties":{"query":{"type":"string"}}}`), []string{`"query"`}},
		"no function":        {toolguard.Action[order](toolguard.Info{Name: "x"}, nil), []string{"function is nil"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := toolguard.New(tt.tool, nil)
			require.Error(t, err)
			for _, part := range append(tt.want, "toolguard: ", `(tool "`+tt.tool.Info().Name+`")`) {
				assert.ErrorContains(t, err, part)
			}
			assert.Less(t, len(err.Error()), 400)
		})
	}
	for _, tool := range []toolguard.Tool{
		echoes[map[string]any](given(`{"properties":{"anything":{}}}`)),
		echoes[order](given(`{"properties":{"ID":{}}}`)),
		echoes[struct{ V paint }](given(`{"properties":{"V":{"type":"string"}},"required":["V"]}`)),
		text(`{"properties":{"input":{"maxLength":9}}}`),
	} {
		_, err := toolguard.New(tool, nil)
		assert.NoError(t, err)
	}
}

// What passes the schema and not the type is the named argument's fault, wherever
// it is read.
func TestUndecodableArguments(t *testing.T) {
	t.Parallel()
	type item struct {
		Colour paint `json:"colour"`
		Count  int8  `json:"count"`
	}
	type in struct {
		When  time.Time       `json:"when,omitzero"`
		Items []item          `json:"items"`
		Named map[string]item `json:"named"`
		Big   int             `json:"big"`
	}
	loose := given(`{}`)
	loose.Effect = toolguard.NonIdempotent
	for args, want := range map[string][2]string{
		`{"big":1,"when":"23:59"}`:                               {"when", ""},
		`{"items":[{"colour":"red"},{"colour":"blue"}]}`:         {"items[1].colour", ""},
		`{"named":{"a":{"count":1},"b":{"count":300}}}`:          {"named.b.count", "number 300 does not fit into int8"},
		`{"big":99999999999999999999}`:                           {"big", "number 99999999999999999999 does not fit into int"},
		`{"big":1` + strings.Repeat("0", 390) + `}`:              {"big", "number 1" + strings.Repeat("0", 56) + "… does not fit into int"},
		`{"items":[{"colour":7}]}`:                               {"items[0].colour", "number does not fit into string"},
		`{"items":{"colour":7}}`:                                 {"items", "object does not fit into array"},
		`{"named":[true],"when":"2026-01-31T12:00:00Z","big":0}`: {"named", "array does not fit into object"},
	} {
		tool := echoes[in](loose)
		_, err := tool.Call(t.Context(), json.RawMessage(args))
		var e *toolguard.Error
		require.ErrorAs(t, err, &e, args)
		assert.Equal(t, toolguard.CodeInvalidArgument, e.Code)
		assert.Equal(t, want[0], e.Field)
		assert.Equal(t, want[1], e.Message)

		env := guardOf(t, tool, nil).Do(t.Context(), toolguard.Call{Args: json.RawMessage(args)})
		assert.Equal(t, "invalid_argument/not_started", verdict(env))
		assert.Contains(t, env.ForModel(), want[0])

		tool = echoes[in](loose)
		tool.Check = func(context.Context, in) error { return errors.New("not reached") }
		env = guardOf(t, tool, nil).Do(t.Context(), toolguard.Call{Args: json.RawMessage(args)})
		assert.Equal(t, toolguard.CodeInvalidArgument, codeOf(env))
		assert.Contains(t, env.ForModel(), want[0])
	}
}

// A type that reads the whole on its own is the only one to blame.
type whole struct{ n int }

func (w *whole) UnmarshalJSON(text []byte) error {
	var in struct{ From, To *int }
	if err := json.Unmarshal(text, &in); err != nil || in.From == nil || in.To == nil || *in.From > *in.To {
		return errors.New("from must not be above to")
	}
	w.n = *in.To
	return nil
}

func TestUndecodableAsAWhole(t *testing.T) {
	t.Parallel()
	_, err := echoes[struct{ Range whole }](toolguard.Info{}).Call(t.Context(), json.RawMessage(`{"Range":{"From":2,"To":1}}`))
	var e *toolguard.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "Range", e.Field)
	assert.ErrorContains(t, e.Cause, "from must not be above to")
}

func TestBytesAreText(t *testing.T) {
	t.Parallel()
	result := func(b []byte) toolguard.Envelope {
		return do(guardOf(t, toolguard.Func(toolguard.Info{Name: "x"}, func(context.Context, struct{}) ([]byte, error) { return b, nil }), nil))
	}
	assert.Equal(t, "hello\n", result([]byte("hello\n")).Result.Text)
	assert.Empty(t, result([]byte("hello")).Notes)
	picture := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 4000)...)
	env := result(picture)
	assert.True(t, env.OK)
	require.Len(t, env.Notes, 1)
	assert.Equal(t, "image/png", env.Notes[0].Media)
}

// Settings that contradict each other, or the schema.
func TestBadCombinations(t *testing.T) {
	t.Parallel()
	type in struct {
		ID string `json:"id"`
	}
	type o = toolguard.Options
	for name, tt := range map[string]struct {
		opts o
		info toolguard.Info
		want []string
	}{
		"serialise by nothing": {opts: o{Concurrency: toolguard.ConcurrencyPolicy{SerializeBy: []string{"id", "order"}}}, want: []string{"Concurrency.SerializeBy[1]", "order", "Info.Schema"}},
		"irrelevant nothing":   {info: toolguard.Info{Irrelevant: []string{"trace"}}, want: []string{"Info.Irrelevant[0]", "trace", "Info.Schema"}},
		"arguments off":        {opts: o{Arguments: toolguard.ArgumentPolicy{Off: true, ControlCharacters: true}}, want: []string{"Arguments.ControlCharacters", "true", "Off"}},
		"timeout off":          {opts: o{Timeout: toolguard.TimeoutPolicy{Off: true, Attempt: time.Minute}}, want: []string{"Timeout.Attempt", "1m0s", "Off"}},
		"retry off":            {opts: o{Retry: toolguard.RetryPolicy{Off: true, MaxAttempts: 5}}, want: []string{"Retry.MaxAttempts", "5", "Off"}},
		"breaker off":          {opts: o{Breaker: toolguard.BreakerPolicy{Off: true, Failures: 3}}, want: []string{"Breaker.Failures", "3", "Off"}},
		"shared breaker off":   {opts: o{Dependencies: &toolguard.Dependencies{Breaker: toolguard.BreakerPolicy{Off: true, MinCalls: 3}}}, want: []string{"Dependencies.Breaker.MinCalls", "3", "Off"}},
		"concurrency off":      {opts: o{Concurrency: toolguard.ConcurrencyPolicy{Off: true, SerializeBy: []string{"id"}}}, want: []string{"Concurrency.SerializeBy", "id", "Off"}},
		"observe off":          {opts: o{Observe: toolguard.ObservePolicy{Off: true, Queue: 9}}, want: []string{"Observe.Queue", "9", "Off"}},
		"render off":           {opts: o{Render: toolguard.RenderPolicy{Off: true, RedactResults: true}}, want: []string{"Render.RedactResults", "true", "Off"}},
		"name with a space":    {info: toolguard.Info{Name: "my tool"}, want: []string{"Info.Name", `"my tool"`}},
		"name of two lines":    {info: toolguard.Info{Name: "tool\nIgnore"}, want: []string{"Info.Name", `"tool\nIgnore"`}},
		"quoted name":          {info: toolguard.Info{Name: `a"b`}, want: []string{"Info.Name"}},
		"no text":              {info: toolguard.Info{Name: "a\xff"}, want: []string{"Info.Name"}},
		"wide space":           {info: toolguard.Info{Name: "a\u3000b"}, want: []string{"Info.Name"}},
		"alternative's name":   {info: toolguard.Info{Alternatives: []string{"ok", ""}}, want: []string{"Info.Alternatives[1]", `""`}},
		"name to verify with":  {info: toolguard.Info{VerifyWith: []string{"a\tb"}}, want: []string{"Info.VerifyWith[0]"}},
		"key ttl":              {info: toolguard.Info{KeyTTL: time.Hour}, want: []string{"1h0m0s, want zero for a tool that is not idempotent_by_key"}},
		"settle delay":         {info: toolguard.Info{SettleDelay: -1}, want: []string{"SettleDelay is -1ns, want zero or more"}},
		"negative key ttl":     {info: toolguard.Info{Effect: toolguard.IdempotentByKey, KeyTTL: -1}, want: []string{"-1ns, want zero or more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.info.Name == "" {
				tt.info.Name = "tool"
			}
			_, err := toolguard.New(toolguard.Action(tt.info, func(context.Context, in) error { return nil }), &tt.opts)
			require.Error(t, err)
			for _, part := range tt.want {
				assert.ErrorContains(t, err, part)
			}
		})
	}
	for _, name := range []string{"get_order", "mcp__shop__get-order", "Shop.get/order@2", "查询订单"} {
		_, err := toolguard.New(toolguard.Action(toolguard.Info{Name: name}, func(context.Context, in) error { return nil }), nil)
		assert.NoError(t, err)
	}
	open := toolguard.Info{Name: "tool", Irrelevant: []string{"trace"}}
	_, err := toolguard.New(toolguard.Action(open, func(context.Context, map[string]any) error { return nil }), &o{Concurrency: toolguard.ConcurrencyPolicy{SerializeBy: []string{"order"}}})
	assert.NoError(t, err, "a schema that admits any argument")
}

func TestReadOnlyToolsHaveNoStatus(t *testing.T) {
	t.Parallel()
	status := func(context.Context, string, struct{}) (toolguard.Outcome, toolguard.Result, error) {
		return toolguard.OutcomeFailed, toolguard.Result{}, nil
	}
	for effect, refused := range map[toolguard.Effect]bool{toolguard.ReadOnly: true, toolguard.Idempotent: false, toolguard.NonIdempotent: false} {
		tool := echoes[struct{}](toolguard.Info{Effect: effect})
		tool.Status = status
		_, err := toolguard.New(tool, nil)
		assert.Equal(t, refused, err != nil, effect)
	}
}

// Describe shows of a policy that is off what counts all the same; given back,
// it makes the same guard.
func TestDescriptionOfWhatIsOff(t *testing.T) {
	t.Parallel()
	opts := &toolguard.Options{
		Arguments: toolguard.ArgumentPolicy{Off: true, MaxDepth: 3}, Timeout: toolguard.TimeoutPolicy{Off: true, Grace: time.Minute},
		Retry: once, Breaker: noBreaker, Concurrency: toolguard.ConcurrencyPolicy{Off: true},
		Observe: toolguard.ObservePolicy{Off: true}, Render: toolguard.RenderPolicy{Off: true, Contact: "ops"},
	}
	tool := toolOf(toolguard.ReadOnly, answers("fine"))
	d := guardOf(t, tool, opts).Describe()
	assert.Equal(t, toolguard.TimeoutPolicy{Off: true, Grace: time.Minute, MaxAbandoned: 8}, d.Timeout)
	assert.Equal(t, once, d.Retry)
	assert.Equal(t, toolguard.RenderPolicy{Off: true, Contact: "ops"}, d.Render)
	again := guardOf(t, tool, &toolguard.Options{Arguments: d.Arguments, Timeout: d.Timeout, Retry: d.Retry, Breaker: d.Breaker, Concurrency: d.Concurrency, Observe: d.Observe, Render: d.Render})
	assert.Equal(t, d, again.Describe())
}

func TestForceBreakerKnowsTwoStates(t *testing.T) {
	t.Parallel()
	g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), nil)
	do(g)
	g.ForceBreaker(toolguard.BreakerHalfOpen)
	require.Len(t, g.Stats().Breakers, 1)
	assert.False(t, g.Stats().Breakers[0].Forced)
	g.ForceBreaker(toolguard.BreakerOpen)
	g.ForceBreaker(toolguard.BreakerHalfOpen)
	assert.Equal(t, toolguard.BreakerOpen, g.Stats().Breakers[0].State, "the one before goes on")
}

// BenchmarkNew is what an agent pays for each tool when it starts.
func BenchmarkNew(b *testing.B) {
	type in struct {
		OrderID string    `json:"order_id" jsonschema:"the order"`
		Cents   int       `json:"cents"`
		When    time.Time `json:"when,omitzero"`
		Tags    []string  `json:"tags,omitempty"`
	}
	for b.Loop() {
		tool := toolguard.Action(toolguard.Info{Name: "refund"}, func(context.Context, in) error { return nil })
		if _, err := toolguard.New(tool, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// leaving is a caller who leaves as soon as somebody waits for him to: while
// somebody works, fake time stands still.
type leaving struct {
	context.Context
	leave context.CancelFunc
}

func (l leaving) Done() <-chan struct{} {
	l.leave()
	return l.Context.Done()
}

func TestCallersWhoLeaveDuringValidation(t *testing.T) {
	t.Parallel()
	tool := toolOf(toolguard.ReadOnly, answers("ok"))
	tool.info.Schema = json.RawMessage(`{"properties":{"a":{"items":{"type":"object"}}}}`)
	g := guardOf(t, tool, nil)
	args := json.RawMessage(`{"a":[` + strings.Repeat(`5,`, 5000) + `1]}`)
	assert.Equal(t, "schema_violation/not_started", verdict(g.Do(t.Context(), toolguard.Call{Args: args})))

	ctx, cancel := context.WithCancel(t.Context())
	env := g.Do(leaving{ctx, cancel}, toolguard.Call{Args: args})
	assert.Equal(t, "canceled/not_started", verdict(env))
	assert.Empty(t, env.Error.Violations)
}
