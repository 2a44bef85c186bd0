package toolguard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Fakes with the shapes of well-known error types.

type grpcCodeNumber uint32

func (c grpcCodeNumber) String() string { return fmt.Sprintf("Code(%d)", uint32(c)) }

type grpcStatus struct{ code grpcCodeNumber }

func (s *grpcStatus) Code() grpcCodeNumber { return s.code }

type grpcError struct{ s *grpcStatus }

func (e *grpcError) Error() string           { return "rpc error: secret-host" }
func (e *grpcError) GRPCStatus() *grpcStatus { return e.s }

func grpcErr(code uint32) error { return &grpcError{&grpcStatus{grpcCodeNumber(code)}} }

// connectCode prints itself in lower_snake, as connect's does.
type connectCode uint32

func (c connectCode) String() string {
	if c == 14 {
		return "unavailable"
	}
	return fmt.Sprintf("code_%d", uint32(c))
}

type connectError struct {
	code connectCode
	meta http.Header
}

func (e *connectError) Error() string     { return e.code.String() }
func (e *connectError) Code() connectCode { return e.code }
func (e *connectError) Meta() http.Header { return e.meta }

// oddCode has an RPC code's name and another number.
type oddCode uint32

func (oddCode) String() string { return "unavailable" }

type oddCodeError struct{}

func (oddCodeError) Error() string { return "odd" }
func (oddCodeError) Code() oddCode { return 99 }

type twirpCode string

type twirpError struct{ code twirpCode }

func (e twirpError) Error() string   { return string(e.code) }
func (e twirpError) Code() twirpCode { return e.code }

// processError has a Code that is no RPC's.
type processError struct{ code int }

func (e processError) Error() string { return "process failed" }
func (e processError) Code() int     { return e.code }

// stringCodeError has a code of its own vocabulary.
type stringCodeError struct{}

func (stringCodeError) Error() string { return "own vocabulary" }
func (stringCodeError) Code() string  { return "not_found" }

type pgError struct{ state string }

func (e *pgError) Error() string    { return "ERROR: duplicate key (SQLSTATE " + e.state + ")" }
func (e *pgError) SQLState() string { return e.state }

type pqCode string

type pqError struct {
	Severity string
	Code     pqCode
	Message  string
}

func (e *pqError) Error() string { return "pq: " + e.Message }

type MySQLError struct {
	Number   uint16
	SQLState [5]byte
	Message  string
}

func (e *MySQLError) Error() string { return e.Message }

// vendorError has a five-character code that is not SQL's.
type vendorError struct{ Code string }

func (e vendorError) Error() string { return "vendor" }

type smithyResponseError struct {
	status int
	err    error
}

func (e *smithyResponseError) Error() string       { return "https response error" }
func (e *smithyResponseError) HTTPStatusCode() int { return e.status }
func (e *smithyResponseError) Unwrap() error       { return e.err }

type smithyAPIError struct{ code string }

func (e *smithyAPIError) Error() string     { return "api error" }
func (e *smithyAPIError) ErrorCode() string { return e.code }

// sdkError is the shape of the SDKs of model providers.
type sdkError struct {
	StatusCode int
	Code       string
	Response   *http.Response
}

func (e *sdkError) Error() string { return "POST https://api.test/v1?key=SECRET: failed" }

type azureError struct {
	ErrorCode   string
	RawResponse *http.Response
}

func (e *azureError) Error() string { return "azure" }

type statusValueError struct{ Status int }

func (e statusValueError) Error() string { return "status value" }

type googleError struct {
	Code   int
	Header http.Header
}

func (e *googleError) Error() string { return "googleapi" }

type HTTPError struct{ Code int }

func (e HTTPError) Error() string { return "http error" }

type rpcJSONError struct{ Code int }

func (e rpcJSONError) Error() string { return "json-rpc" }

type dockerStatusError struct{ StatusCode int }

func (e dockerStatusError) Error() string { return "container exited" }

type methodStatusError struct{ status int }

func (e methodStatusError) Error() string   { return "status" }
func (e methodStatusError) StatusCode() int { return e.status }

type retryMethodError struct{ methodStatusError }

func (e retryMethodError) RetryAfter() time.Duration { return 7 * time.Second }

type retryPairError struct{ methodStatusError }

func (e retryPairError) RetryAfter() (time.Duration, bool) { return 8 * time.Second, true }

type retryFieldError struct{ RetryAfter time.Duration }

func (e retryFieldError) Error() string { return "slow down" }

type AbuseRateLimitError struct {
	Response   *http.Response
	RetryAfter *time.Duration
}

func (e *AbuseRateLimitError) Error() string { return "abuse" }

type timeoutOnly struct{}

func (timeoutOnly) Error() string { return "no answer" }
func (timeoutOnly) Timeout() bool { return true }

type proxyNoRows struct{}

func (proxyNoRows) Error() string        { return "nothing there" }
func (proxyNoRows) Is(target error) bool { return target == sql.ErrNoRows }

type proxyCanceled struct{}

func (proxyCanceled) Error() string        { return "gave up" }
func (proxyCanceled) Is(target error) bool { return target == context.Canceled }

// opaqueError says nothing but its text; err may be nil.
type opaqueError struct {
	text string
	err  error
}

func (e *opaqueError) Error() string { return e.text }
func (e *opaqueError) Unwrap() error { return e.err }

func httpAnswer(status int, retryAfter string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}}
	if retryAfter != "" {
		r.Header.Set("Retry-After", retryAfter)
	}
	return r
}

var errStore = errors.New("store")
