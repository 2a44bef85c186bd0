package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// Report: tsouza/cerberus#738, rubyist/circuitbreaker#42, microsoft/agent-governance-toolkit#2202 (case n01)
func TestCallersThatLeaveOpenNoBreaker(t *testing.T) {
	t.Parallel()
	for name, asError := range map[string]func(context.Context) error{
		"as it is": context.Context.Err,
		"wrapped":  func(ctx context.Context) error { return fmt.Errorf("query: %w", ctx.Err()) },
		"as text":  func(context.Context) error { return errors.New("driver: operation was interrupted") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := caseGuard(t, toolguard.Info{}, nil, func(ctx context.Context) (toolguard.Result, error) {
					<-ctx.Done()
					return toolguard.Result{}, asError(ctx)
				})
				for range 10 {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, cancel)
					require.Equal(t, toolguard.CodeCanceled, codeOf(doIn(ctx, g)))
				}
				b := g.Stats().Breakers[0]
				assert.Equal(t, toolguard.BreakerClosed, b.State)
				assert.Zero(t, b.Streak)
			})
		})
	}
}

// Report: github/gh-aw-mcpg#10686, afreidah/s3-orchestrator#424 (case n03)
func TestProbeIsGivenBackOnEveryPath(t *testing.T) {
	t.Parallel()
	release := func(t *testing.T) run {
		c := make(chan struct{})
		t.Cleanup(func() { close(c) })
		return deafUntil(c)
	}
	for name, probe := range map[string]func(t *testing.T) run{
		"panic": func(*testing.T) run {
			return func(context.Context) (toolguard.Result, error) { panic("probe") }
		},
		"transport error": func(*testing.T) run { return fails(reply(502, "")) },
		"no answer":       func(*testing.T) run { return obeys },
		"abandoned":       release,
		"goroutine ended": func(*testing.T) run {
			return func(context.Context) (toolguard.Result, error) {
				runtime.Goexit()
				return toolguard.Result{}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				down := fails(reply(503, ""))
				call, runs := caseSteps(down, down, probe(t), answers("done"))
				g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Breaker: toolguard.BreakerPolicy{Failures: 2, OpenFor: 20 * time.Second}}, call)
				doIn(t.Context(), g)
				doIn(t.Context(), g)
				env := doIn(t.Context(), g)
				require.Equal(t, toolguard.CodeBreakerOpen, codeOf(env))
				assert.True(t, env.RetryAt.After(time.Now()), "the time to come back is not in the past")

				time.Sleep(20 * time.Second)
				doIn(t.Context(), g) // the probe
				time.Sleep(20 * time.Second)
				assert.True(t, doIn(t.Context(), g).OK, "another call is let through")
				assert.Equal(t, 4, runs())
			})
		})
	}
	t.Run("canceled", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			down := fails(reply(503, ""))
			call, _ := caseSteps(down, down, obeys, answers("done"))
			g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Breaker: toolguard.BreakerPolicy{Failures: 2, OpenFor: 20 * time.Second}}, call)
			doIn(t.Context(), g)
			doIn(t.Context(), g)
			time.Sleep(20 * time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			go doIn(ctx, g)
			synctest.Wait()
			env := doIn(t.Context(), g)
			require.Equal(t, toolguard.CodeBreakerOpen, codeOf(env), "one probe at a time")
			assert.True(t, env.RetryAt.After(time.Now()))
			cancel()
			synctest.Wait()
			assert.True(t, doIn(t.Context(), g).OK, "a probe that was called off proves nothing, and the next may go")
		})
	})
}

// rpcError is an error with an RPC status, as generated clients have them.
type (
	rpcError  struct{ status *rpcStatus }
	rpcStatus struct{ code rpcCode }
	rpcCode   uint32
)

func (e *rpcError) Error() string          { return "rpc error" }
func (e *rpcError) GRPCStatus() *rpcStatus { return e.status }
func (s *rpcStatus) Code() rpcCode         { return s.code }

func rpc(code rpcCode) error { return &rpcError{&rpcStatus{code}} }

