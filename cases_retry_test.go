package toolguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// Report: pydantic/pydantic-ai#7065 (case g01), NousResearch/hermes-agent#84738 (case g02)
func TestRetryAfterIsReadLeniently(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) func() string {
		return func() string { return time.Now().UTC().Add(d).Format(http.TimeFormat) }
	}
	is := func(text string) func() string { return func() string { return text } }
	tests := map[string]struct {
		header    func() string
		min, max  time.Duration // the wait before the second attempt
		endsAfter time.Duration // there is no second attempt, and the wait is named
	}{
		"seconds":           {header: is("7"), min: 7 * time.Second, max: 8 * time.Second},
		"space around":      {header: is(" 7 "), min: 7 * time.Second, max: 8 * time.Second},
		"a fraction":        {header: is("1.25"), min: 1250 * time.Millisecond, max: 1400 * time.Millisecond},
		"a date":            {header: in(9 * time.Second), min: 9 * time.Second, max: 10 * time.Second},
		"a date long ago":   {header: is("Tue, 05 May 1998 07:28:00 GMT"), max: time.Second},
		"an old date form":  {header: is("Tuesday, 05-May-98 07:28:00 GMT"), max: time.Second},
		"negative":          {header: is("-1"), max: time.Second},
		"negative, longer":  {header: is("-86400"), max: time.Second},
		"zero":              {header: is("0"), max: time.Second},
		"no number":         {header: is("soon"), max: time.Second},
		"longer than we do": {header: is("120"), endsAfter: 2 * time.Minute},
		"beyond any number": {header: is("99999999999999999999999"), endsAfter: 365 * 24 * time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				call, runs := caseSteps(fails(reply(429, tt.header())), answers("done"))
				g := caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, nil, call)
				began := time.Now()
				env := doIn(t.Context(), g)
				wait := time.Since(began)
				if tt.endsAfter > 0 {
					assert.Equal(t, toolguard.CodeRateLimited, codeOf(env))
					assert.Equal(t, tt.endsAfter, env.Error.RetryAfter)
					assert.Equal(t, 1, runs())
					assert.Zero(t, wait)
					return
				}
				require.True(t, env.OK)
				assert.GreaterOrEqual(t, wait, tt.min)
				assert.LessOrEqual(t, wait, tt.max)
			})
		})
	}
}

// Report: earendil-works/pi#4991, mims-harvard/ToolUniverse#217 (case g04), CopilotKit/CopilotKit#4772 (case g05)
func TestLongWaitEndsTheCallAndNamesTheTime(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{3 * time.Hour, 20 * 24 * time.Hour} {
		t.Run(wait.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				seconds := fmt.Sprint(int(wait / time.Second))
				call, runs := caseSteps(fails(reply(429, seconds)))
				g := caseGuard(t, toolguard.Info{Effect: toolguard.Idempotent, SingleRequest: true},
					&toolguard.Options{Timeout: toolguard.TimeoutPolicy{Budget: caseForever}}, call) // there would be time
				began := time.Now()
				env := doIn(t.Context(), g)
				assert.Zero(t, time.Since(began))
				assert.Equal(t, 1, runs())
				assert.Equal(t, toolguard.CodeRateLimited, codeOf(env))
				assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
				assert.False(t, env.Error.Retryable, "no model waits that long")
				assert.Equal(t, began.Add(wait), env.RetryAt)
				after, ok := toolguard.RetryAfter(env.Err())
				assert.True(t, ok)
				assert.Equal(t, wait, after)
			})
		})
	}
}

// Report: HKUDS/nanobot#2760, mpfaffenberger/code_puppy#317, livekit/agents#5335 (case g06)
func TestNestedGuardsDoNotMultiplyAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		call, runs := caseSteps(fails(reply(503, "")))
		info := toolguard.Info{Name: "forecast", Effect: toolguard.ReadOnly}
		inner := caseGuard(t, info, &toolguard.Options{Retry: toolguard.RetryPolicy{MaxAttempts: 3}}, call)
		outer, err := toolguard.New(inner, &toolguard.Options{Retry: toolguard.RetryPolicy{MaxAttempts: 4}})
		require.NoError(t, err)
		env := doIn(t.Context(), outer)
		assert.Equal(t, toolguard.CodeServiceUnavailable, codeOf(env))
		assert.Equal(t, 4, runs(), "not 12")

		call, runs = caseSteps(fails(reply(503, "")))
		inner = caseGuard(t, info, nil, call)
		other := caseGuard(t, toolguard.Info{Name: "trip", Effect: toolguard.ReadOnly}, &toolguard.Options{Retry: toolguard.RetryPolicy{Off: true}},
			func(ctx context.Context) (toolguard.Result, error) {
				return toolguard.Result{}, doIn(ctx, inner).Err()
			})
		assert.Equal(t, toolguard.CodeServiceUnavailable, codeOf(doIn(t.Context(), other)))
		assert.Equal(t, 3, runs(), "a tool that uses another one leaves it its attempts")
	})
}

