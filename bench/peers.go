package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// peer is failsafe-go's retry, breaker and timeout around one function.
type peer struct {
	exec failsafe.Executor[string]
}

// neverTrips is a threshold no run reaches. failsafe-go keeps a bit for each
// execution up to it, so that a larger one would hold a heap large enough to
// keep the garbage collector out of the measurement.
const neverTrips = 1 << 22

// newPeer returns a peer that makes three attempts without delay.
func newPeer() *peer {
	retry := retrypolicy.NewBuilder[string]().WithMaxAttempts(3).Build()
	breaker := circuitbreaker.NewBuilder[string]().WithFailureThreshold(neverTrips).WithDelay(time.Minute).Build()
	return &peer{failsafe.With(retry, breaker, timeout.New[string](time.Minute))}
}

// newOpenPeer returns a peer whose breaker is open.
func newOpenPeer() *peer {
	retry := retrypolicy.NewBuilder[string]().WithMaxAttempts(1).Build()
	breaker := circuitbreaker.NewBuilder[string]().WithDelay(time.Hour).Build()
	breaker.Open()
	return &peer{failsafe.With(retry, breaker, timeout.New[string](time.Minute))}
}

// call is the cooperative form: a tool that ignores its context is waited for.
func (p *peer) call(ctx context.Context, f toolFunc, args []byte) (string, error) {
	return p.exec.WithContext(ctx).GetWithExecution(func(e failsafe.Execution[string]) (string, error) {
		return f(e.Context(), args)
	})
}

// callAbandoning makes each attempt on a goroutine that can be left behind. A
// panic of the tool still ends the process.
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

// validate is what a careful program does by hand before the call.
func validate(s *jsonschema.Schema, args []byte) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("trailing text")
	}
	return s.Validate(v)
}

// expect turns the answer of a peer into whether it was the one expected.
func expect(err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("got error %v, want %v", err, want)
	}
	return nil
}

func direct(f toolFunc, args []byte) func() Call {
	return func() Call {
		return func(ctx context.Context) error {
			_, err := f(ctx, args)
			return err
		}
	}
}

func failsafeOf(newPeer func() *peer, f toolFunc, args []byte, want error) func() Call {
	return func() Call {
		p := newPeer()
		return func(ctx context.Context) error {
			_, err := p.call(ctx, f, args)
			return expect(err, want)
		}
	}
}

// isolatedOf is the least that can leave a hanging tool behind and outlive a panic:
// what a guard, or anybody, pays before it does anything else.
func isolatedOf(f toolFunc, args []byte, attempts int, want error) func() Call {
	return func() Call {
		return func(ctx context.Context) error {
			done := make(chan error, 1)
			go func() {
				defer func() {
					if p := recover(); p != nil {
						done <- fmt.Errorf("panic: %v", p)
					}
				}()
				var err error
				for range attempts {
					_, err = f(ctx, args)
				}
				done <- err
			}()
			limit := time.NewTimer(time.Minute)
			defer limit.Stop()
			select {
			case err := <-done:
				return expect(err, want)
			case <-limit.C:
				return context.DeadlineExceeded
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func abandonOf(f toolFunc, args []byte, want error) func() Call {
	return func() Call {
		p := newPeer()
		return func(ctx context.Context) error {
			_, err := p.callAbandoning(ctx, f, args)
			return expect(err, want)
		}
	}
}

func peersOf(f toolFunc, args []byte) func() Call {
	return func() Call {
		p, s := newPeer(), jsonschema.MustCompileString("refund.json", schemaText)
		return func(ctx context.Context) error {
			if err := validate(s, args); err != nil {
				return err
			}
			_, err := p.callAbandoning(ctx, f, args)
			return err
		}
	}
}
