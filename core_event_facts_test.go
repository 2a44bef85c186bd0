package toolguard_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// The events of a call know that they belong together, which call they were made
// in, and how much the model reads.
func TestEventsBelongTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &eventLog{}
		opts := toolguard.Options{Observer: log}
		inner := guardOf(t, plain{
			info: toolguard.Info{Name: "inner", Effect: toolguard.ReadOnly, Description: "Looks."},
			call: toolOf(0, fails(codeErr(toolguard.CodeServerError))).call,
		}, &opts)
		var sizes []int
		outer := guardOf(t, toolOf(toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
			sizes = append(sizes, len(doIn(ctx, inner).ForModel()))
			return toolguard.Result{Text: "four"}, nil
		}), &opts)
		env := do(outer)
		calls := log.of(toolguard.EventCall)
		require.Len(t, calls, 2)
		assert.NotZero(t, calls[0].Ref)
		assert.NotEqual(t, calls[0].Ref, calls[1].Ref)
		assert.Equal(t, calls[1].Ref, calls[0].Within)
		assert.Zero(t, calls[1].Within)
		assert.Equal(t, "Looks.", calls[0].Description)
		assert.Equal(t, sizes[0], calls[0].Bytes)
		assert.Equal(t, len(env.ForModel()), calls[1].Bytes)
		for _, a := range log.of(toolguard.EventAttempt) {
			assert.Contains(t, []uint64{calls[0].Ref, calls[1].Ref}, a.Ref)
		}
	})
}

// The event of a call that somebody approved says who, and how long that took.
func TestEventsKnowTheApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &eventLog{}
		d := &desk{answer: toolguard.Answer{Verdict: toolguard.ApprovalPending}}
		j := toolguard.NewMemoryJournal()
		g := guardOf(t, refundTool(new(bank), toolguard.NonIdempotent), &toolguard.Options{Journal: j, Approver: d, Observer: log})
		env := refundOf(inTurn("1"), g, "A")
		time.Sleep(time.Hour)
		_, err := toolguard.Decide(t.Context(), j, toolguard.Ruling{Key: env.Key, Verdict: toolguard.RulingApprove, By: "ben", Why: "small"})
		require.NoError(t, err)
		require.True(t, g.Resume(inTurn("1"), env.Key).OK)
		calls := log.of(toolguard.EventCall)
		require.Len(t, calls, 2)
		assert.Nil(t, calls[0].Approval)
		assert.Equal(t, env.Key, calls[0].Key)
		require.NotNil(t, calls[1].Approval)
		assert.Equal(t, "ben", calls[1].Approval.By)
		assert.Equal(t, time.Hour, calls[1].ApprovalWait)
	})
}

// A call that stands in for another is told of as made in it, and its context keeps
// what the other promised.
func TestAStandInBelongsToTheCallItStandsInFor(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]interface {
		toolguard.Observer
		of(toolguard.EventKind) []toolguard.Event
	}{"events": &eventLog{}, "spans": &lateSpans{}} {
		inBubble(t, name, func(t *testing.T) {
			other := toolOf(toolguard.ReadOnly, answers("from elsewhere"))
			other.info.Name = "almanac"
			opts := toolguard.Options{Observer: o, Retry: once}
			opts.Fallback = &toolguard.Fallback{Alternatives: []toolguard.Alternative{{Tool: toolOf(toolguard.ReadOnly, fails(errDown))}, {Tool: other}}}
			inner := guardOf(t, toolOf(toolguard.ReadOnly, fails(errDown)), &opts)
			outer := guardOf(t, named{"outer", toolguard.ReadOnly, func(ctx context.Context) (toolguard.Result, error) {
				return toolguard.Result{Text: doIn(ctx, inner).Result.Text}, nil
			}}, &toolguard.Options{Observer: o})
			assert.Equal(t, "from elsewhere", do(outer).Result.Text)
			calls := o.of(toolguard.EventCall)
			require.Len(t, calls, 4, "two stand-ins, the call, and the one around it")
			assert.Equal(t, calls[2].Ref, calls[0].Within)
			assert.Equal(t, calls[2].Ref, calls[1].Within)
			assert.Equal(t, calls[3].Ref, calls[2].Within)
			assert.Equal(t, "almanac", calls[1].Tool)
			for _, a := range o.of(toolguard.EventAttempt)[1:3] {
				assert.Equal(t, calls[2].Ref, a.Within)
			}
		})
	}
}

