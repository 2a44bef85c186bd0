package httpguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/toolguard-go/toolguard/internal/retryafter"
)

const (
	// MaxPreview is how much of an error's body [StatusError] keeps.
	MaxPreview = 2 << 10

	drainBytes = 64 << 10    // read so that the connection can be used again
	drainTime  = time.Second // and no longer than this
)

// keptHeaders are the headers of an answer a StatusError keeps: what helps to
// wait, to read the body and to ask the service's operators.
var keptHeaders = [...]string{
	"Content-Type", "Date", "Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms",
	"Request-Id", "X-Request-Id",
}

// StatusError is an answer with an error status. A guard classifies it by its
// methods; its text quotes nothing the server sent. It is not changed once made.
type StatusError struct {
	StatusCode int
	Method     string      // of the request, "" if unknown
	Header     http.Header // Content-Type, Date, Retry-After and its relatives, request IDs; nothing else
	Body       []byte      // the start of the body, at most MaxPreview bytes: for logs, not for the model

	wait    time.Duration
	hasWait bool
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("http status %d", e.StatusCode)
	if name := http.StatusText(e.StatusCode); name != "" {
		text += " " + name
	}
	if e.Method != "" {
		text = e.Method + ": " + text
	}
	return text
}

// HTTPStatusCode returns StatusCode.
func (e *StatusError) HTTPStatusCode() int { return e.StatusCode }

// RetryAfter returns how long the server asked to wait, counted from the moment
// the error was made, and false if it did not say so in a way that can be
// understood. A date that had passed is a wait of 0; a year is the most.
func (e *StatusError) RetryAfter() (time.Duration, bool) { return e.wait, e.hasWait }

// CheckResponse returns nil for a status below 400 and leaves the body to the
// caller. For others it returns a [*StatusError] and closes the body, after
// reading a little of it: at most 64 KiB and for at most a second, so that the
// connection can be used again. A nil response is an error.
func CheckResponse(resp *http.Response) error {
	if resp == nil {
		return errors.New("httpguard: CheckResponse: response is nil")
	}
	if resp.StatusCode < 400 {
		return nil
	}
	e := &StatusError{StatusCode: resp.StatusCode, Header: http.Header{}, Body: preview(resp.Body)}
	for _, name := range keptHeaders {
		if values := resp.Header.Values(name); len(values) > 0 {
			e.Header[name] = values
		}
	}
	if resp.Request != nil {
		e.Method = resp.Request.Method
	}
	e.wait, e.hasWait = retryafter.Parse(resp.Header, time.Now())
	return e
}

// preview returns the start of body, reads on for a while and closes it. A body
// that blocks costs no more than drainTime.
func preview(body io.ReadCloser) []byte {
	if body == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	r, err := NewIdleReader(ctx, body, IdleOptions{})
	if err != nil {
		body.Close()
		return nil
	}
	defer r.Close()
	start, _ := io.ReadAll(io.LimitReader(r, MaxPreview)) // what arrived before an error is as good
	io.CopyN(io.Discard, r, drainBytes-MaxPreview)
	return start
}

// ErrTooLarge is the error of [ReadAll] when there is more than its bound. A guard
// takes it for result_unavailable; of a tool that only reads less is to be asked for.
var ErrTooLarge = errors.New("httpguard: body is too large")

// ReadAll reads r to its end, up to limit bytes. If there are more it returns the
// first limit bytes and an error that matches [ErrTooLarge]; other errors come
// with what was read before. A negative limit counts as 0.
func ReadAll(r io.Reader, limit int64) ([]byte, error) {
	limit = max(limit, 0)
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil || int64(len(data)) < limit {
		return data, err
	}
	var next [1]byte
	switch _, err := io.ReadFull(r, next[:]); err {
	case nil:
		return data, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	case io.EOF:
		return data, nil
	default:
		return data, err
	}
}
