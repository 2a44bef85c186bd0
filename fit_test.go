package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// However long the texts are that go into an answer, and whatever they become
// when they are escaped, a failure stays small and says what to do next.
func TestFailuresStaySmall(t *testing.T) {
	t.Parallel()
	names := func(n, length int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%0*d", length, i))
		}
		return out
	}
	long, escapes := strings.Repeat("n", 64), strings.Repeat(`\"`, 200)
	failing := func(info toolguard.Info, err error) plain {
		return plain{info: info, call: toolOf(toolguard.ReadOnly, fails(err)).call}
	}
	required := `{"required":["` + strings.Join(names(40, 60), `","`) + `"]}`
	for name, tool := range map[string]plain{
		"verify":   failing(toolguard.Info{Name: long, VerifyWith: names(30, 60), Effect: toolguard.NonIdempotent}, errors.New(strings.Repeat("words of the tool ", 30))),
		"instead":  failing(toolguard.Info{Name: long, Alternatives: names(30, 60), Effect: toolguard.ReadOnly}, toolguard.Unavailable("x")),
		"code":     failing(toolguard.Info{Name: long}, &toolguard.Error{Code: toolguard.Code(strings.Repeat("c", 5000))}),
		"field":    failing(toolguard.Info{Name: long}, toolguard.Param(strings.Repeat("f", 5000), "%s", escapes)),
		"authored": failing(toolguard.Info{Name: long, VerifyWith: names(30, 60), Effect: toolguard.NonIdempotent}, toolguard.MaybeDone(toolguard.Business("%s", escapes))),
		"quoted":   failing(toolguard.Info{Name: long}, errors.New(escapes)),
		"Chinese":  failing(toolguard.Info{Name: strings.Repeat("中", 21)}, errors.New(strings.Repeat("中", 300))),
		"missing":  {info: toolguard.Info{Name: long, Schema: json.RawMessage(required)}, call: toolOf(toolguard.ReadOnly, answers("")).call},
		"enum":     {info: toolguard.Info{Name: long, Schema: json.RawMessage(`{"required":["a"],"properties":{"a":{"enum":["` + strings.Join(names(30, 200), `","`) + `"]}}}`)}, call: toolOf(toolguard.ReadOnly, answers("")).call},
	} {
		for _, locale := range []string{"en", "zh"} {
			g := guardOf(t, tool, &toolguard.Options{Render: toolguard.RenderPolicy{Locale: locale, Contact: strings.Repeat("c", 128)}})
			for _, id := range []string{"call_1", strings.Repeat("\x01", 500), strings.Repeat("\xff", 500)} {
				for _, args := range []string{`{}`, `{"a":"` + strings.Repeat(`\u0001`, 300) + `"}`, `{"` + strings.Repeat(`\u0001`, 300) + `":1}`, `{,`} {
					env := g.Do(context.Background(), toolguard.Call{ID: id, Args: json.RawMessage(args)})
					require.False(t, env.OK)
					b, err := json.Marshal(env)
					require.NoError(t, err)
					limit := 1 << 10
					if len(env.Error.Violations) > 0 {
						limit = 2 << 10
					}
					assert.LessOrEqual(t, len(b), limit, "%s %s %.20q %.20q: %s", name, locale, id, args, b)
					assert.NotEmpty(t, env.Error.Message)
					assert.NotEmpty(t, env.Suggestion)
					if strings.HasPrefix(id, "\x01") {
						break
					}
				}
			}
		}
	}
}

// What is wrong with the arguments is said as far as it fits, and the rest is counted;
// a refusal has more room than another failure, and gives up what is needed least.
func TestARefusalUsesItsRoom(t *testing.T) {
	t.Parallel()
	var properties, args []string
	for i := range 15 {
		properties = append(properties, fmt.Sprintf(`"argument_%02d":{"type":"integer"}`, i))
		args = append(args, fmt.Sprintf(`"argument_%02d":"%s"`, i, strings.Repeat("x", 50)))
	}
	refused := func(id string) (toolguard.Envelope, string) {
		tool := plain{info: toolguard.Info{Name: strings.Repeat("n", 200), Schema: json.RawMessage(`{"required":["argument_00"],"properties":{` + strings.Join(properties, ",") + `}}`)}, call: toolOf(0, answers("")).call}
		env := guardOf(t, tool, nil).Do(t.Context(), toolguard.Call{ID: id, Args: json.RawMessage("{" + strings.Join(args, ",") + "}")})
		b, err := json.Marshal(env)
		require.NoError(t, err)
		require.LessOrEqual(t, len(b), 2<<10)
		return env, string(b)
	}
	env, text := refused("c1")
	listed := len(env.Error.Violations)
	assert.Equal(t, 15, listed+env.Error.More)
	assert.Greater(t, listed, 5)
	assert.Greater(t, len(text), 1<<10, "there is more room than 1 KiB")
	assert.Contains(t, text, fmt.Sprintf(`"more_violations":%d`, env.Error.More))
	assert.JSONEq(t, `{"argument_00":1}`, string(env.Error.Example))

	env, _ = refused(strings.Repeat("\x01", 500))
	assert.Equal(t, 15, len(env.Error.Violations)+env.Error.More, "still counted")
}

// Foreign text makes way before the guard's own words do.
func TestForeignTextMakesWay(t *testing.T) {
	t.Parallel()
	say := func(length int, said string) toolguard.Envelope {
		name := strings.Repeat("v", length)
		info := toolguard.Info{Name: "t", Effect: toolguard.NonIdempotent, VerifyWith: []string{name + "a", name + "b"}}
		return do(guardOf(t, plain{info: info, call: toolOf(0, fails(errors.New(said))).call}, nil))
	}
	long := strings.Repeat("words of the tool ", 30)
	all := len(say(10, long).Error.Quote)
	for _, length := range []int{10, 100, 200, 250} {
		env, short := say(length, long), say(length, "x")
		assert.Equal(t, short.Error.Message, env.Error.Message, "with names of %d", length)
		assert.Equal(t, short.Suggestion, env.Suggestion, "with names of %d", length)
		assert.Equal(t, length < 250, len(env.Error.Quote) == all, "with names of %d: %s", length, env.Error.Quote)
	}
}
