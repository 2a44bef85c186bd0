package toolguard_test

import (
	"context"
	"encoding/json"
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
