package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

func outputOf(schema string, r toolguard.Result) plain {
	tool := toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) { return r, nil })
	tool.info.OutputSchema = json.RawMessage(schema)
	return tool
}

// A schema of results is JSON Schema and no more: what is strict about arguments,
// because a model writes them, makes no success a failure.
func TestOutputSchemaIsNotOfArguments(t *testing.T) {
	t.Parallel()
	object := `{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}`
	jsonOf := func(text string) toolguard.Result { return toolguard.Result{JSON: json.RawMessage(text)} }
	for name, tt := range map[string]struct {
		schema string
		result toolguard.Result
		want   string
	}{
		"more than a mebibyte": {object, jsonOf(fmt.Sprintf(`{"id":1,"log":%q}`, strings.Repeat("long ", 1<<18))), "ok"},
		"deeply nested":        {object, jsonOf(`{"id":1,"tree":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`), "ok"},
		"another letter case":  {object, jsonOf(`{"id":1,"ID":"x"}`), "ok"},
		"in place of the name": {object, jsonOf(`{"ID":1}`), "bad_response/unknown"},
		"a list":               {`{"type":"array","items":{"type":"integer"}}`, jsonOf(`[1,2]`), "ok"},
		"a list of others":     {`{"type":"array","items":{"type":"integer"}}`, jsonOf(`["a"]`), "bad_response/unknown"},
		"a text":               {`{"type":"string","maxLength":4}`, toolguard.Result{Text: "done"}, "ok"},
		"a text of digits":     {`{"type":"string"}`, toolguard.Result{Text: "42"}, "ok"},
		"a text that is JSON":  {object, toolguard.Result{Text: `{"id":1}`}, "ok"},
		"too long a text":      {`{"type":"string","maxLength":4}`, toolguard.Result{Text: "done!"}, "bad_response/unknown"},
		"no JSON at all":       {`{"type":"string"}`, jsonOf(`done`), "bad_response/unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []toolguard.SchemaMode{toolguard.SchemaStrict, toolguard.SchemaLenient} {
				g := guardOf(t, outputOf(tt.schema, tt.result), &toolguard.Options{Arguments: toolguard.ArgumentPolicy{Schema: mode}})
				assert.Equal(t, tt.want, verdict(do(g)), mode)
			}
		})
	}
}

// A result that nobody could judge in time is what the tool says it is.
func TestAResultThatCannotBeJudgedIsASuccess(t *testing.T) {
	t.Parallel()
	defs := `"d0":{"type":"string"}`
	for n := range 30 {
		defs += fmt.Sprintf(`,"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, n+1, n, n)
	}
	tangled := `{"$defs":{` + defs + `},"properties":{"id":{"$ref":"#/$defs/d30"}}}`
	assert.True(t, do(guardOf(t, outputOf(tangled, toolguard.Result{JSON: json.RawMessage(`{"id":1}`)}), nil)).OK)
}

// Failed reads whatever a tool returns.
func TestFailedReadsLongResults(t *testing.T) {
	t.Parallel()
	r := toolguard.Result{JSON: json.RawMessage(`{"ok":false,"log":"` + strings.Repeat("x", 2<<20) + `"}`)}
	assert.Error(t, toolguard.Failed(t.Context(), r))
}

// A success that is found to be none leaves the outcome open: then the downstream is
// asked, as after any other failure.
func TestARefusedResultIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]toolguard.Options{
		"by a check":  {CheckResult: func(context.Context, toolguard.Result) error { return errors.New("no receipt") }},
		"by a schema": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := toolguard.Info{Name: "pay"}
			if opts.CheckResult == nil {
				info.OutputSchema = json.RawMessage(`{"type":"array"}`)
			}
			tool := toolguard.Func(info, func(context.Context, struct{}) (string, error) { return "sent", nil })
			tool.Status = func(context.Context, string, struct{}) (toolguard.Outcome, toolguard.Result, error) {
				return toolguard.OutcomeSucceeded, toolguard.Result{Text: "receipt 7"}, nil
			}
			env := do(guardOf(t, tool, &opts))
			assert.Equal(t, "ok", verdict(env))
			assert.Equal(t, "receipt 7", env.Result.Text)
		})
	}
}

// A check that ends because the caller has left has found nothing.
func TestACheckThatIsCutShortRefusesNothing(t *testing.T) {
	t.Parallel()
	for name, looks := range map[string]func(context.Context) error{
		"obeys":          func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"in other words": func(ctx context.Context) error { <-ctx.Done(); return errors.New("no receipt") },
	} {
		inBubble(t, name, func(t *testing.T) {
			g := guardOf(t, toolOf(toolguard.NonIdempotent, answers("paid")), &toolguard.Options{
				CheckResult: func(ctx context.Context, _ toolguard.Result) error { return looks(ctx) },
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			assert.Equal(t, "ok", verdict(doIn(ctx, g)))
			synctest.Wait()
		})
	}
}
