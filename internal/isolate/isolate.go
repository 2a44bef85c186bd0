// Package isolate runs other people's code so that it can do no harm: what it
// does wrong becomes a value, and it cannot hold the caller up for longer than
// agreed.
package isolate

import (
	"context"
	"errors"
	"runtime/debug"
	"time"
)

// ErrTimeout says that the code did not return in time. It may still run.
var ErrTimeout = errors.New("did not return in time")

// ErrExited says that the code ended its goroutine with [runtime.Goexit].
var ErrExited = errors.New("ended its goroutine")

// PanicError is a recovered panic.
type PanicError struct {
	Value any
	Stack []byte
}

// Error says only that there was a panic: the value may be anything, and
// formatting it may panic again.
func (*PanicError) Error() string { return "panic" }

// Catch turns a panic or a Goexit of the deferring function into *err. It must
// be deferred directly, and *returned must be set as the last step:
//
//	defer isolate.Catch(&returned, &err)
func Catch(returned *bool, err *error) {
	if *returned {
		return
	}
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
		return
	}
	*err = ErrExited
}

// Misbehaved reports whether err is what [Run] or an [Account] says of code
// that did not return, or did not begin.
// It compares and asks err nothing: the methods of the code's own error are
// foreign too.
func Misbehaved(err error) bool {
	_, panicked := err.(*PanicError)
	return panicked || err == ErrTimeout || err == ErrExited || err == ErrCrowded
}

// Run calls f on a goroutine of its own, under a context that ends after limit
// or with outer, and returns f's error, a *[PanicError], [ErrExited],
// [ErrTimeout] or, where outer ended first, outer's error. After the last two f may
// still run: what it writes must not be read.
func Run(outer context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(outer, limit)
	defer cancel()
	done := make(chan error, 1)
	go call(ctx, f, done)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	// f may have answered at the very moment the context ended.
	select {
	case err := <-done:
		return err
	default:
	}
	if parent := outer.Err(); parent != nil {
		return parent
	}
	return ErrTimeout
}

func call(ctx context.Context, f func(context.Context) error, done chan<- error) {
	var err error
	returned := false
	defer func() { done <- err }()
	defer Catch(&returned, &err)
	err = f(ctx)
	returned = true
}
