package toolguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// recordOf is an attempt whose last request was answered like this; status 0 is one
// whose answer broke off.
func recordOf(status int, wait time.Duration) *evidence.Attempt {
	a := new(evidence.Attempt)
	e, _ := a.Begin(true, "POST http://pay.test/")
	e.WantConn()
	e.GotConn()
	var at time.Time
	if wait > 0 {
		at = time.Now().Add(wait)
	}
	if status == 0 {
		e.Answered(200, at)
		e.Lost()
	} else {
		e.Answered(status, at)
	}
	return a
}

// What an error does not say, the record of the requests may.
func TestConsultTheRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d      diagnosis
		record *evidence.Attempt
		want   diagnosed
	}{
		"no record":                    {diagnosis{Verdict: Verdict{Code: CodeUnknownError}}, nil, diagnosed{code: CodeUnknownError}},
		"the status says it":           {diagnosis{Verdict: Verdict{Code: CodeUnknownError}}, recordOf(503, 0), diagnosed{code: CodeServiceUnavailable, status: 503}},
		"a definite status":            {diagnosis{Verdict: Verdict{Code: CodeUnknownError}}, recordOf(404, 0), diagnosed{code: CodeNotFound, status: 404, definite: true}},
		"the first of the errors":      {diagnosis{Verdict: Verdict{Code: CodeUnknownError}}, recordOf(400, 0), diagnosed{code: CodeRequestRejected, status: 400, definite: true}},
		"a status that is no error":    {diagnosis{Verdict: Verdict{Code: CodeUnknownError}}, recordOf(399, 0), diagnosed{code: CodeUnknownError}},
		"the author's words stand":     {diagnosis{Verdict: Verdict{Code: CodeUnknownError, Message: "No."}}, recordOf(503, 0), diagnosed{code: CodeUnknownError, message: "No."}},
		"another code stands":          {diagnosis{Verdict: Verdict{Code: CodeConflict}}, recordOf(503, 0), diagnosed{code: CodeConflict}},
		"an answer that broke off":     {diagnosis{Verdict: Verdict{Code: CodeBadResponse}}, recordOf(0, 0), diagnosed{code: CodeConnectionLost}},
		"broken off, by its author":    {diagnosis{Verdict: Verdict{Code: CodeBadResponse, Message: "No."}}, recordOf(0, 0), diagnosed{code: CodeBadResponse, message: "No."}},
		"another failure, broken off":  {diagnosis{Verdict: Verdict{Code: CodeConflict}}, recordOf(0, 0), diagnosed{code: CodeConflict}},
		"a whole answer nobody reads":  {diagnosis{Verdict: Verdict{Code: CodeBadResponse}}, recordOf(200, 0), diagnosed{code: CodeBadResponse}},
		"a success and an odd failure": {diagnosis{Verdict: Verdict{Code: CodeUnknownError}}, recordOf(200, 0), diagnosed{code: CodeUnknownError}},
	} {
		c.d.consult(c.record)
		t.Log(name)
		c.want.check(t, c.d)
	}
	assert.Equal(t, "recorded http status 503", consulted(Verdict{Code: CodeUnknownError}, recordOf(503, 0)).detail)
	assert.Equal(t, "recorded: the answer broke off", consulted(Verdict{Code: CodeBadResponse}, recordOf(0, 0)).detail)
}

func consulted(v Verdict, record *evidence.Attempt) diagnosis {
	d := diagnosis{Verdict: v}
	d.consult(record)
	return d
}

