package report_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
)

var noon = time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)

// day is a store with a day of calls of several tools, the same each time. It is
// made once and only read.
func day(t testing.TB) string {
	t.Helper()
	made, err := theDay()
	require.NoError(t, err)
	return made
}

var theDay = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		return "", err
	}
	cleanups = append(cleanups, func() { os.RemoveAll(dir) })
	name := filepath.Join(dir, "events.db")
	return name, fill(name, func(observe func(toolguard.Event)) {
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
})

var cleanups []func()

func TestMain(m *testing.M) {
	status := m.Run()
	for _, f := range cleanups {
		f()
	}
	os.Exit(status)
}

func callAt(at time.Time, tool string, ref uint64, random *rand.Rand, bad bool) toolguard.Event {
	e := toolguard.Event{
		Kind: toolguard.EventCall, Time: at, Ref: ref * 0x9e3779b97f4a7c15, CallID: fmt.Sprintf("call_%d", ref), Tool: tool, Effect: toolguard.ReadOnly,
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
func stored(t testing.TB, with func(observe func(toolguard.Event))) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "events.db")
	require.NoError(t, fill(name, with))
	return name
}

func fill(name string, with func(observe func(toolguard.Event))) error {
	s, err := dial.Open(context.Background(), name)
	if err != nil {
		return err
	}
	r, err := eventstore.NewRecorder(s, &eventstore.Options{Queue: 1 << 20})
	if err != nil {
		return err
	}
	with(func(e toolguard.Event) { r.Observe(context.Background(), e) })
	return errors.Join(r.Close(context.Background()), s.Close())
}
