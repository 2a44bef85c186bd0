package toolguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

// diagnosed is what a test expects of a diagnosis; a zero field expects zero.
type diagnosed struct {
	code     Code
	definite bool
	dial     bool
	status   int
	wait     time.Duration
	quote    string
	message  string
	field    string
	claim    claim
}

func (w diagnosed) check(t *testing.T, d diagnosis) {
	t.Helper()
	assert.Equal(t, w, diagnosed{
		code: d.Code, definite: d.definite, dial: d.dial, status: d.status, wait: d.RetryAfter,
		quote: d.quote, message: d.Message, field: d.field, claim: claim{d.claimed, d.Outcome},
	}, "detail %q", d.detail)
}

func classify(err error) diagnosis {
	return diagnose(context.Background(), err, stopNone, reader{})
}

type diagnosisCase struct {
	name string
	err  error
	want diagnosed
}

func claimed(o Outcome) claim { return claim{made: true, outcome: o} }

func wrap5(err error) error {
	for range 5 {
		err = fmt.Errorf("step: %w", err)
	}
	return err
}

var dialErr = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

var diagnosisCases = []diagnosisCase{
	// The author's words.
	{"param", Param("amount", "must be positive"), diagnosed{code: CodeInvalidArgument, definite: true, message: "must be positive", field: "amount", claim: claimed(OutcomeFailed)}},
	{"business, wrapped", wrap5(Business("no refunds after 30 days")), diagnosed{code: CodeBusinessRule, definite: true, message: "no refunds after 30 days", claim: claimed(OutcomeFailed)}},
	{"rate limited", RateLimited(3 * time.Second), diagnosed{code: CodeRateLimited, definite: true, wait: 3 * time.Second}},
	{"negative wait", &Error{Code: CodeRateLimited, RetryAfter: -1}, diagnosed{code: CodeRateLimited, definite: true}},
	{"not started keeps the cause's code", NotStarted(dialErr), diagnosed{code: CodeConnectionRefused, dial: true, claim: claimed(OutcomeNotStarted)}},
	{"not started, plain", NotStarted(errors.New("queue full")), diagnosed{code: CodeUnknownError, quote: "queue full", claim: claimed(OutcomeNotStarted)}},
	{"maybe done over business", MaybeDone(Business("no")), diagnosed{code: CodeBusinessRule, definite: true, message: "no", claim: claimed(OutcomeUnknown)}},
	{"outermost claim wins", NoEffect(MaybeDone(errors.New("x"))), diagnosed{code: CodeUnknownError, quote: "x", claim: claimed(OutcomeFailed)}},
	{"outermost author wins", &Error{Code: CodeConflict, Message: "outer", Cause: Business("inner")}, diagnosed{code: CodeConflict, definite: true, message: "outer", claim: claimed(OutcomeFailed)}},
	{"author over a typed cause", &Error{Code: CodeNotFound, Message: "no such order", Cause: grpcErr(14)}, diagnosed{code: CodeNotFound, definite: true, message: "no such order"}},
	{"an author's plain cause", &Error{Code: CodeConflict, Cause: NoEffect(errors.New("stock moved"))}, diagnosed{code: CodeConflict, definite: true, quote: "stock moved", claim: claimed(OutcomeFailed)}},
	{"author without a code", &Error{Message: "the mail could not be sent", Cause: dialErr}, diagnosed{code: CodeConnectionRefused, dial: true, message: "the mail could not be sent"}},
	{"an author's unknown code", &Error{Code: "out_of_ink"}, diagnosed{code: "out_of_ink"}},

	// Plain text.
	{"plain", errors.New("the printer is on fire"), diagnosed{code: CodeUnknownError, quote: "the printer is on fire"}},
	{"plain, wrapped", fmt.Errorf("print: %w", errors.New("no paper")), diagnosed{code: CodeUnknownError, quote: "print: no paper"}},
	{"plain, joined", errors.Join(errors.New("a"), errors.New("b")), diagnosed{code: CodeUnknownError, quote: "a\nb"}},
	{"another type in the chain", fmt.Errorf("print: %w", &opaqueError{text: "secret"}), diagnosed{code: CodeUnknownError}}, // case l01

	// Contexts that are not ours.
	{"deadline", context.DeadlineExceeded, diagnosed{code: CodeDownstreamTimeout}},
	{"canceled by nobody", context.Canceled, diagnosed{code: CodeUnknownError, quote: "context canceled"}},
	{"deadline as text", errors.New("query: context deadline exceeded"), diagnosed{code: CodeDownstreamTimeout}},
	{"stands for a cancellation", proxyCanceled{}, diagnosed{code: CodeUnknownError}},

	// The network.
	{"refused", &url.Error{Op: "Get", URL: "https://a.test/?key=K1", Err: dialErr}, diagnosed{code: CodeConnectionRefused, dial: true}}, // case l03
	{"refused, joined and wrapped", errors.Join(wrap5(dialErr)), diagnosed{code: CodeConnectionRefused, dial: true}},
	{"refused by a datagram's receiver", &net.OpError{Op: "read", Net: "udp", Err: os.NewSyscallError("read", syscall.ECONNREFUSED)}, diagnosed{code: CodeConnectionRefused}},
	{"unreachable", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, diagnosed{code: CodeConnectionRefused, dial: true}},
	{"proxy refused", &net.OpError{Op: "proxyconnect", Err: errors.New("no")}, diagnosed{code: CodeConnectionRefused, dial: true}},
	{"dial timeout", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, diagnosed{code: CodeDownstreamTimeout, dial: true}},
	{"dns", &net.OpError{Op: "dial", Err: &net.DNSError{Name: "a.test", IsNotFound: true}}, diagnosed{code: CodeDNSFailure, dial: true}},
	{"dns, deadline inside", &net.DNSError{IsTimeout: true, UnwrapErr: context.DeadlineExceeded}, diagnosed{code: CodeDNSFailure, dial: true}},
	{"reset", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, diagnosed{code: CodeConnectionLost}},
	{"broken pipe", &fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, diagnosed{code: CodeConnectionLost}}, // case m03
	{"eof on a connection", &url.Error{Op: "Post", Err: io.EOF}, diagnosed{code: CodeConnectionLost}},
	{"eof of anything", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), diagnosed{code: CodeBadResponse, quote: "read: unexpected EOF"}},
	{"closed", &net.OpError{Op: "write", Err: net.ErrClosed}, diagnosed{code: CodeConnectionLost}},
	{"read timeout", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, diagnosed{code: CodeDownstreamTimeout}}, // case g15
	{"timed out below", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}, diagnosed{code: CodeDownstreamTimeout}},
	{"any timeout", timeoutOnly{}, diagnosed{code: CodeDownstreamTimeout}},
	{"bad url", &url.Error{Op: "parse", URL: "connection refused", Err: errors.New("missing scheme")}, diagnosed{code: CodeUnknownError}},
	{"open files", &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}, diagnosed{code: CodeResourceExhausted, dial: true}},

	// TLS.
	{"certificate", &url.Error{Op: "Get", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, diagnosed{code: CodeTLSFailure, dial: true}},
	{"certificate by itself", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "a.test"}, diagnosed{code: CodeTLSFailure}},
	{"constraint", x509.ConstraintViolationError{}, diagnosed{code: CodeTLSFailure}},
	{"alert after the handshake", &net.OpError{Op: "remote error", Err: tls.AlertError(42)}, diagnosed{code: CodeTLSFailure}},
	{"alert by its operation", &net.OpError{Op: "remote error", Err: errors.New("bad certificate")}, diagnosed{code: CodeTLSFailure}},
	{"http on a tls port", &url.Error{Op: "Get", Err: http.ErrSchemeMismatch}, diagnosed{code: CodeTLSFailure, dial: true}},

	// HTTP.
	{"status field", &sdkError{StatusCode: 503, Code: "overloaded"}, diagnosed{code: CodeServiceUnavailable, status: 503}},
	{"response field", &sdkError{Response: httpAnswer(429, "30")}, diagnosed{code: CodeRateLimited, definite: true, status: 429, wait: 30 * time.Second}},
	{"response, wrapped in a join", errors.Join(errStore, wrap5(&sdkError{Response: httpAnswer(429, "30")})), diagnosed{code: CodeRateLimited, status: 429, wait: 30 * time.Second}}, // case g07
	{"negative retry-after", &azureError{RawResponse: httpAnswer(503, "-1")}, diagnosed{code: CodeServiceUnavailable, status: 503}},                                                  // case g01
	{"status method", methodStatusError{404}, diagnosed{code: CodeNotFound, definite: true, status: 404}},
	{"status method behind a pointer", &methodStatusError{403}, diagnosed{code: CodePermissionDenied, definite: true, status: 403}},
	{"retry-after method", retryMethodError{methodStatusError{503}}, diagnosed{code: CodeServiceUnavailable, status: 503, wait: 7 * time.Second}},
	{"retry-after pair", retryPairError{methodStatusError{503}}, diagnosed{code: CodeServiceUnavailable, status: 503, wait: 8 * time.Second}},
	{"retry-after field", retryFieldError{RetryAfter: time.Second}, diagnosed{code: CodeUnknownError, wait: time.Second}},
	{"the longest wait counts", fmt.Errorf("%w: %w", RateLimited(time.Second), &sdkError{Response: httpAnswer(429, "9")}), diagnosed{code: CodeRateLimited, definite: true, status: 429, wait: 9 * time.Second}},
	{"status value", statusValueError{409}, diagnosed{code: CodeConflict, definite: true, status: 409}},
	{"code of an http type", HTTPError{422}, diagnosed{code: CodeRequestRejected, definite: true, status: 422}},
	{"code beside a header", &googleError{Code: 401, Header: http.Header{"Retry-After": {"2"}}}, diagnosed{code: CodeAuthExpired, definite: true, status: 401, wait: 2 * time.Second}},
	{"code of something else", rpcJSONError{404}, diagnosed{code: CodeUnknownError}}, // case m01
	{"exit code, not status", dockerStatusError{137}, diagnosed{code: CodeUnknownError}},
	{"success as an error", &sdkError{Response: httpAnswer(200, "")}, diagnosed{code: CodeBadResponse, status: 200}},
	{"redirect", methodStatusError{302}, diagnosed{code: CodeBadResponse, status: 302}},
	{"status over an unreadable body", &smithyResponseError{status: 404, err: &json.SyntaxError{}}, diagnosed{code: CodeNotFound, definite: true, status: 404}},
	{"smithy", &smithyResponseError{status: 502, err: &opaqueError{text: "gateway"}}, diagnosed{code: CodeServerError, status: 502}},
	{"throttling with 400", &smithyResponseError{status: 400, err: &smithyAPIError{"ThrottlingException"}}, diagnosed{code: CodeRateLimited, definite: true, status: 400}},
	{"rate limit with 403", &AbuseRateLimitError{Response: httpAnswer(403, "60")}, diagnosed{code: CodeRateLimited, definite: true, status: 403, wait: time.Minute}},
	{"rate limit by name only", &AbuseRateLimitError{}, diagnosed{code: CodeRateLimited}},

	// RPC. case n05
	{"grpc not found", wrap5(grpcErr(5)), diagnosed{code: CodeNotFound, definite: true}},
	{"grpc unknown", grpcErr(2), diagnosed{code: CodeUnknownError}},
	{"grpc ok", grpcErr(0), diagnosed{code: CodeUnknownError}},
	{"grpc without status", &grpcError{}, diagnosed{code: CodeUnknownError}},
	{"connect", &connectError{code: 14, meta: http.Header{"Retry-After": {"4"}}}, diagnosed{code: CodeServiceUnavailable, wait: 4 * time.Second}},
	{"connect-like, other name", &connectError{code: 5}, diagnosed{code: CodeUnknownError}},
	{"twirp", twirpError{"permission_denied"}, diagnosed{code: CodePermissionDenied, definite: true}},
	{"a name with another number", oddCodeError{}, diagnosed{code: CodeUnknownError}},
	{"a string called code", stringCodeError{}, diagnosed{code: CodeUnknownError}},
	{"a number called code", processError{5}, diagnosed{code: CodeUnknownError}},

	// Databases.
	{"no rows", fmt.Errorf("customer 7: %w", sql.ErrNoRows), diagnosed{code: CodeNotFound, definite: true, quote: "customer 7: sql: no rows in result set"}},
	{"stands for no rows", proxyNoRows{}, diagnosed{code: CodeNotFound, definite: true}},
	{"bad connection", driver.ErrBadConn, diagnosed{code: CodeConnectionLost, dial: true, quote: "driver: bad connection"}},
	{"transaction over", fmt.Errorf("commit: %w", sql.ErrTxDone), diagnosed{code: CodeUnknownError, quote: "commit: " + sql.ErrTxDone.Error()}},
	{"unique", &pgError{"23505"}, diagnosed{code: CodeConflict, definite: true}},
	{"foreign key", &pgError{"23503"}, diagnosed{code: CodeRequestRejected, definite: true}},
	{"serialization", wrap5(&pgError{"40001"}), diagnosed{code: CodeRolledBack, definite: true}},
	{"completion unknown", &pgError{"40003"}, diagnosed{code: CodeUnknownError}},
	{"shutdown", &pgError{"57P01"}, diagnosed{code: CodeConnectionLost}},
	{"raised", &pgError{"P0001"}, diagnosed{code: CodeBusinessRule, definite: true}},
	{"unheard of", &pgError{"ZZ999"}, diagnosed{code: CodeUnknownError}},
	{"not a state", &pgError{"4"}, diagnosed{code: CodeUnknownError}},
	{"lib/pq", &pqError{Severity: "ERROR", Code: "42501"}, diagnosed{code: CodePermissionDenied, definite: true}},
	{"five characters of something else", vendorError{"40001"}, diagnosed{code: CodeUnknownError}},
	{"mysql deadlock", &MySQLError{Number: 1213}, diagnosed{code: CodeRolledBack, definite: true}},
	{"mysql, unheard of", &MySQLError{Number: 9}, diagnosed{code: CodeUnknownError}},

	// Programs, files, decoders, misbehaviour.
	{"not installed", &exec.Error{Name: "ffmpeg", Err: exec.ErrNotFound}, diagnosed{code: CodeNotInstalled}},
	{"cannot start", &fs.PathError{Op: "fork/exec", Path: "/x", Err: syscall.ENOENT}, diagnosed{code: CodeNotInstalled}},
	{"exit", wrap5(&exec.ExitError{}), diagnosed{code: CodeCommandFailed}},
	{"missing file", &fs.PathError{Op: "open", Path: "/etc/template", Err: syscall.ENOENT}, diagnosed{code: CodeUnknownError}},
	{"forbidden file", &fs.PathError{Op: "open", Path: "connection refused", Err: syscall.EACCES}, diagnosed{code: CodeUnknownError}},
	{"docker's socket is missing", &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.ENOENT)}, diagnosed{code: CodeConnectionRefused, dial: true}},
	{"disk full", &fs.PathError{Op: "write", Err: syscall.ENOSPC}, diagnosed{code: CodeResourceExhausted}},
	{"json", fmt.Errorf("decode: %w", &json.SyntaxError{Offset: 3}), diagnosed{code: CodeBadResponse}},
	{"number", &strconv.NumError{Func: "Atoi", Num: "503", Err: strconv.ErrSyntax}, diagnosed{code: CodeBadResponse}},
	{"result cannot be encoded", &json.UnsupportedValueError{Str: "NaN"}, diagnosed{code: CodeUnknownError}}, // case f06
	{"panic", &isolate.PanicError{Value: "connection refused"}, diagnosed{code: CodePanic}},                  // case f01
	{"goexit", isolate.ErrExited, diagnosed{code: CodeExited}},
	{"no return in time", isolate.ErrTimeout, diagnosed{code: CodeUnknownError}},

	// Joins: two failures prove only what both prove.
	{"404 beside a timeout", errors.Join(methodStatusError{404}, context.DeadlineExceeded), diagnosed{code: CodeNotFound, status: 404}},
	{"404 beside an unknown", errors.Join(methodStatusError{404}, errors.New("second charge failed")), diagnosed{code: CodeNotFound, status: 404}},
	{"404 beside 409", errors.Join(methodStatusError{404}, methodStatusError{409}), diagnosed{code: CodeNotFound, definite: true, status: 404}},
	{"404 under a sentinel", fmt.Errorf("%w: %w", errStore, methodStatusError{404}), diagnosed{code: CodeNotFound, status: 404}},
	{"refused beside reset", errors.Join(dialErr, syscall.ECONNRESET), diagnosed{code: CodeConnectionRefused}},
	{"one claim of two", errors.Join(NotStarted(errStore), timeoutOnly{}), diagnosed{code: CodeDownstreamTimeout}},
	{"two claims", errors.Join(NotStarted(errStore), NoEffect(timeoutOnly{})), diagnosed{code: CodeDownstreamTimeout, claim: claimed(OutcomeFailed)}},
	{"maybe done wins", errors.Join(NotStarted(errStore), MaybeDone(errStore)), diagnosed{code: CodeUnknownError, quote: "store\nstore", claim: claimed(OutcomeUnknown)}},
	{"claim over a join", NoEffect(errors.Join(dialErr, errStore)), diagnosed{code: CodeConnectionRefused, claim: claimed(OutcomeFailed)}},
	{"claim under a sentinel", fmt.Errorf("%w: %w", errStore, NotStarted(timeoutOnly{})), diagnosed{code: CodeDownstreamTimeout}},
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	for _, tc := range diagnosisCases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.want.check(t, classify(tc.err))
		})
	}
}