// A wait is taken from the record where the error names none, and only where
// waiting helps.
func TestConsultTheRecordForAWait(t *testing.T) {
	t.Parallel()
	near := func(want time.Duration, d diagnosis) {
		t.Helper()
		assert.InDelta(t, want, d.RetryAfter, float64(time.Second))
	}
	near(7*time.Second, consulted(Verdict{Code: CodeRateLimited}, recordOf(429, 7*time.Second)))
	near(7*time.Second, consulted(Verdict{Code: CodeUnknownError}, recordOf(503, 7*time.Second)))
	near(2*time.Second, consulted(Verdict{Code: CodeRateLimited, RetryAfter: 2 * time.Second}, recordOf(429, 7*time.Second)))
	near(0, consulted(Verdict{Code: CodeNotFound}, recordOf(404, 7*time.Second)))
	near(0, consulted(Verdict{Code: CodeRateLimited}, recordOf(429, 0)))
}

// What two failures, one above the other or side by side, leave to be said.
func TestFindingsAddUp(t *testing.T) {
	t.Parallel()
	none := finding{}
	marked := finding{network: true, stopped: true, dial: true, retryAfter: 3, status: 503, message: "m", claim: claimed(OutcomeFailed)}
	for _, f := range []finding{marked.over(none), none.over(marked)} {
		assert.True(t, f.network && f.stopped && f.dial, "%+v", f)
		assert.Equal(t, []any{time.Duration(3), 503, "m", claimed(OutcomeFailed)}, []any{f.retryAfter, f.status, f.message, f.claim})
	}
	for _, f := range []finding{marked.beside(none), none.beside(marked)} {
		assert.True(t, f.network && f.stopped, "%+v", f)
		assert.False(t, f.dial, "what is proven of one is not proven of both")
		assert.Equal(t, []any{time.Duration(3), 503, claim{}}, []any{f.retryAfter, f.status, f.claim})
	}
	definite := finding{definite: true, dial: true}
	assert.True(t, definite.beside(definite).definite && definite.beside(definite).dial)
	assert.False(t, definite.beside(none).definite || none.beside(definite).definite || none.beside(definite).dial)
	assert.Equal(t, "upper", finding{message: "upper"}.over(finding{message: "deep"}).message)
	assert.Empty(t, finding{rank: rankAuthor}.over(finding{message: "deep"}).message, "the outermost author is right, also where silent")
	assert.Equal(t, time.Duration(9), finding{retryAfter: 4}.over(finding{retryAfter: 9}).retryAfter)
	assert.Equal(t, CodeConflict, strong(CodeConflict, "").over(weak(CodeBadResponse, "")).code)
	assert.Equal(t, CodeBadResponse, strong(CodeConflict, "").over(strong(CodeBadResponse, "")).code, "the deeper one of two alike")
	assert.Equal(t, CodeConflict, weak(CodeBadResponse, "").beside(strong(CodeConflict, "")).code)
	assert.Equal(t, CodeBadResponse, weak(CodeBadResponse, "").beside(weak(CodeConflict, "")).code, "the first of two alike")
}

func TestClaimsAddUp(t *testing.T) {
	t.Parallel()
	unsure := claimed(OutcomeUnknown)
	for _, row := range []struct{ a, b, want claim }{
		{unsure, claimed(OutcomeFailed), unsure},
		{unsure, claim{}, unsure},
		{claim{}, claimed(OutcomeFailed), claim{}},
		{claim{}, claim{}, claim{}},
		{claimed(OutcomeFailed), claimed(OutcomeFailed), claimed(OutcomeFailed)},
		{claimed(OutcomeNotStarted), claimed(OutcomeNotStarted), claimed(OutcomeNotStarted)},
		{claimed(OutcomeNotStarted), claimed(OutcomeFailed), claimed(OutcomeFailed)},
		{claimed(OutcomeSucceeded), claimed(OutcomeFailed), unsure},
		{claimed(OutcomeSucceeded), claimed(OutcomeNotStarted), unsure},
		{claimed(OutcomeSucceeded), claimed(OutcomeSucceeded), claimed(OutcomeSucceeded)},
	} {
		assert.Equal(t, row.want, row.a.and(row.b), "%+v", row)
		assert.Equal(t, row.want, row.b.and(row.a), "%+v", row)
	}
}

