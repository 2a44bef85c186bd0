package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// alertLog keeps what a monitor says.
type alertLog struct {
	mu   sync.Mutex
	said []string
}

func (l *alertLog) add(a toolguard.Alert) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprintf("%s firing=%t %d/%d", a.Health.Tool, a.Firing, a.Health.Failures, a.Health.Calls))
}

func (l *alertLog) all() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.said...)
}

func monitorOf(t *testing.T, o toolguard.MonitorOptions) *toolguard.Monitor {
	t.Helper()
	m, err := toolguard.NewMonitor(&o)
	require.NoError(t, err)
	return m
}

// ended is the event of a call that ends now.
func ended(tool string, code toolguard.Code, took time.Duration) toolguard.Event {
	e := toolguard.Event{Kind: toolguard.EventCall, Tool: tool, Time: time.Now(), Duration: took, OK: code == "", Code: code}
	if code != "" {
		e.Category = code.Category()
	}
	return e
}

func feed(m *toolguard.Monitor, n int, tool string, code toolguard.Code) {
	for range n {
		m.Observe(context.Background(), ended(tool, code, time.Millisecond))
	}
}

func TestMonitorAlertsOnceAndClearsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log alertLog
		m := monitorOf(t, toolguard.MonitorOptions{Alert: log.add})
		feed(m, 16, "pay", "")
		feed(m, 3, "pay", toolguard.CodeServerError)
		assert.Empty(t, log.all(), "19 calls are too few, whatever their rate")
		feed(m, 1, "pay", "")
		assert.Equal(t, []string{"pay firing=true 3/20"}, log.all())
		feed(m, 30, "pay", toolguard.CodeServerError)
		assert.Len(t, log.all(), 1, "it fires once")
		time.Sleep(30 * time.Second)
		feed(m, 300, "pay", "")
		assert.Len(t, log.all(), 1, "33 of 350 is below the rate, and above what clears")
		feed(m, 400, "pay", "")
		assert.Len(t, log.all(), 2)
		assert.Contains(t, log.all()[1], "firing=false")
	})
}

// A tool nobody calls any more does not fail any more.
func TestMonitorClearsWithoutCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log alertLog
		m := monitorOf(t, toolguard.MonitorOptions{Alert: log.add})
		feed(m, 20, "pay", toolguard.CodeAttemptTimeout)
		time.Sleep(55 * time.Second)
		assert.Len(t, log.all(), 1)
		time.Sleep(10 * time.Second)
		assert.Equal(t, []string{"pay firing=true 20/20", "pay firing=false 0/0"}, log.all())
	})
}

func TestMonitorCountsFailuresNotAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := monitorOf(t, toolguard.MonitorOptions{})
		feed(m, 5, "pay", toolguard.CodeBusinessRule)
		feed(m, 4, "pay", toolguard.CodeSchemaViolation)
		feed(m, 3, "pay", toolguard.CodeServerError)
		feed(m, 2, "pay", toolguard.CodeCanceled)
		feed(m, 2, "pay", toolguard.CodeCallerDeadline)
		m.Observe(t.Context(), toolguard.Event{Kind: toolguard.EventAttempt, Tool: "pay", Code: toolguard.CodeServerError})
		for i := range 3 {
			feed(m, 1, fmt.Sprint("invented", i), toolguard.CodeUnknownTool)
		}
		tools := m.Tools()
		require.Len(t, tools, 2)
		assert.Equal(t, toolguard.UnknownTool, tools[0].Tool)
		assert.Equal(t, 3, tools[0].Calls, "invented names are counted as one")
		assert.Equal(t, 12, tools[1].Calls)
		assert.Equal(t, 3, tools[1].Failures)
		assert.Equal(t, map[toolguard.Category]int{
			toolguard.CategoryBusiness: 5, toolguard.CategoryParam: 4, toolguard.CategoryUnavailable: 3,
		}, tools[1].ByCategory)
	})
}

func TestMonitorPercentiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := monitorOf(t, toolguard.MonitorOptions{})
		for i := range 1000 {
			m.Observe(t.Context(), ended("pay", "", time.Duration(i+1)*time.Millisecond))
		}
		h := m.Tools()[0]
		for want, got := range map[time.Duration]time.Duration{500 * time.Millisecond: h.P50, 950 * time.Millisecond: h.P95, 990 * time.Millisecond: h.P99} {
			assert.InEpsilon(t, want, got, .07)
		}
		m.Observe(t.Context(), ended("odd", "", -time.Second))
		m.Observe(t.Context(), ended("odd", "", 1000*time.Hour))
		assert.Positive(t, m.Tools()[0].P50)
	})
}

