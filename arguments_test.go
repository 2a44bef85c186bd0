package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
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

// A mask that a model sends back would be written in place of the secret. Nothing is
// written by a look.
func TestAMaskIsNoValueToWrite(t *testing.T) {
	t.Parallel()
	for effect, want := range map[toolguard.Effect]toolguard.Code{
		toolguard.ReadOnly: "", toolguard.Idempotent: toolguard.CodeSchemaViolation, toolguard.EffectUnknown: toolguard.CodeSchemaViolation,
	} {
		g := guardOf(t, toolOf(effect, answers("fine")), nil)
		for _, mask := range []string{"[redacted:email]", `\u005bredacted:email]`, `to [r\u0065dacted:email]`} {
			env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{"to":{"mail":"` + mask + `"}}`)})
			assert.Equal(t, want, codeOf(env), "%v %s", effect, mask)
		}
	}
}

// An example is one that the schema accepts, however hard that is to find, or there
// is none.
func TestAnExampleCanBeSent(t *testing.T) {
	t.Parallel()
	for schema, has := range map[string]bool{
		`{"required":["n"],"properties":{"n":{"type":"integer","not":{"const":1}}}}`:                                 true,
		`{"required":["a"],"properties":{"a":{"type":"string"}},"not":{"properties":{"a":{"const":"string"}}}}`:      false,
		`{"required":["a"],"properties":{"a":{"type":"string"}},"dependentRequired":{"a":["b"]}}`:                    true,
		`{"required":["a"],"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"number"}]}}}`:                     false,
		`{"required":["a"],"properties":{"a":{"type":"array","contains":{"const":7},"minItems":1}}}`:                 true,
		`{"required":["a"],"if":{"properties":{"a":{"type":"string"}}},"then":{"required":["b"]},"else":{"not":{}}}`: true,
		`{"required":["a"],"properties":{"a":{"type":"integer","multipleOf":7,"minimum":1}}}`:                        true,
		`{"required":["a"],"properties":{"a":{"type":"string"}},"maxProperties":0}`:                                  false,
	} {
		g := guardOf(t, plain{toolguard.Info{Name: "tool", Schema: json.RawMessage(schema)}, toolOf(0, answers("fine")).call}, nil)
		env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(`{}`)})
		assert.Equal(t, toolguard.CodeSchemaViolation, codeOf(env), schema)
		if assert.Equal(t, has, len(env.Error.Example) > 0, schema); !has {
			continue
		}
		sent := g.Do(t.Context(), toolguard.Call{Args: env.Error.Example})
		assert.True(t, sent.OK, "%s of %s", env.Error.Example, schema)
		assert.Empty(t, sent.Notes)
	}
}

// What cannot become valid is not repaired in part.
func TestManyFaultsAreLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	for n, repaired := range map[int]bool{10: true, 1021: false} {
		args := `{"list":["` + strings.Repeat(`5","`, n-1) + `5"]}`
		g := guardOf(t, plain{
			info: toolguard.Info{Name: "tool", Schema: json.RawMessage(`{"properties":{"list":{"items":{"type":"integer"}}}}`)},
			call: toolOf(0, answers("fine")).call,
		}, nil)
		env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(args)})
		assert.Equal(t, repaired, env.OK, n)
		assert.Equal(t, repaired, len(env.Notes) > 0, n)
		assert.Equal(t, repaired, string(env.Args) != args, n)
	}
}

// Reading arguments is inside the budget like all else.
func TestArgumentsAreJudgedWithinTheBudget(t *testing.T) {
	t.Parallel()
	g := guardOf(t, plain{
		info: toolguard.Info{Name: "tool", Schema: json.RawMessage(`{"required":["a"]}`)}, call: toolOf(0, answers("fine")).call,
	}, &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 1, Budget: 1}})
	assert.Equal(t, "budget_exhausted/not_started", verdict(do(g)))
}

// The search for the value that does not decode has a bound.
func TestTheSearchForAnUndecodableValueIsBounded(t *testing.T) {
	t.Parallel()
	for n, field := range map[int]string{4000: "list[3999]", 5000: "list"} {
		tool := toolguard.Action(given(`{}`), func(context.Context, struct {
			List []paint `json:"list"`
		}) error {
			return nil
		})
		_, err := tool.Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"list":[%s"blue"]}`, strings.Repeat(`"red",`, n-1))))
		var e *toolguard.Error
		assert.ErrorAs(t, err, &e)
		assert.Equal(t, field, e.Field)
	}
}

// scrawl reads itself, and writes where it reads.
type scrawl struct{ read string }

func (s *scrawl) UnmarshalJSON(text []byte) error {
	s.read = string(text)
	copy(text, "999")
	return nil
}

// scrawledText does so with what a string holds.
type scrawledText struct{ read string }

func (s *scrawledText) UnmarshalText(text []byte) error {
	s.read = string(text)
	copy(text, "999")
	return nil
}

// An argument that spoils what it is read from spoils its own copy.
func TestAnArgumentThatReadsItselfCannotChangeTheOthers(t *testing.T) {
	t.Parallel()
	spoils[struct{ V []map[string]scrawl }](t, `{"V":[{"a":100}]}`)
	spoils[struct{ V struct{ In *scrawledText } }](t, `{"V":{"In":"abc"}}`)
	spoils[struct{ V map[scrawledText]int }](t, `{"V":{"abc":1}}`)
}

func spoils[In any](t *testing.T, args string) {
	t.Helper()
	var read []string
	info := toolguard.Info{Name: "pay", Effect: toolguard.Idempotent, Schema: json.RawMessage(`{}`)}
	tool := toolguard.Action(info, func(_ context.Context, in In) error {
		read = append(read, fmt.Sprintf("%+v", in))
		return toolguard.Unavailable("busy")
	})
	env := guardOf(t, tool, &toolguard.Options{Retry: toolguard.RetryPolicy{BaseDelay: 1}}).Do(t.Context(), toolguard.Call{Args: json.RawMessage(args)})
	assert.Equal(t, args, string(env.Args))
	assert.Len(t, read, 3)
}
