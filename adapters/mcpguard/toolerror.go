package mcpguard

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard"
)

// ToolError is a result with IsError: a tool of the server says that it failed.
type ToolError struct {
	// Text is what it says. It may be empty.
	Text string
	// Parts are what it gives beside text. They go into the envelope's Result if
	// this is what the call comes to.
	Parts []toolguard.Part
	// Err is the error of the handler, where that is in this process.
	Err error
}

// Error does not quote the tool.
func (e *ToolError) Error() string { return "mcpguard: the tool reported an error" }

// Unwrap returns Err.
func (e *ToolError) Unwrap() error { return e.Err }

// failure is what the report means: the handler's own error, or else what the
// tool says, and then its word that nothing was done, unless there is doubt.
func (e *ToolError) failure(doubt bool) error {
	said := errors.New(strings.TrimSpace(e.Text))
	switch {
	case e.Err != nil:
		return e.Err
	case systemic(e.Text):
		return said // the guard reads what it was, and what is known of the effect
	case doubt:
		return &toolguard.Error{Code: toolguard.CodeRequestRejected, Cause: toolguard.MaybeDone(said)}
	default:
		return &toolguard.Error{Code: toolguard.CodeRequestRejected, Outcome: toolguard.OutcomeFailed, Cause: said}
	}
}

// outages are what a tool says that did not fail by itself, in lower case.
var outages = []string{
	"timed out", "timeout", "etimedout", "deadline exceeded",
	"connection refused", "connection reset", "connection closed", "connection lost", "connection aborted", "broken pipe", "socket hang up",
	"econnrefused", "econnreset", "epipe", "enotfound", "unexpected eof", "fetch failed", "network error",
	"service unavailable", "temporarily unavailable", "bad gateway", "gateway timeout", "internal server error",
	"rate limit", "too many requests", "overloaded",
	"status 500", "status 502", "status 503", "status 504", "status code 500", "status code 502", "status code 503", "status code 504", "status code 429",
}

// maxLooked is how much of a text is looked at.
const maxLooked = 2 << 10

// systemic reports whether a tool speaks of a failure that leaves open what was
// done before.
func systemic(text string) bool {
	text = strings.ToLower(text[:min(len(text), maxLooked)])
	return slices.ContainsFunc(outages, func(o string) bool { return strings.Contains(text, o) })
}
