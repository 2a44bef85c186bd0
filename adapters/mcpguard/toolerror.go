package mcpguard

import (
	"errors"
	"slices"
	"strings"
	"unicode"

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
	case doubt, systemic(e.Text):
		return said // the guard reads what it was, and what is known of the effect
	default:
		return &toolguard.Error{Code: toolguard.CodeRequestRejected, Outcome: toolguard.OutcomeFailed, Cause: said}
	}
}

// outages are what a tool says that did not fail by itself, in lower case.
var outages = []string{
	"timed out", "timeout", "etimedout", "deadline exceeded",
	"broken pipe", "hang up", "hung up", "econn", "epipe", "enotfound", "ehostunreach", "enetunreach", "fetch failed",
	"context cancel", "operation was cancel", "operation cancel", "request was cancel", "request cancel", "task was cancel",
	"service unavailable", "temporarily unavailable", "bad gateway", "gateway timeout", "internal server error",
	"rate limit", "too many requests", "overloaded",
	"status 500", "status 502", "status 503", "status 504", "status code 500", "status code 502", "status code 503", "status code 504", "status code 429",
}

// A text may speak of a lost connection in words that nobody has listed: by one of
// the breaks alone, or by a link and what became of it. Where it only may, that is
// enough: to be wrong costs a question, and the other mistake a second effect.
var (
	breaks = []string{"eof", "disconnected", "disconnect", "remotedisconnected", "aborted", "aborterror", "goaway", "unreachable"}
	links  = []string{"connection", "socket", "transport", "stream", "network", "peer", "side", "tunnel", "pipe", "session"}
	fates  = []string{
		"closed", "closing", "reset", "refused", "lost", "broken", "broke", "dropped", "interrupted", "terminated", "severed",
		"ended", "error", "failed", "failure", "gone", "down", "internal_error",
	}
)

// maxLooked is how much of a text is looked at, at each end: what wraps an error
// comes before it.
const maxLooked = 2 << 10

// systemic reports whether a tool speaks of a failure that leaves open what was
// done before.
func systemic(text string) bool {
	if len(text) > 2*maxLooked {
		text = text[:maxLooked] + " " + text[len(text)-maxLooked:]
	}
	text = strings.ToLower(text)
	if slices.ContainsFunc(outages, func(o string) bool { return strings.Contains(text, o) }) {
		return true
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	among := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	return among(breaks) || among(links) && among(fates)
}
