package report_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
)

var noon = time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)

// day is a store with a day of calls of several tools, the same each time.
func day(t testing.TB) string {
	return stored(t, func(observe func(toolguard.Event)) {
		random := rand.New(rand.NewPCG(1, 2))
		ref := uint64(1)
		for minute := range 48 * 60 {
			at := noon.Add(-24*time.Hour + time.Duration(minute)*time.Minute)
			bad := minute > 36*60 && minute < 38*60
			for _, tool := range []string{"search_orders", "refund", "send_email", "get_weather"} {
				ref++
				observe(callAt(at, tool, ref, random, bad && tool != "get_weather"))
			}
		}
		for i, state := range []toolguard.BreakerState{toolguard.BreakerOpen, toolguard.BreakerHalfOpen, toolguard.BreakerOpen, toolguard.BreakerHalfOpen, toolguard.BreakerClosed} {
			from := []toolguard.BreakerState{toolguard.BreakerClosed, toolguard.BreakerOpen, toolguard.BreakerHalfOpen, toolguard.BreakerOpen, toolguard.BreakerHalfOpen}[i]
			at := noon.Add(12*time.Hour + time.Duration(i*i*7)*time.Minute)
			observe(toolguard.Event{Kind: toolguard.EventAttempt, Time: at, Tool: "refund", Ref: 5, Attempt: 1, Attempts: 1, Code: toolguard.CodeServerError,
				Category: toolguard.CategoryUnavailable, Decision: toolguard.DecisionStop, Transitions: []toolguard.Transition{{From: from, To: state, At: at}}})
		}
	})
}

func callAt(at time.Time, tool string, ref uint64, random *rand.Rand, bad bool) toolguard.Event {
	e := toolguard.Event{
		Kind: toolguard.EventCall, Time: at, Ref: ref, CallID: fmt.Sprintf("call_%d", ref), Tool: tool, Effect: toolguard.ReadOnly,
		OK: true, Outcome: toolguard.OutcomeSucceeded, Attempts: 1, Duration: time.Duration(random.ExpFloat64()*float64(120*time.Millisecond)) + 8*time.Millisecond,
	}
	dice := random.Float64()
	fail := func(code toolguard.Code, o toolguard.Outcome, d toolguard.Decision, text string) {
		e.OK, e.Code, e.Category, e.Outcome, e.Decision = false, code, code.Category(), o, d
		e.Incident = fmt.Sprintf("inc%d", ref)
		if e.Err = nil; text != "" {
			e.Err = errors.New(text)
		}
	}
	switch {
	case bad && dice < .5:
		e.Attempts, e.Duration = 3, e.Duration*9
		fail(toolguard.CodeServiceUnavailable, toolguard.OutcomeFailed, toolguard.DecisionStop, "the service is being restarted")
	case bad && dice < .65 && tool == "refund":
		e.Duration = 60 * time.Second
		fail(toolguard.CodeAttemptTimeout, toolguard.OutcomeUnknown, toolguard.DecisionStop, "")
	case dice < .03:
		e.Attempts = 0
		fail(toolguard.CodeSchemaViolation, toolguard.OutcomeNotStarted, toolguard.DecisionRefuse, "")
	case dice < .05:
		fail(toolguard.CodeNotFound, toolguard.OutcomeFailed, toolguard.DecisionStop, "no such order")
	case dice < .12:
		e.Attempts, e.Decision, e.Duration = 0, toolguard.DecisionReuse, time.Millisecond
	case dice < .14:
		e.Decision, e.Why = toolguard.DecisionFallback, "almanac"
	case dice < .2:
		e.Attempts = 2
	}
	return e
}

// stored fills a store and returns its name.
func stored(t testing.TB, fill func(observe func(toolguard.Event))) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "events.db")
	s, err := dial.Open(context.Background(), name)
	require.NoError(t, err)
	defer s.Close()
	r, err := eventstore.NewRecorder(s, &eventstore.Options{Queue: 1 << 20})
	require.NoError(t, err)
	fill(func(e toolguard.Event) { r.Observe(context.Background(), e) })
	require.NoError(t, r.Close(context.Background()))
	require.Zero(t, r.Stats().Dropped)
	return name
}