// The failure of a call that another guard answered says why, and nothing of what
// the tool had done before.
func TestAnotherGuardsFailure(t *testing.T) {
	t.Parallel()
	inner := func(code Code, o Outcome) error { return &Error{Code: code, Outcome: o, guarded: true} }
	for _, row := range []struct {
		err  error
		want diagnosed
	}{
		{inner(CodeBreakerOpen, OutcomeNotStarted), diagnosed{code: CodeServiceUnavailable}},
		{inner(CodeNotFound, OutcomeFailed), diagnosed{code: CodeUnknownError}},
		{inner(CodeServerError, OutcomeUnknown), diagnosed{code: CodeServerError, claim: claimed(OutcomeUnknown)}},
		{fmt.Errorf("%w: %w", errors.New("store"), io.EOF), diagnosed{code: CodeBadResponse, quote: "store: EOF"}},
	} {
		row.want.check(t, classify(row.err))
	}
	assert.False(t, guarded((*Error)(nil)))
	assert.False(t, guarded(io.EOF))
	assert.True(t, guarded(inner(CodeNotFound, OutcomeFailed)))
}

// Errors of other makes are asked by their methods.
func TestStopsBehindMethods(t *testing.T) {
	t.Parallel()
	f := byBehaviour(proxyDeadline{})
	assert.True(t, f.stopped)
	assert.Equal(t, CodeDownstreamTimeout, f.code)
	assert.True(t, byBehaviour(proxyCanceled{}).stopped)
	assert.False(t, byBehaviour(proxyNoRows{}).stopped)
	assert.Equal(t, finding{}, byBehaviour(io.EOF))
	for n := range uint32(len(rpcCodes)) {
		f := byRPC(grpcErr(n))
		assert.Equal(t, n == 1 || n == 4, f.stopped, "rpc code %d", n)
		assert.Equal(t, n == 0, f == finding{}, "rpc code %d", n)
	}
	assert.Equal(t, finding{}, byRPC(grpcErr(uint32(len(rpcCodes)))))
}

type proxyDeadline struct{}

func (proxyDeadline) Error() string        { return "gave up" }
func (proxyDeadline) Is(target error) bool { return target == context.DeadlineExceeded }

// Letters and digits at the edges of a phrase, and what is none.
func TestWordsHaveEdges(t *testing.T) {
	t.Parallel()
	for _, c := range []byte("azAZ09_m\x80\xff") {
		assert.True(t, isWord(c), "%q", c)
	}
	for _, c := range []byte("`{@[/: -\x7f") {
		assert.False(t, isWord(c), "%q", c)
	}
}

type waitsTwice struct {
	RetryAfter time.Duration
	Header     http.Header
}

func (waitsTwice) Error() string { return "slow down" }

func TestSmallPrintOfClassification(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 5*time.Second, retryAfterOf(waitsTwice{Header: http.Header{"Retry-After": {"5"}}}), "a field that says nothing")
	assert.True(t, standard(context.DeadlineExceeded).stopped)
	for _, call := range []string{"connect", "connectex"} {
		f := standard(&os.SyscallError{Syscall: call, Err: syscall.ECONNREFUSED})
		assert.True(t, f.network && f.dial, call)
	}
	assert.False(t, standard(&os.SyscallError{Syscall: "read", Err: syscall.ECONNRESET}).dial)
	assert.Equal(t, CodeUnknownError, classify(&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EXDEV}).Code)
	succeeded := func(context.Context, error) (Verdict, bool) { return Verdict{Outcome: OutcomeSucceeded}, true }
	d := diagnose(t.Context(), io.EOF, stopNone, reader{user: succeeded})
	assert.Equal(t, claimed(OutcomeSucceeded), claim{d.claimed, d.Outcome})
	beyond := func(context.Context, error) (Verdict, bool) { return Verdict{Outcome: OutcomeSucceeded + 1}, true }
	assert.False(t, diagnose(t.Context(), io.EOF, stopNone, reader{user: beyond}).claimed)
}