// Report: earendil-works/pi#9595, mastra-ai/mastra#19885 (case g07)
func TestWaitIsFoundThroughWrapping(t *testing.T) {
	t.Parallel()
	limited := reply(429, "12")
	for name, err := range map[string]error{
		"wrapped":          fmt.Errorf("price list: %w", limited),
		"wrapped twice":    fmt.Errorf("catalogue: %w", fmt.Errorf("price list: %w", limited)),
		"one of a join":    errors.Join(errors.New("cache: empty"), limited),
		"beside another":   fmt.Errorf("%w: %w", errors.New("catalogue"), limited),
		"author's wrapper": toolguard.NotStarted(fmt.Errorf("price list: %w", limited)),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				call, runs := caseSteps(fails(err), answers("done"))
				g := caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, nil, call)
				began := time.Now()
				require.True(t, doIn(t.Context(), g).OK)
				assert.Equal(t, 2, runs())
				assert.GreaterOrEqual(t, time.Since(began), 12*time.Second)
			})
		})
	}
}

// Report: hashicorp/go-retryablehttp#272, openfga/go-sdk#378, gojek/heimdall#145 (case g08)
func TestNoWaitPastTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		call, runs := caseSteps(fails(reply(429, "2")), answers("done"))
		g := caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, nil, call)
		ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond)
		defer cancel()
		began := time.Now()
		env := doIn(ctx, g)
		assert.Zero(t, time.Since(began))
		assert.Equal(t, toolguard.CodeRateLimited, codeOf(env), "the reason is not lost to the deadline")
		assert.Equal(t, 2*time.Second, env.Error.RetryAfter)
		assert.Equal(t, 1, runs())
	})
}

// Report: hemilabs/heminetwork#664, onosproject/onos-lib-go#127 (case g10)
func TestWaitsNeverOverflow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seen := &eventLog{}
		g := caseGuard(t, toolguard.Info{Effect: toolguard.ReadOnly}, &toolguard.Options{
			Observer: seen,
			Timeout:  toolguard.TimeoutPolicy{Attempt: time.Second, Budget: caseForever},
			Breaker:  toolguard.BreakerPolicy{Off: true},
			Retry: toolguard.RetryPolicy{
				MaxAttempts: 1200, BaseDelay: time.Second, MaxDelay: 5 * time.Second, BudgetFloor: 5000,
			},
		}, fails(reply(503, "")))
		env := doIn(t.Context(), g)
		assert.Equal(t, 1200, env.Attempts)
		longest := time.Duration(0)
		for _, e := range seen.of(toolguard.EventAttempt) {
			require.GreaterOrEqual(t, e.Wait, time.Duration(0), "attempt %d", e.Attempt)
			require.LessOrEqual(t, e.Wait, 5*time.Second, "attempt %d", e.Attempt)
			longest = max(longest, e.Wait)
		}
		assert.Greater(t, longest, 4*time.Second)
	})
}

// Report: go-resty/resty#777, softonic/axios-retry#66, adamcavendish/aioduct#79 (case g15)
func TestSentAndUnansweredIsUnknown(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		effect   toolguard.Effect
		header   time.Duration // the client's own limit
		code     toolguard.Code
		outcome  toolguard.Outcome
		attempts int
	}{
		"the guard's deadline":      {toolguard.NonIdempotent, caseForever, toolguard.CodeAttemptTimeout, toolguard.OutcomeUnknown, 1},
		"the client's own":          {toolguard.NonIdempotent, 3 * time.Second, toolguard.CodeDownstreamTimeout, toolguard.OutcomeUnknown, 1},
		"a tool that only looks":    {toolguard.ReadOnly, 3 * time.Second, toolguard.CodeDownstreamTimeout, toolguard.OutcomeFailed, 3},
		"a tool that may be resent": {toolguard.Idempotent, 3 * time.Second, toolguard.CodeDownstreamTimeout, toolguard.OutcomeUnknown, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				base := serveInMemory(t, func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
				})
				base.ResponseHeaderTimeout = tt.header
				client, err := httpguard.NewClient(httpguard.Options{Base: base})
				require.NoError(t, err)
				g := caseGuard(t, toolguard.Info{Effect: tt.effect, SingleRequest: true},
					&toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 10 * time.Second, Budget: time.Minute}},
					func(ctx context.Context) (toolguard.Result, error) {
						req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://bank/transfers", strings.NewReader("{}"))
						if err != nil {
							return toolguard.Result{}, err
						}
						resp, err := client.Do(req)
						if err != nil {
							return toolguard.Result{}, err
						}
						return toolguard.Result{Text: "sent"}, resp.Body.Close()
					})
				env := doIn(t.Context(), g)
				assert.Equal(t, tt.code, codeOf(env))
				assert.Equal(t, tt.outcome, env.Error.Outcome)
				assert.Equal(t, tt.attempts, env.Attempts)
				assert.Equal(t, tt.effect != toolguard.NonIdempotent && tt.effect != toolguard.ReadOnly, env.Error.Retryable)
			})
		})
	}
}