func TestHTTPStatuses(t *testing.T) {
	t.Parallel()
	codes := map[Code][]int{
		CodeRequestRejected:    {400, 402, 405, 406, 411, 413, 414, 415, 416, 417, 418, 422, 426, 431, 451, 499 - 1},
		CodeAuthExpired:        {401, 407},
		CodePermissionDenied:   {403},
		CodeNotFound:           {404, 410},
		CodeConflict:           {409, 412, 423},
		CodeRateLimited:        {425, 429},
		CodeDownstreamTimeout:  {408, 499, 504},
		CodeServerError:        {500, 501, 502, 505, 507, 511, 599},
		CodeServiceUnavailable: {503, 529},
	}
	for code, statuses := range codes {
		for _, status := range statuses {
			d := classify(methodStatusError{status})
			assert.Equal(t, code, d.Code, "status %d", status)
			uncertain := status >= 500 || status == 408 || status == 499
			assert.Equal(t, !uncertain, d.definite, "status %d", status)
		}
	}
}

func TestRPCCodes(t *testing.T) {
	t.Parallel()
	want := map[uint32]Code{
		1: CodeUnknownError, 2: CodeUnknownError, 3: CodeRequestRejected, 4: CodeDownstreamTimeout,
		5: CodeNotFound, 6: CodeConflict, 7: CodePermissionDenied, 8: CodeResourceExhausted,
		9: CodeConflict, 10: CodeRolledBack, 11: CodeRequestRejected, 12: CodeRequestRejected,
		13: CodeServerError, 14: CodeServiceUnavailable, 15: CodeServerError, 16: CodeAuthExpired,
		17: CodeUnknownError,
	}
	definite := map[uint32]bool{3: true, 5: true, 6: true, 7: true, 9: true, 10: true, 11: true, 12: true, 16: true}
	for n, code := range want {
		d := classify(grpcErr(n))
		assert.Equal(t, code, d.Code, "code %d", n)
		assert.Equal(t, definite[n], d.definite, "code %d", n)
		assert.Empty(t, d.quote)
	}
}

