package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
)

// memory keeps events for a store that is written outside of the bubble: SQLite
// has goroutines and locks of its own.
type memory struct {
	mu     sync.Mutex
	events []toolguard.Event
}

func (m *memory) Observe(_ context.Context, e toolguard.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
}

// traced plays a scene and returns its trace as text, without what differs.
func traced(t *testing.T, name string, play func(t *testing.T, o *toolguard.Options)) string {
	t.Helper()
	m, j := &memory{}, toolguard.NewMemoryJournal()
	synctest.Test(t, func(t *testing.T) {
		play(t, &toolguard.Options{Observer: m, Journal: j})
		synctest.Wait()
	})
	store := stored(t, func(observe func(toolguard.Event)) {
		for _, e := range m.events {
			observe(e)
		}
	})
	s, err := dial.Read(t.Context(), store)
	require.NoError(t, err)
	defer s.Close()
	traces, err := report.Find(t.Context(), s, j, name)
	require.NoError(t, err)
	var b bytes.Buffer
	for i := range traces {
		require.NoError(t, traces[i].WriteText(&b))
	}
	text := b.String()
	for i := range traces {
		if traces[i].Key != "" {
			text = strings.ReplaceAll(text, traces[i].Key, "KEY")
		}
	}
	return text
}

type tool struct {
	info toolguard.Info
	call func(context.Context) (toolguard.Result, error)
}

func (p tool) Info() toolguard.Info { return p.info }

func (p tool) Call(ctx context.Context, _ json.RawMessage) (toolguard.Result, error) {
	return p.call(ctx)
}

func do(t *testing.T, o *toolguard.Options, effect toolguard.Effect, call func(context.Context) (toolguard.Result, error)) toolguard.Envelope {
	g, err := toolguard.New(tool{toolguard.Info{Name: "pay", Effect: effect}, call}, o)
	require.NoError(t, err)
	return g.Do(inTurn(t), toolguard.Call{ID: "c1", Args: json.RawMessage(`{"order":1}`)})
}

func inTurn(t *testing.T) context.Context {
	return toolguard.WithScope(t.Context(), toolguard.Scope{Session: "s1", Turn: "1", Principal: "ann", Model: "m-1"})
}

// Of two calls under one key the answers are about the one that was asked about.
func TestTraceAnswersForTheCallAskedAbout(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"c1": {"Behind the tool", "It stopped after attempt 1"},
		"c2": {"an identical call may have had its effect (in_doubt", "It stopped before the tool: in_doubt forbids it."},
	} {
		text := traced(t, name, func(t *testing.T, o *toolguard.Options) {
			lost := func(context.Context) (toolguard.Result, error) {
				return toolguard.Result{}, toolguard.MaybeDone(errors.New("i/o timeout"))
			}
			g, err := toolguard.New(tool{toolguard.Info{Name: "pay", Effect: toolguard.NonIdempotent}, lost}, o)
			require.NoError(t, err)
			for _, id := range []string{"c1", "c2"} {
				g.Do(inTurn(t), toolguard.Call{ID: id, Args: json.RawMessage(`{"order":1}`)})
				time.Sleep(time.Second)
			}
		})
		assert.Contains(t, text, want[0], name)
		assert.Contains(t, text, want[1], name)
		assert.True(t, strings.HasPrefix(text, "pay "+name+"\n"), text)
	}
}

func TestTraceOfALateAnswer(t *testing.T) {
	t.Parallel()
	golden(t, "late", traced(t, "c1", func(t *testing.T, o *toolguard.Options) {
		o.Timeout = toolguard.TimeoutPolicy{Attempt: time.Second}
		do(t, o, toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
			time.Sleep(5 * time.Second)
			return toolguard.Result{Text: "paid"}, nil
		})
		time.Sleep(10 * time.Second)
	}))
}

func TestTraceOfRetries(t *testing.T) {
	t.Parallel()
	text := traced(t, "c1", func(t *testing.T, o *toolguard.Options) {
		do(t, o, toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{}, toolguard.Unavailable("the shop is closed")
		})
	})
	for _, want := range []string{
		"attempt 1 of pay begins", "attempt 3 ends", "another attempt follows, after a wait of",
		"In the service behind the tool: it was unavailable (service_unavailable, unavailable)",
		"It retried after attempt 1 because service_unavailable may go away", "It stopped after attempt 3 because no attempt was left.",
		"There is none: the tool only reads.",
	} {
		assert.Contains(t, text, want)
	}
}

func TestTraceOfAnApproval(t *testing.T) {
	t.Parallel()
	golden(t, "approval", traced(t, "c1", func(t *testing.T, o *toolguard.Options) {
		o.Approver = later{}
		g, err := toolguard.New(tool{toolguard.Info{Name: "pay", Effect: toolguard.NonIdempotent}, func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{}, toolguard.MaybeDone(errors.New("the line broke"))
		}}, o)
		require.NoError(t, err)
		env := g.Do(inTurn(t), toolguard.Call{ID: "c1", Args: json.RawMessage(`{"order":1}`)})
		time.Sleep(time.Hour)
		_, err = toolguard.Decide(t.Context(), o.Journal, toolguard.Ruling{Key: env.Key, Verdict: toolguard.RulingApprove, By: "ben", Why: "small"})
		require.NoError(t, err)
		g.Resume(inTurn(t), env.Key)
		time.Sleep(time.Hour)
		_, err = toolguard.Decide(t.Context(), o.Journal, toolguard.Ruling{Key: env.Key, Verdict: toolguard.RulingSucceeded, By: "eve", Why: "the bank's list has it"})
		require.NoError(t, err)
	}))
}

