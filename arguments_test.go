package toolguard_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// Every repair is one that can be switched off, and with it the tool runs on what the
// model meant, without it not at all.
func TestOffRepairsNothing(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{
		"n":{"type":"integer"},"on":{"type":"boolean"},"list":{"type":"array"},"sub":{"type":"object"},"unit":{"enum":["kg","lb"]},"note":{"type":"string"}}}`)
	for text, meant := range map[string]string{
		``:                         `{}`,
		"\n":                       `{}`,
		`null`:                     `{}`,
		"\u00a0{}":                 `{}`,
		"```json\n{\"n\":1}\n```":  `{"n":1}`,
		`"{\"n\":1}"`:              `{"n":1}`,
		`{}{"n":1}`:                `{"n":1}`,
		`{"n":1,}`:                 `{"n":1}`,
		"{\"note\":\"a\tb\"}":      `{"note":"a\tb"}`,
		`{"n":1}\n`:                `{"n":1} `,
		`{"n":"5"}`:                `{"n":5}`,
		`{"on":"true"}`:            `{"on":true}`,
		`{"list":"[1]"}`:           `{"list":[1]}`,
		`{"sub":"{\"a\":1}"}`:      `{"sub":{"a":1}}`,
		`{"note":null}`:            `{}`,
		`{"unit":" kg"}`:           `{"unit":"kg"}`,
		`{"sub":"{\"a\":\"{}\"}"}`: `{"sub":{"a":"{}"}}`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			for _, off := range []bool{false, true} {
				ran := ""
				g := guardOf(t, plain{
					info: toolguard.Info{Name: "tool", Schema: schema, Effect: toolguard.ReadOnly},
					call: func(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
						ran = string(args)
						return toolguard.Result{}, nil
					},
				}, &toolguard.Options{Arguments: toolguard.ArgumentPolicy{Off: off}})
				env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(text)})
				if off {
					assert.Equal(t, toolguard.CategoryParam, env.Error.Category)
					assert.Empty(t, ran)
					continue
				}
				assert.Equal(t, meant, ran)
				assert.NotEmpty(t, env.Notes, "what was changed is told")
			}
		})
	}
}

// What is judged is what runs, whatever anybody does with the bytes that it is shown.
func TestWhoIsShownTheArgumentsCannotChangeThem(t *testing.T) {
	t.Parallel()
	scribble := func(_ context.Context, args json.RawMessage) error {
		copy(args, strings.Repeat("9", len(args)))
		return nil
	}
	for name, opts := range map[string]toolguard.Options{
		"authorize": {Authorize: scribble},
		"check":     {Check: scribble},
		"needs approval": {
			Approver:      pendingDesk(),
			NeedsApproval: func(ctx context.Context, args json.RawMessage) (bool, error) { return false, scribble(ctx, args) },
		},
		"an observer": {
			Observe:  toolguard.ObservePolicy{Arguments: true},
			Observer: observe(func(ctx context.Context, e toolguard.Event) { _ = scribble(ctx, e.Arguments) }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			tool := toolguard.Func(toolguard.Info{Name: "pay", Effect: toolguard.Idempotent}, func(_ context.Context, in struct{ Cents int }) (int, error) {
				if tries++; tries%2 == 1 {
					return 0, toolguard.Unavailable("busy")
				}
				return in.Cents, nil
			})
			bare := plain{tool.Info(), tool.Call}
			opts.Retry = toolguard.RetryPolicy{BaseDelay: 1}
			for _, tool := range []toolguard.Tool{tool, bare} {
				env := guardOf(t, tool, &opts).Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"Cents":100}`)})
				assert.Contains(t, env.ForModel(), "100")
				assert.Equal(t, `{"Cents":100}`, string(env.Args))
			}
		})
	}
}
