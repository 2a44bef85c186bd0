package toolguard

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard/internal/evidence"
	"github.com/toolguard-go/toolguard/internal/retryafter"
)

// httpCodes says what a status means where the hundred it is in does not.
var httpCodes = map[int]Code{
	401: CodeAuthExpired, 407: CodeAuthExpired,
	403: CodePermissionDenied,
	404: CodeNotFound, 410: CodeNotFound,
	409: CodeConflict, 412: CodeConflict, 423: CodeConflict,
	425: CodeRateLimited, 429: CodeRateLimited,
	// A proxy or the server gave up waiting: the request may still be at work.
	408: CodeDownstreamTimeout, 499: CodeDownstreamTimeout, 504: CodeDownstreamTimeout,
	503: CodeServiceUnavailable, 529: CodeServiceUnavailable,
}

func httpCode(status int) Code {
	if c, ok := httpCodes[status]; ok {
		return c
	}
	switch {
	case status >= 500:
		return CodeServerError
	case status >= 400:
		return CodeRequestRejected
	default:
		return CodeBadResponse
	}
}

func byHTTP(err error) finding {
	f := finding{retryAfter: retryAfterOf(err)}
	status := httpStatus(err)
	switch {
	case status == 0:
		return f
	case status < 400: // an answer, but not one the tool wanted
		f = f.as(weak(CodeBadResponse, httpDetail(status)))
	default:
		f = f.as(strong(httpCode(status), httpDetail(status)))
	}
	f.status = status
	return f
}

// consult reads from the transport's record what the error does not say: SDKs
// like to hide the status and how long to wait.
func (d *diagnosis) consult(record *evidence.Attempt) {
	if wait, ok := record.RetryAfter(); ok && d.RetryAfter == 0 && d.Code.row().retry != retryNever {
		d.RetryAfter = wait
	}
	if d.Code == CodeBadResponse && d.Message == "" && record.LastLost() {
		d.Code, d.detail = CodeConnectionLost, "recorded: the answer broke off"
	}
	status, ok := record.LastStatus()
	if d.Code != CodeUnknownError || d.Message != "" || !ok || status < 400 {
		return
	}
	d.Code, d.status = httpCode(status), status
	d.definite = d.Code.row().definite
	d.detail = "recorded " + httpDetail(status)
	d.RetryAfter, _ = record.RetryAfter()
}

func httpDetail(status int) string { return "http status " + strconv.Itoa(status) }

// httpStatus returns the status an error carries in one of the usual shapes, or 0.
func httpStatus(err error) int {
	if r := responseOf(err); r != nil && inStatusRange(r.StatusCode, 100) {
		return r.StatusCode
	}
	if n := statusByMethod(err); n != 0 {
		return n
	}
	return statusByField(err)
}

// inStatusRange reports whether n can be a status. Names that do not say HTTP also
// stand for exit codes, which end at 255: there only 300 and up count.
func inStatusRange(n, from int) bool { return n >= from && n <= 599 }

func statusByMethod(err error) int {
	if e, ok := err.(interface{ HTTPStatusCode() int }); ok && inStatusRange(e.HTTPStatusCode(), 100) {
		return e.HTTPStatusCode()
	}
	if e, ok := err.(interface{ StatusCode() int }); ok && inStatusRange(e.StatusCode(), 300) {
		return e.StatusCode()
	}
	if e, ok := err.(interface{ Status() int }); ok && inStatusRange(e.Status(), 300) {
		return e.Status()
	}
	if e, ok := err.(interface{ Code() int }); ok && looksHTTP(err) && inStatusRange(e.Code(), 400) {
		return e.Code()
	}
	return 0
}

func statusByField(err error) int {
	for _, shape := range [...]struct {
		name string
		from int
	}{{"HTTPStatusCode", 100}, {"StatusCode", 300}, {"HTTPStatus", 300}, {"Status", 300}, {"Code", 400}} {
		n := intField(err, shape.name)
		if inStatusRange(n, shape.from) && (shape.name != "Code" || looksHTTP(err)) {
			return n
		}
	}
	return 0
}

func intField(err error, name string) int {
	f, ok := fieldOf(err, name)
	switch {
	case !ok:
		return 0
	case f.CanInt():
		return int(f.Int())
	case f.CanUint():
		return int(f.Uint())
	}
	return 0
}

// looksHTTP guards the name Code, which mostly means something else: the type
// must be named for HTTP or carry a part of an HTTP answer.
func looksHTTP(err error) bool {
	if name := strings.ToLower(typeName(err)); strings.Contains(name, "http") || strings.Contains(name, "statuscode") {
		return true
	}
	v, ok := structOf(err)
	if !ok {
		return false
	}
	for i := range v.NumField() {
		switch v.Type().Field(i).Type {
		case reflect.TypeFor[http.Header](), reflect.TypeFor[*http.Response](), reflect.TypeFor[*http.Request]():
			return true
		}
	}
	return false
}

// responseOf returns the HTTP answer an error holds, or nil.
func responseOf(err error) *http.Response {
	for _, name := range [...]string{"Response", "RawResponse", "HTTPResponse"} {
		if r, ok := fieldAs[*http.Response](err, name); ok && r != nil {
			return r
		}
	}
	return nil
}

// retryAfterOf returns how long the error says to wait, or 0.
func retryAfterOf(err error) time.Duration {
	switch e := err.(type) {
	case interface{ RetryAfter() time.Duration }:
		return max(e.RetryAfter(), 0)
	case interface{ RetryAfter() (time.Duration, bool) }:
		if d, ok := e.RetryAfter(); ok {
			return max(d, 0)
		}
	}
	if d, ok := fieldAs[time.Duration](err, "RetryAfter"); ok && d > 0 {
		return d
	}
	if d, ok := fieldAs[*time.Duration](err, "RetryAfter"); ok && d != nil {
		return max(*d, 0)
	}
	d, _ := retryafter.Parse(headerOf(err), time.Now())
	return d
}

func headerOf(err error) http.Header {
	if r := responseOf(err); r != nil {
		return r.Header
	}
	for _, name := range [...]string{"Header", "Headers", "ResponseHeader"} {
		if h, ok := fieldAs[http.Header](err, name); ok {
			return h
		}
	}
	switch e := err.(type) {
	case interface{ Header() http.Header }:
		return e.Header()
	case interface{ Meta() http.Header }: // connect
		return e.Meta()
	}
	return nil
}