// slowStarter does not come back from starting a span until it is released.
type slowStarter struct {
	eventLog
	release chan struct{}
}

func (s *slowStarter) Start(ctx context.Context, _ toolguard.Event) (context.Context, func(toolguard.Event)) {
	<-s.release
	return ctx, nil
}

// An observer that hangs in Start is waited for once, and what it misses counted.
func TestAnObserverThatHangsInStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &slowStarter{release: make(chan struct{})}
		g := guardOf(t, toolOf(toolguard.ReadOnly, answers("fine")), &toolguard.Options{Observer: o})
		assert.Equal(t, time.Second, took(func() {
			for range 3 {
				assert.True(t, do(g).OK)
			}
		}), "its patience, once")
		assert.EqualValues(t, 6, g.Stats().LostEvents)
		close(o.release)
		synctest.Wait()
		assert.True(t, do(g).OK)
		assert.Len(t, o.of(toolguard.EventCall), 1, "it is asked again once it is back")
	})
}

// An event says of which tool it is, as it was then, and what held for the call.
func TestEventsSayWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	inBubble(t, "everything", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		tool := toolOf(toolguard.Idempotent, func(ctx context.Context) (toolguard.Result, error) {
			if err := s.send(ctx, http.MethodGet, "http://stock/first"); err == nil {
				return toolguard.Result{Text: "not reached"}, nil
			}
			return toolguard.Result{}, s.send(ctx, http.MethodGet, "http://stock/second")
		})
		tool.info.Version, tool.info.Source, tool.info.Description = "v7", "shop", "Counts."
		tool.info.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"$ref":"#/$defs/none"}}}`)
		events := &eventLog{}
		g := guardOf(t, tool, &toolguard.Options{
			Observer: events, Retry: toolguard.RetryPolicy{MaxAttempts: 1}, Timeout: toolguard.TimeoutPolicy{Attempt: 10 * time.Second, Budget: 40 * time.Second},
			Arguments: toolguard.ArgumentPolicy{Schema: toolguard.SchemaLenient},
		})
		began := time.Now()
		env := do(g)
		attempt, call := events.of(toolguard.EventAttempt)[0], events.of(toolguard.EventCall)[0]
		for _, e := range []toolguard.Event{attempt, call} {
			assert.Equal(t, []string{"tool", "v7", "shop", "Counts."}, []string{e.Tool, e.ToolVersion, e.Source, e.Description})
			assert.Equal(t, toolguard.Idempotent, e.Effect)
			assert.Len(t, e.SchemaDigest, 64)
			assert.Equal(t, g.Describe().NotEnforced, e.NotEnforced)
			assert.Contains(t, e.Detail, "503")
			assert.Equal(t, env.Error.Incident, e.Incident)
		}
		assert.NotEmpty(t, call.NotEnforced)
		assert.Equal(t, 2, attempt.Requests)
		assert.Equal(t, began.Add(10*time.Second), attempt.Deadline)
		assert.Equal(t, began.Add(40*time.Second), call.Deadline)

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		doIn(ctx, g)
		sooner, _ := ctx.Deadline()
		assert.Equal(t, sooner, events.of(toolguard.EventCall)[1].Deadline, "the caller's, if that is sooner")

		tool.info.Schema = json.RawMessage(`{"type":"object"}`)
		other := &eventLog{}
		do(guardOf(t, tool, &toolguard.Options{Observer: other, Retry: once}))
		assert.NotEqual(t, call.SchemaDigest, other.of(toolguard.EventCall)[0].SchemaDigest)
	})
}
