package toolguard

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Errors as SDKs have them: a method Code says a status only where HTTP is near.
type (
	httpCoded struct {
		Request *http.Request
		code    int
	}
	exitCoded  struct{ code int }
	statusOnly struct{ status int }
)

func (httpCoded) Error() string  { return "refused" }
func (e httpCoded) Code() int    { return e.code }
func (exitCoded) Error() string  { return "refused" }
func (e exitCoded) Code() int    { return e.code }
func (statusOnly) Error() string { return "refused" }
func (e statusOnly) Status() int { return e.status }

// A number counts from the first of its range to the last, and no further.
func TestEdgesOfStatusNumbers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"code near HTTP":         {httpCoded{code: 404}, 404},
		"code near HTTP, exit":   {httpCoded{code: 255}, 0},
		"code of something else": {exitCoded{code: 404}, 0},
		"status":                 {statusOnly{404}, 404},
		"status, first":          {statusOnly{300}, 300},
		"status, exit code":      {statusOnly{255}, 0},
		"status, last":           {statusOnly{599}, 599},
		"status, beyond":         {statusOnly{600}, 0},
		"text, first":            {errors.New("failed with status 400"), 400},
		"text, before":           {errors.New("failed with status 399"), 0},
		"text, last":             {errors.New("failed with status 599"), 599},
		"text, beyond":           {errors.New("failed with status 600"), 0},
		"text, another number":   {errors.New("order 12345 failed with status 503"), 503},
	} {
		assert.Equal(t, c.want, classify(c.err).status, name)
	}
}

// What never reached a service, and why.
func TestEdgesOfDialing(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	d := classify(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake", Conn: here})
	assert.Equal(t, []any{CodeTLSFailure, true, "tls: not a tls record"}, []any{d.Code, d.dial, d.detail}, "the handshake was not over")
	d = classify(tls.RecordHeaderError{Msg: "unknown version"})
	assert.Equal(t, []any{CodeTLSFailure, false}, []any{d.Code, d.dial})
	d = classify(tls.AlertError(40))
	assert.Equal(t, []any{CodeTLSFailure, false, "tls: alert"}, []any{d.Code, d.dial, d.detail})
	assert.Equal(t, CodeNotInstalled, classify(&exec.Error{Name: "pdftotext", Err: errors.New("permission denied")}).Code)
}