// Every code is either found in errors or made by the guard.
func TestCodesAreProduced(t *testing.T) {
	t.Parallel()
	made := map[Code]bool{
		CodeInvalidJSON: true, CodeTruncated: true, CodeSchemaViolation: true, CodeUnknownTool: true, CodeDuplicateCallID: true,
		CodeAbandoned: true, CodeBudgetExhausted: true, CodeBreakerOpen: true, CodeOverloaded: true,
		CodeToolStuck: true, CodeShuttingDown: true, CodeToolDisabled: true, CodeLimitReached: true, CodeBatchStopped: true, CodeResultRejected: true,
		CodeControlFlow: true, CodeInternalError: true, CodeCheckFailed: true,
		CodeLoopDetected: true, CodePolledTooSoon: true,
		CodeKeyConflict: true, CodeAborted: true, CodeJournalUnavailable: true,
		CodeApprovalPending: true, CodeApprovalDenied: true, CodeApprovalStale: true, CodeApprovalExpired: true,
		CodeInDoubt: true, CodeInProgress: true, CodeNoEntry: true, CodeResultUnavailable: true,
	}
	seen := map[Code]bool{}
	for _, tc := range diagnosisCases {
		seen[tc.want.code] = true
	}
	for _, stop := range []stopReason{stopAttemptTimeout, stopCallerDeadline, stopCallerCanceled} {
		seen[diagnose(t.Context(), context.Canceled, stop, reader{}).Code] = true
	}
	for code := range Codes() {
		assert.True(t, seen[code] != made[code], "%s: found in errors %v, made by the guard %v", code, seen[code], made[code])
	}
}

