package httpguard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// StalledError says that a stream brought no data for too long. It is a
// [net.Error] whose Timeout is true, and matches [os.ErrDeadlineExceeded].
type StalledError struct {
	HandedOn int64         // bytes handed to the consumer before, keep-alives included
	Limit    time.Duration // the limit that passed
	data     int64
}

var _ net.Error = (*StalledError)(nil)

func (e *StalledError) Error() string {
	return fmt.Sprintf("httpguard: stream stalled: no data for %v after %d bytes", e.Limit, e.HandedOn)
}

// Partial reports whether data was handed on before: the consumer has seen part
// of the output, and a second try would show it again.
func (e *StalledError) Partial() bool { return e.data > 0 }

// Timeout implements [net.Error]; it is always true.
func (e *StalledError) Timeout() bool { return true }

// Temporary implements [net.Error]; it is always false, since a stream that
// stalled is over.
func (e *StalledError) Temporary() bool { return false }

// Unwrap returns [os.ErrDeadlineExceeded].
func (e *StalledError) Unwrap() error { return os.ErrDeadlineExceeded }

// TruncatedError says that a stream broke off, or ended without its terminator.
// It matches [io.ErrUnexpectedEOF] and the error of the source, if that was
// another than [io.EOF].
type TruncatedError struct {
	HandedOn int64 // bytes handed to the consumer, keep-alives included
	data     int64
	cause    error
}

func (e *TruncatedError) Error() string {
	if e.cause == io.EOF {
		return fmt.Sprintf("httpguard: stream ended without its terminator after %d bytes", e.HandedOn)
	}
	return fmt.Sprintf("httpguard: stream broke off after %d bytes: %v", e.HandedOn, e.cause)
}

// Partial reports whether data was handed on before: the consumer has seen part
// of the output, and a second try would show it again.
func (e *TruncatedError) Partial() bool { return e.data > 0 }

// Unwrap returns [io.ErrUnexpectedEOF], as the read of a connection that it was,
// and the error of the source. A bare EOF is left out: code that takes it for a
// proper end must not find it.
func (e *TruncatedError) Unwrap() []error {
	ended := &net.OpError{Op: "read", Err: io.ErrUnexpectedEOF}
	if e.cause == io.EOF {
		return []error{ended}
	}
	return []error{ended, e.cause}
}

// EndsWith returns an [IdleOptions.Terminator] that wants the stream to end with
// the given text, white space after it aside: EndsWith("data: [DONE]").
func EndsWith(text string) func(tail []byte) bool {
	want := []byte(text)
	return func(tail []byte) bool {
		return bytes.HasSuffix(tail, want) || bytes.HasSuffix(bytes.TrimSpace(tail), want)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
