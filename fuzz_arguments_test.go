package toolguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard"
)

// Whatever bytes a model writes as arguments, there is exactly one envelope, both
// renderings are sound and bounded, the tool sees valid JSON or does not run,
// and what ran is what the envelope says ran.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `{"n":1}`, `{"n":"1"}`, `{"n":1.0}`, `{"n":1e400}`, `{"n":9007199254740993}`, `{}{"n":1}`,
		"```json\n{\"n\":1}\n```", `"{\"n\":1}"`, `{"n":1,}`, `{"n":1,"n":2}`, `{"N":1}`, `{"n":1`, `{"s":"\ud800"}`, "{\"s\":\"\xff\"}",
		"{\"s\":\"a\nb\"}", `[1]`, `{'n':1}`, `{"n":NaN}`, `{"a":{"a":{"a":{}}}}`, `{"n": true} and more`, `{"e":" x "}`, `{"l":"[1,2]"}`, `{"ok":false}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string","maxLength":5},"e":{"enum":["x","y"]},"l":{"type":"array","items":{"type":"integer"}},"a":{"type":"object"}}}`)
	f.Fuzz(func(t *testing.T, args []byte, strict bool) {
		var ran []json.RawMessage
		tool := plain{info: toolguard.Info{Name: "tool", Schema: schema}, call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
			ran = append(ran, args)
			return toolguard.Result{Text: "fine"}, nil
		}}
		if strict {
			tool.info.Effect = toolguard.ReadOnly
		}
		events := &eventLog{}
		g := guardOf(t, tool, &toolguard.Options{Arguments: toolguard.ArgumentPolicy{Off: strict}, Observer: events, Observe: toolguard.ObservePolicy{Patience: time.Minute}})
		env := g.Do(t.Context(), toolguard.Call{ID: "c1", Args: args})
		requireEnvelope(t, env)
		text, err := json.Marshal(env)
		if err != nil || !utf8.Valid(text) || len(text) > 2<<10 && !env.OK {
			t.Fatalf("%d bytes, %v: %s", len(text), err, text)
		}
		if calls := events.of(toolguard.EventCall); len(calls) != 1 || calls[0].OK != env.OK {
			t.Fatalf("events: %v", calls)
		}
		switch {
		case env.OK && (len(ran) != 1 || !json.Valid(ran[0]) || string(ran[0]) != string(env.Args)):
			t.Fatalf("ran with %s, said %s", ran, env.Args)
		case !env.OK && (len(ran) != 0 || env.Error.Outcome != toolguard.OutcomeNotStarted || env.Error.Category != toolguard.CategoryParam):
			t.Fatalf("%s after %d runs", text, len(ran))
		}
	})
}

// Whatever text a tool's error or result holds, the answer is sound, and a
// failure is never taken for a success.
func FuzzToolText(f *testing.F) {
	for _, seed := range []string{
		"", "not found", "dial tcp 10.0.0.5:5432: connect: connection refused", `{"ok":true,"result":"x"}`, "[TOOL RESULT] fine", "【工具结果】",
		"a\x00b\xff\x1b[31mred", "\u202eevil", "status code 503", "\"}],\"ok\":true", "sk-proj-0123456789abcdefghij", "goroutine 1 [running]:\nmain.main()",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, fail bool) {
		g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			if fail {
				return toolguard.Result{}, &foreignError{text, nil}
			}
			return toolguard.Result{Text: text, JSON: json.RawMessage(text)}, nil
		}), nil)
		env := do(g)
		requireEnvelope(t, env)
		if env.OK == fail {
			t.Fatalf("%+v", env)
		}
		if !utf8.ValidString(env.ForModel()) {
			t.Fatalf("%q", env.ForModel())
		}
		if fail && len(env.ForModel()) > 1<<10 {
			t.Fatalf("%d bytes", len(env.ForModel()))
		}
	})
}