// The story of a fallback names the stand-ins that failed, and is not told by them.
func TestTraceOfAFallback(t *testing.T) {
	t.Parallel()
	text := traced(t, "c1", func(t *testing.T, o *toolguard.Options) {
		o.Retry.Off = true
		fails := func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{}, toolguard.NotFound("no such order")
		}
		answers := func(context.Context) (toolguard.Result, error) { return toolguard.Result{Text: "about 5"}, nil }
		o.Fallback = &toolguard.Fallback{Alternatives: []toolguard.Alternative{
			{Tool: tool{toolguard.Info{Name: "pay", Effect: toolguard.ReadOnly}, fails}}, {Tool: tool{toolguard.Info{Name: "almanac", Effect: toolguard.ReadOnly}, answers}},
		}}
		do(t, o, toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) {
			return toolguard.Result{}, toolguard.Unavailable("the shop is closed")
		})
	})
	for _, want := range []string{
		"a call of pay begins, made in this one or in its place", "not_found (business), outcome failed: toolguard: not_found: no such order", "is answered: success; the answer comes from almanac",
		"Not in the end: the call was answered. Before that, one attempt failed, in the service behind the tool", "It asked the tool no more; the answer comes from almanac.",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "It stopped after attempt 1", "the stand-in's reasons are its own")
	assert.Equal(t, 1, strings.Count(text, "Did the effect happen?"), "one story: %s", text)
}

type later struct{}

func (later) Approve(context.Context, toolguard.ApprovalRequest) (toolguard.Answer, error) {
	return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
}

// Every way a call can end answers the three questions, by the call's ID and by
// the incident.
func TestEveryCodeAnswersTheThreeQuestions(t *testing.T) {
	t.Parallel()
	var codes []toolguard.Code
	name := stored(t, func(observe func(toolguard.Event)) {
		for code := range toolguard.Codes() {
			codes = append(codes, code)
			e := toolguard.Event{
				Kind: toolguard.EventCall, Time: noon, Ref: uint64(len(codes)), CallID: "id-" + string(code), Tool: "pay", Code: code,
				Category: code.Category(), Effect: toolguard.NonIdempotent, Outcome: toolguard.OutcomeFailed, Attempts: 1, Decision: toolguard.DecisionStop,
			}
			observe(e)
			e.Kind, e.Attempt, e.Why = toolguard.EventAttempt, 1, toolguard.WhyFinal
			observe(e)
		}
	})
	for _, code := range codes {
		status, out, errs := run(t, tracing, "-store", name, "id-"+string(code), "-json")
		require.Zero(t, status, errs)
		var traces []report.Trace
		require.NoError(t, json.Unmarshal([]byte(out), &traces))
		require.Len(t, traces, 1, code)
		assert.Contains(t, traces[0].Layer, string(code))
		assert.Equal(t, "It stopped after attempt 1 because this kind of failure does not go away by itself.", traces[0].Reason)
		assert.Equal(t, "No: the tool ran, and definitely had no effect.", traces[0].Effect)
		assert.NotEmpty(t, traces[0].Lines)
	}
}

// A call of which no event is kept is traced by the journal alone.
func TestTraceByTheJournalAlone(t *testing.T) {
	t.Parallel()
	j := toolguard.NewMemoryJournal()
	g, err := toolguard.New(tool{toolguard.Info{Name: "pay", Effect: toolguard.NonIdempotent}, func(context.Context) (toolguard.Result, error) {
		return toolguard.Result{Text: "paid"}, nil
	}}, &toolguard.Options{Journal: j})
	require.NoError(t, err)
	env := g.Do(inTurn(t), toolguard.Call{ID: "c1"})
	require.True(t, env.OK)
	var stdout, stderr bytes.Buffer
	status := report.RunTrace(t.Context(), []string{"-store", stored(t, func(func(toolguard.Event)) {}), "-journal", "x", env.Key}, &stdout, &stderr,
		func(context.Context, string) (toolguard.Journal, error) { return j, nil })
	require.Zero(t, status, stderr.String())
	assert.Contains(t, stdout.String(), "pending → succeeded")
	assert.Contains(t, stdout.String(), "Yes. The journal has it as succeeded")
}

// Call IDs come again: each action is a trace of its own, the newest first.
func TestCallIDsThatComeAgain(t *testing.T) {
	t.Parallel()
	name := stored(t, func(observe func(toolguard.Event)) {
		for i := range 9 {
			observe(toolguard.Event{Kind: toolguard.EventCall, Time: noon.Add(time.Duration(i) * time.Hour), Ref: uint64(i + 1), CallID: "call_0", Tool: "pay", Code: toolguard.CodeNotFound, Category: toolguard.CategoryBusiness})
		}
	})
	s, err := dial.Read(t.Context(), name)
	require.NoError(t, err)
	defer s.Close()
	traces, err := report.Find(t.Context(), s, nil, "call_0")
	require.NoError(t, err)
	require.Len(t, traces, 5)
	assert.True(t, traces[0].Lines[0].Time.After(traces[1].Lines[0].Time))
	_, err = report.Find(t.Context(), s, nil, "")
	assert.ErrorIs(t, err, report.ErrNotFound)
}
