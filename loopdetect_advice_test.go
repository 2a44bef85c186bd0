package toolguard_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Arguments that are refused for the same reason three times in a row are not mended
// by a fourth try: the user is asked. What is no JSON has no value to ask about, and
// what another tool refused, or another reason, is another matter.
func TestArgumentsThatAreRefusedAlike(t *testing.T) {
	t.Parallel()
	const ask = "Tell the user which values were refused and ask what to use"
	type line struct{ tool, args string }
	for name, c := range map[string]struct {
		sent  []line
		turns string // of each
		want  string // of the last
		not   string
	}{
		"the same reason":       {sent: []line{{"pay", `{"cents":"a"}`}, {"pay", `{"cents":"b"}`}, {"pay", `{"cents":"c"}`}}, want: ask},
		"twice only":            {sent: []line{{"pay", `{"cents":"a"}`}, {"pay", `{"cents":"b"}`}}, not: ask},
		"another reason":        {sent: []line{{"pay", `{"cents":"a"}`}, {"pay", `{}`}, {"pay", `{"cents":"b"}`}}, not: ask},
		"another tool between":  {sent: []line{{"pay", `{"cents":"a"}`}, {"book", `{"cents":"x"}`}, {"pay", `{"cents":"b"}`}, {"pay", `{"cents":"c"}`}}, want: ask},
		"another tool's do not": {sent: []line{{"book", `{"cents":"a"}`}, {"book", `{"cents":"b"}`}, {"pay", `{"cents":"c"}`}}, not: ask},
		"the turn before":       {sent: []line{{"pay", `{"cents":"a"}`}, {"pay", `{"cents":"b"}`}, {"pay", `{"cents":"c"}`}}, turns: "112", not: ask},
		"no object":             {sent: []line{{"pay", `seven`}, {"pay", `sieben`}, {"pay", `sept`}}, want: "ask how to go on", not: ask},
		"no JSON":               {sent: []line{{"pay", `{"cents":`}, {"pay", `{"cents"`}, {"pay", `{"cen`}}, want: "ask how to go on", not: ask},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := func(name string) toolguard.Tool {
				type in struct {
					Cents int `json:"cents"`
				}
				return toolguard.Action(toolguard.Info{Name: name}, func(context.Context, in) error { return nil })
			}
			box, err := toolguard.NewToolbox(nil, tool("pay"), tool("book"))
			require.NoError(t, err)
			var last toolguard.Envelope
			for i, l := range c.sent {
				turn := "1"
				if c.turns != "" {
					turn = c.turns[i : i+1]
				}
				last = box.Do(inTurn(turn), toolguard.Call{ID: "c1", Tool: l.tool, Args: json.RawMessage(l.args)})
			}
			require.False(t, last.OK)
			assert.Equal(t, toolguard.CategoryParam, last.Error.Category)
			assert.Contains(t, last.Suggestion, c.want)
			if c.not != "" {
				assert.NotContains(t, last.Suggestion, c.not)
			}
		})
	}
}

// A model that keeps on asking for what it has is told so, then to stop. It is not told
// that its calls have led nowhere and that it must not claim success: they succeeded.
func TestWhatSucceededIsNotToldAsFutile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect toolguard.Effect
		args   []string
		fails  bool
	}{
		"a read":          {effect: toolguard.ReadOnly, args: []string{`{}`}},
		"a write":         {effect: toolguard.NonIdempotent, args: []string{`{}`}},
		"reads in turns":  {effect: toolguard.ReadOnly, args: []string{`{"n":1}`, `{"n":2}`}},
		"writes in turns": {effect: toolguard.NonIdempotent, args: []string{`{"n":1}`, `{"n":2}`}},
		"a refusal":       {effect: toolguard.ReadOnly, args: []string{`{}`}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := countedTool(c.effect, "done")
			if c.fails {
				tool = failingTool(c.effect, toolguard.Business("Closed on Sundays."))
			}
			g := guardOf(t, tool, oneTry(sessionsOf(t, toolguard.SessionPolicy{})))
			refused := 0
			for i := range 8 * len(c.args) {
				env := send(turn("1"), g, c.args[i%len(c.args)])
				if env.OK || env.Error.Code != toolguard.CodeLoopDetected {
					continue
				}
				refused++
				switch want := map[bool]string{true: "have led nowhere", false: "have brought nothing new"}[c.fails]; {
				case refused > len(c.args):
					assert.Contains(t, env.Suggestion, want, "refusal %d", refused)
				case !c.fails:
					assert.Contains(t, env.Suggestion, "You already have its result", "refusal %d", refused)
				}
				assert.Equal(t, c.fails && refused > 1, strings.Contains(env.Suggestion, "claim"), "refusal %d", refused)
			}
			assert.Greater(t, refused, 3)
		})
	}
}
