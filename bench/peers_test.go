// Package bench measures guards beside the same work put together from peers,
// in one run. See docs/performance.md for the table and what it means.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

var errDown = errors.New("down")

// peer is failsafe-go's retry, breaker and timeout around one function.
type peer struct {
	exec failsafe.Executor[string]
}

func newPeer() *peer {
	retry := retrypolicy.NewBuilder[string]().WithMaxAttempts(3).Build()
	// The threshold keeps the breaker closed while three attempts fail.
	breaker := circuitbreaker.NewBuilder[string]().WithFailureThreshold(1 << 30).WithDelay(time.Minute).Build()
	limit := timeout.New[string](time.Minute)
	return &peer{failsafe.With(retry, breaker, limit)}
}

func newOpenPeer() *peer {
	breaker := circuitbreaker.NewBuilder[string]().WithDelay(time.Hour).Build()
	breaker.Open()
	retry := retrypolicy.NewBuilder[string]().WithMaxAttempts(1).Build()
	return &peer{failsafe.With(retry, breaker, timeout.New[string](time.Minute))}
}

type toolFunc func(context.Context, []byte) (string, error)

// call is the cooperative form: a tool that ignores its context is waited for.
func (p *peer) call(ctx context.Context, f toolFunc, args []byte) (string, error) {
	return p.exec.WithContext(ctx).GetWithExecution(func(e failsafe.Execution[string]) (string, error) {
		return f(e.Context(), args)
	})
}

// callAbandoning runs each attempt on a goroutine that can be left behind.
func (p *peer) callAbandoning(ctx context.Context, f toolFunc, args []byte) (string, error) {
	type answer struct {
		text string
		err  error
	}
	return p.exec.WithContext(ctx).GetWithExecution(func(e failsafe.Execution[string]) (string, error) {
		done := make(chan answer, 1)
		go func() {
			text, err := f(e.Context(), args)
			done <- answer{text, err}
		}()
		select {
		case a := <-done:
			return a.text, a.err
		case <-e.Context().Done():
			return "", e.Context().Err()
		}
	})
}

// decodeAndValidate is what a careful program does by hand before the call.
func decodeAndValidate(s *jsonschema.Schema, args []byte) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("trailing data")
	}
	return s.Validate(v)
}