// asking is a reader with nothing but a classifier.
func asking(c Classifier) reader { return reader{user: c} }

func TestClassifier(t *testing.T) {
	t.Parallel()
	says := func(v Verdict) Classifier {
		return func(context.Context, error) (Verdict, bool) { return v, true }
	}
	ask := func(err error, c Classifier) diagnosis { return diagnose(t.Context(), err, stopNone, asking(c)) }
	busy := methodStatusError{503}

	diagnosed{code: CodeConflict, definite: true, status: 503, message: "taken", claim: claimed(OutcomeFailed)}.
		check(t, ask(busy, says(Verdict{Code: CodeConflict, Message: "taken", Outcome: OutcomeFailed})))
	diagnosed{code: CodeServiceUnavailable, status: 503, wait: time.Second}.
		check(t, ask(busy, says(Verdict{RetryAfter: time.Second})))
	diagnosed{code: CodeConflict, definite: true, claim: claimed(OutcomeUnknown)}.
		check(t, ask(MaybeDone(Business("no")), says(Verdict{Code: CodeConflict})))
	diagnosed{code: CodeServiceUnavailable, status: 503}.
		check(t, ask(busy, says(Verdict{RetryAfter: -time.Second, Outcome: 99})))

	silent := []Classifier{
		func(context.Context, error) (Verdict, bool) { return Verdict{Code: CodeConflict}, false },
		func(context.Context, error) (Verdict, bool) { panic("no") },
		func(context.Context, error) (Verdict, bool) { runtime.Goexit(); return Verdict{}, true },
	}
	for _, c := range silent {
		diagnosed{code: CodeServiceUnavailable, status: 503}.check(t, ask(busy, c))
	}
}

func TestClassifierOutlivesTheAttempt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := diagnose(ctx, errors.New("x"), stopAttemptTimeout, asking(func(ctx context.Context, _ error) (Verdict, bool) {
		return Verdict{Code: CodeNotFound}, ctx.Err() == nil
	}))
	assert.Equal(t, CodeNotFound, d.Code)
}

// What an operator reads holds no text of the error.
func TestDetail(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err    error
		detail string
	}{
		{methodStatusError{503}, "http status 503"},
		{&pgError{"40001"}, "sqlstate 40001"},
		{grpcErr(14), "rpc code unavailable"},
		{dialErr, "net: connection refused"},
		{&opaqueError{text: "secret"}, "error type *toolguard.opaqueError"},
		{errors.New("dial tcp 10.0.0.5:5432: connection refused"), "text: connection refused"},
		{errors.New("x"), ""},
	} {
		assert.Equal(t, tc.detail, classify(tc.err).detail)
	}
}

func TestDiagnoseNil(t *testing.T) {
	t.Parallel()
	require.Equal(t, CodeUnknownError, classify(nil).Code)
}
