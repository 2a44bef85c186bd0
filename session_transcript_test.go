package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A conversation is a text file. What stands before the line "-- conversation --"
// says which rule it pins and which report it comes from. Then one thing a line:
//
//	tool NAME EFFECT [SETTING…]   a tool; settings are poll=, max=, source=,
//	                              volatile=, limit=, irrelevant=, rerun, repeats
//	turn NAME                     the user speaks
//	wait DURATION
//	NAME ARGUMENTS => ANSWER : FACT, …
//
// ANSWER is the text the tool returns if it runs, or an error: !unavailable,
// !unknown, !business, !canceled. Facts are ran or kept, a code or ok, note:KIND,
// and says:WORDS of the suggestion. A line "# …" is a remark.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		inBubble(t, strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			rule, lines, ok := strings.Cut(string(text), "-- conversation --\n")
			require.True(t, ok)
			assert.Contains(t, rule, "Report: ", "a conversation names the report it comes from")
			p := &played{t: t, sessions: sessionsOf(t, toolguard.SessionPolicy{}), tools: map[string]*playedTool{}}
			for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
				p.line(fmt.Sprintf("%s line %d: %s", file, i+1, line), strings.Fields(line), line)
			}
			assert.NotZero(t, p.settled)
		})
	}
}

type played struct {
	t        *testing.T
	sessions *toolguard.Sessions
	tools    map[string]*playedTool
	turn     string
	settled  int
}

type playedTool struct {
	*counted
	guard *toolguard.Guard
	next  string
}

func (p *played) line(where string, words []string, line string) {
	if len(words) == 0 || words[0] == "#" {
		return
	}
	switch words[0] {
	case "tool":
		p.tool(where, words[1], words[2], words[3:])
	case "turn":
		p.turn = words[1]
	case "wait":
		d, err := time.ParseDuration(words[1])
		require.NoError(p.t, err, where)
		time.Sleep(d)
		synctest.Wait()
	default:
		p.call(where, line)
	}
}

func (p *played) tool(where, name, effect string, settings []string) {
	tool := &playedTool{counted: &counted{info: toolguard.Info{Name: name}}}
	require.NoError(p.t, tool.info.Effect.UnmarshalText([]byte(effect)), where)
	opts := oneTry(p.sessions)
	opts.Breaker.Off = false
	for _, setting := range settings {
		tool.set(p.t, where, opts, setting)
	}
	tool.answer = func(context.Context, int, string) (toolguard.Result, error) { return playedAnswer(tool.next) }
	tool.guard = guardOf(p.t, tool, opts)
	p.tools[name] = tool
}

func (tool *playedTool) set(t *testing.T, where string, opts *toolguard.Options, setting string) {
	name, value, _ := strings.Cut(setting, "=")
	var err error
	switch name {
	case "poll":
		tool.info.Poll.Interval, err = time.ParseDuration(value)
	case "max":
		_, err = fmt.Sscan(value, &tool.info.Poll.Max)
	case "limit":
		_, err = fmt.Sscan(value, &opts.Loop.ToolCalls)
	case "volatile":
		opts.Loop.Volatile = []string{value}
	case "irrelevant":
		tool.info.Irrelevant = []string{value}
	case "source":
		tool.info.Source, tool.info.Name = value, "get"
	case "rerun":
		opts.Dedupe.Off = true
	case "repeats":
		tool.info.RepeatsNormal = true
	default:
		t.Fatalf("%s: no setting %q", where, setting)
	}
	require.NoError(t, err, where)
}

func playedAnswer(text string) (toolguard.Result, error) {
	switch text {
	case "!unavailable":
		return toolguard.Result{}, toolguard.Unavailable("the service is down")
	case "!unknown":
		return toolguard.Result{}, errors.New("something broke")
	case "!business":
		return toolguard.Result{}, toolguard.Business("read the file first")
	case "!canceled":
		return toolguard.Result{}, context.Canceled
	}
	if strings.HasPrefix(text, "{") {
		return toolguard.Result{JSON: []byte(text)}, nil
	}
	return toolguard.Result{Text: text}, nil
}

func (p *played) call(where, line string) {
	name, rest, _ := strings.Cut(line, " ")
	args, rest, ok := strings.Cut(rest, " => ")
	answer, facts, ok2 := strings.Cut(rest, " : ")
	tool := p.tools[name]
	require.True(p.t, ok && ok2 && tool != nil, where)
	tool.next = answer
	before := tool.ran()
	env := send(turn(p.turn), tool.guard, args)
	requireEnvelope(p.t, env)
	for fact := range strings.SplitSeq(facts, ", ") {
		p.fact(where, fact, env, tool.ran() > before)
	}
	p.settled++
}

func (p *played) fact(where, fact string, env toolguard.Envelope, ran bool) {
	kind, value, _ := strings.Cut(fact, ":")
	switch kind {
	case "ran", "kept":
		assert.Equal(p.t, kind == "ran", ran, where)
	case "ok":
		assert.True(p.t, env.OK, "%s\n%s", where, env.ForModel())
	case "note":
		assert.NotNil(p.t, noted(env, toolguard.NoteKind(value)), "%s\n%s", where, env.ForModel())
	case "bare":
		assert.Empty(p.t, env.Notes, where)
	case "says":
		assert.Contains(p.t, env.Suggestion, value, where)
	case "reads":
		assert.Contains(p.t, env.ForModel(), value, where)
	default:
		assert.Equal(p.t, fact, string(codeOf(env)), "%s\n%s", where, env.ForModel())
	}
}