// Report: NousResearch/hermes-agent#11113 (case n04), sony/gobreaker#29 (case n05)
func TestRefusalsAreSignsOfLife(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err    error
		counts bool
	}{
		"400":               {reply(400, ""), false},
		"401":               {reply(401, ""), false},
		"404":               {reply(404, ""), false},
		"409":               {reply(409, ""), false},
		"422":               {reply(422, ""), false},
		"429":               {reply(429, ""), false},
		"500":               {reply(500, ""), true},
		"503":               {reply(503, ""), true},
		"rpc invalid":       {rpc(3), false},
		"rpc not found":     {rpc(5), false},
		"rpc exists":        {rpc(6), false},
		"rpc permission":    {rpc(7), false},
		"rpc unimplemented": {rpc(12), false},
		"rpc unavailable":   {rpc(14), true},
		"rpc deadline":      {rpc(4), true},
		"a rule":            {toolguard.Business("the order is closed"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := caseGuard(t, toolguard.Info{}, nil, fails(tt.err))
				for range 12 {
					doIn(t.Context(), g)
				}
				state := g.Stats().Breakers[0].State
				assert.Equal(t, tt.counts, state == toolguard.BreakerOpen, state)
			})
		})
	}
	t.Run("arguments", func(t *testing.T) {
		t.Parallel()
		g := caseGuard(t, toolguard.Info{Schema: json.RawMessage(`{"required":["x"]}`)}, nil, answers("done"))
		for range 12 {
			require.Equal(t, toolguard.CodeSchemaViolation, codeOf(doIn(t.Context(), g)))
		}
		assert.Empty(t, g.Stats().Breakers)
	})
}

// Report: TriliumNext/Trilium#10671, different-ai/openwork#4438, IBM/mcp-context-forge#4360 (case n07)
func TestTenantsHaveBreakersOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Breaker: toolguard.BreakerPolicy{MaxKeys: 2}},
			func(ctx context.Context) (toolguard.Result, error) {
				switch toolguard.ScopeFrom(ctx).Tenant {
				case "wrong key":
					return toolguard.Result{}, reply(401, "")
				case "down":
					return toolguard.Result{}, reply(503, "")
				}
				return toolguard.Result{Text: "done"}, nil
			})
		of := func(tenant string) toolguard.Code {
			return codeOf(doIn(toolguard.WithScope(t.Context(), toolguard.Scope{Tenant: tenant}), g))
		}
		for range 10 {
			require.Equal(t, toolguard.CodeAuthExpired, of("wrong key"), "it never opens")
		}
		for range 5 {
			require.Equal(t, toolguard.CodeServiceUnavailable, of("down"))
		}
		assert.Equal(t, toolguard.CodeBreakerOpen, of("down"))
		assert.Empty(t, of("fine"))
		stats := g.Stats()
		assert.Len(t, stats.Breakers, 2, "the keys are bounded")
		assert.EqualValues(t, 1, stats.EvictedBreakers)
	})
}

// Report: github/gh-aw-mcpg#10686, tsouza/cerberus#738 (case n10)
func TestOpenBreakerAnswersAtOnceAndNamesAWayOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		call, runs := caseSteps(fails(reply(503, "")))
		g := caseGuard(t, toolguard.Info{Name: "rates", Alternatives: []string{"rates_archive"}}, nil, call)
		for range 5 {
			doIn(t.Context(), g)
		}
		began := time.Now()
		for range 20 {
			env := doIn(t.Context(), g)
			require.Equal(t, toolguard.CodeBreakerOpen, codeOf(env))
			assert.Equal(t, toolguard.OutcomeNotStarted, env.Error.Outcome)
			assert.Equal(t, began.Add(30*time.Second), env.RetryAt)
			assert.Contains(t, env.Suggestion, "rates_archive")
			assert.Contains(t, env.ForModel(), `"retry_after_ms":30000`)
		}
		assert.Zero(t, time.Since(began))
		assert.Equal(t, 5, runs())
	})
}