// Invariant 9: the function may ask the monitor, take its time, panic or exit.
func TestMonitorAlertsOutsideItsLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var m *toolguard.Monitor
		var log alertLog
		m = monitorOf(t, toolguard.MonitorOptions{Alert: func(a toolguard.Alert) {
			log.add(a)
			_ = m.Tools()
			switch a.Health.Tool {
			case "panics":
				panic("x")
			case "exits":
				runtime.Goexit()
			case "hangs":
				<-release
			}
		}})
		for _, tool := range []string{"panics", "exits", "hangs", "last"} {
			feed(m, 20, tool, toolguard.CodeServerError)
		}
		assert.Len(t, log.all(), 3, "one at a time, and none lost to a panic")
		close(release)
		assert.Len(t, log.all(), 4)
		time.Sleep(2 * time.Minute)
		assert.Len(t, log.all(), 8)
	})
}

func TestMonitorForgetsTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log alertLog
		m := monitorOf(t, toolguard.MonitorOptions{MaxTools: 3, Alert: log.add})
		for i := range 50 {
			feed(m, 20, fmt.Sprint("tool", i), toolguard.CodeServerError)
		}
		assert.Len(t, m.Tools(), 3)
		time.Sleep(5 * time.Minute)
		assert.False(t, m.Tools()[0].Firing)
		assert.LessOrEqual(t, len(log.all()), 53, "an alert that is forgotten does not clear")
	})
}

func TestMonitorOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]toolguard.MonitorOptions{
		"Window": {Window: time.Millisecond}, "Rate": {Rate: 1}, "Clear": {Clear: .2},
		"MinCalls": {MinCalls: -1}, "MaxTools": {MaxTools: -1},
	} {
		_, err := toolguard.NewMonitor(&o)
		assert.ErrorContains(t, err, "MonitorOptions."+field)
	}
	_, err := toolguard.NewMonitor(nil)
	assert.NoError(t, err)
}

// spanner counts the spans it starts and ends.
type spanner struct {
	eventLog
	open int
}

func (s *spanner) Start(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
	s.open++
	return context.WithValue(ctx, s, true), func(toolguard.Event) { s.open-- }
}

func TestObserversShareEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, last, a, b := &eventLog{}, &eventLog{}, &spanner{}, &spanner{}
		all := toolguard.Observers(first, nil, a,
			observe(func(context.Context, toolguard.Event) { panic("x") }),
			observe(func(context.Context, toolguard.Event) { runtime.Goexit() }), b, last)
		g := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			if ctx.Value(a) == nil || ctx.Value(b) == nil {
				return toolguard.Result{}, errors.New("not inside the spans")
			}
			return toolguard.Result{Text: "inside"}, nil
		}), &toolguard.Options{Observer: all})
		assert.True(t, do(g).OK)
		synctest.Wait()
		for _, log := range []*eventLog{first, &a.eventLog, &b.eventLog, last} {
			assert.Len(t, log.of(toolguard.EventCall), 1)
			assert.Len(t, log.of(toolguard.EventAttempt), 1)
		}
	})
	assert.NotImplements(t, (*toolguard.SpanObserver)(nil), toolguard.Observers(&eventLog{}))
	synctest.Test(t, func(t *testing.T) {
		a, b := &spanner{}, &spanner{}
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("ok")), &toolguard.Options{Observer: toolguard.Observers(a, b)})
		do(g)
		assert.Zero(t, a.open+b.open, "every span that starts ends")
	})
}

func TestRedactorLeavesNoSecretsHostsOrPaths(t *testing.T) {
	t.Parallel()
	r := toolguard.NewRedactor(nil)
	got := r.Error(errors.New("dial postgres://app:hunter2@db-7.internal/prod: token ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake1234\nat /srv/app/main.go"), 300)
	for _, secret := range []string{"hunter2", "db-7", "ghp_", "/srv", "\n"} {
		assert.NotContains(t, got, secret)
	}
	assert.Empty(t, r.Error(nil, 10))
	assert.LessOrEqual(t, len([]rune(r.Text("a long text of many words", 9))), 9)
	assert.Equal(t, "[redacted]", toolguard.NewRedactor(func(string) string { panic("x") }).Text("a", 9))
	assert.NotPanics(t, func() { r.Error((*typedNil)(nil), 9) })
}

type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }
