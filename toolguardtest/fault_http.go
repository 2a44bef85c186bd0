package toolguardtest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/toolguard-go/toolguard"
)

// StatusError is an HTTP answer as an error, of the shape that SDKs give it.
type StatusError struct {
	StatusCode int
	Header     http.Header
	Body       string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("POST %s: unexpected status %d: %s", secretURL, e.StatusCode, e.Body)
}

// Status makes a fault of an HTTP status. header is name and value in turn.
func Status(name string, code toolguard.Code, status int, header ...string) Fault {
	return Failure(name, code, func() error {
		e := &StatusError{StatusCode: status, Header: http.Header{}, Body: "SQL: " + secretQuery + " VALUES ('" + secretPass + "')"}
		for i := 0; i+1 < len(header); i += 2 {
			e.Header.Set(header[i], header[i+1])
		}
		return e
	})
}

func httpFaults() []Fault {
	faults := []Fault{
		Status("http 408", toolguard.CodeDownstreamTimeout, 408),
		Status("http 500", toolguard.CodeServerError, 500),
		Status("http 502", toolguard.CodeServerError, 502),
		Status("http 503", toolguard.CodeServiceUnavailable, 503),
		Status("http 503, retry-after in seconds", toolguard.CodeServiceUnavailable, 503, "Retry-After", "2"),
		Status("http 504", toolguard.CodeDownstreamTimeout, 504),
		Status("http 529", toolguard.CodeServiceUnavailable, 529),
	}
	for _, f := range []Fault{
		Status("http 400", toolguard.CodeRequestRejected, 400),
		Status("http 401", toolguard.CodeAuthExpired, 401),
		Status("http 403", toolguard.CodePermissionDenied, 403),
		Status("http 404", toolguard.CodeNotFound, 404),
		Status("http 409", toolguard.CodeConflict, 409),
		Status("http 422", toolguard.CodeRequestRejected, 422),
		Status("http 429", toolguard.CodeRateLimited, 429),
		Status("http 429, retry-after in seconds", toolguard.CodeRateLimited, 429, "Retry-After", "7"),
		Status("http 429, retry-after in milliseconds", toolguard.CodeRateLimited, 429, "Retry-After-Ms", "1500"),
		Status("http 429, retry-after zero", toolguard.CodeRateLimited, 429, "Retry-After", "0"),
		Status("http 429, retry-after an hour", toolguard.CodeRateLimited, 429, "Retry-After", "3600"),
		Status("http 429, retry-after that makes no sense", toolguard.CodeRateLimited, 429, "Retry-After", "soon, or -1"),
		retryAfterDate("http 429, retry-after a date", 5*time.Second),
		retryAfterDate("http 429, retry-after a date in the past", -time.Hour),
	} {
		faults = append(faults, f.proof())
	}
	return faults
}

// retryAfterDate names the instant when the answer is made: in a bubble that is
// not today.
func retryAfterDate(name string, from time.Duration) Fault {
	return Failure(name, toolguard.CodeRateLimited, func() error {
		at := time.Now().Add(from).UTC().Format(http.TimeFormat)
		return &StatusError{StatusCode: 429, Header: http.Header{"Retry-After": {at}}}
	})
}
