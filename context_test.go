package toolguard_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// oddContext panics in one of its methods, from when the tool runs if not at once.
type oddContext struct {
	context.Context
	panics string
	now    *atomic.Bool
}

func (o oddContext) may(method string) {
	if o.now.Load() && o.panics == method {
		panic(method)
	}
}

func (o oddContext) Deadline() (time.Time, bool) { o.may("Deadline"); return o.Context.Deadline() }
func (o oddContext) Done() <-chan struct{}       { o.may("Done"); return o.Context.Done() }
func (o oddContext) Err() error                  { o.may("Err"); return o.Context.Err() }
func (o oddContext) Value(key any) any           { o.may("Value"); return o.Context.Value(key) }

// Whatever the caller's context does, there is an answer, in time, and nobody else's
// goroutine is harmed: a timer's panic would end the process.
func TestContextsThatPanic(t *testing.T) {
	for _, method := range []string{"Deadline", "Done", "Err", "Value"} {
		for when, atOnce := range map[string]bool{"at once": true, "while the tool runs": false} {
			for what, takes := range map[string]time.Duration{"quick": 0, "slow": time.Second, "hanging": time.Hour} {
				inBubble(t, method+" "+when+", "+what, func(t *testing.T) {
					now := new(atomic.Bool)
					now.Store(atOnce)
					log := &eventLog{}
					g := guardOf(t, toolOf(toolguard.NonIdempotent, func(context.Context) (toolguard.Result, error) {
						now.Store(true)
						time.Sleep(takes)
						return toolguard.Result{}, nil
					}), &toolguard.Options{Timeout: shortTime, Observer: log})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var env toolguard.Envelope
					assert.LessOrEqual(t, took(func() { env = doIn(oddContext{ctx, method, now}, g) }), shortBound)
					requireEnvelope(t, env)
					if env.Attempts == 0 {
						assert.Equal(t, "internal_error/not_started", verdict(env))
					}
					assert.Zero(t, g.Stats().InProgress)
					time.Sleep(2 * time.Hour)
					synctest.Wait()
					assert.Zero(t, g.Stats().Abandoned)
					assert.Len(t, log.of(toolguard.EventCall), 1)
				})
			}
		}
	}
	inBubble(t, "a nil pointer", func(t *testing.T) {
		var none *oddContext
		assert.Equal(t, "internal_error/not_started", verdict(doIn(none, guardOf(t, toolOf(toolguard.ReadOnly, answers("")), nil))))
	})
}
