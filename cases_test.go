package toolguard_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// Cases that no transcript can tell are table tests in cases_*_test.go, named
// for their rules, with the report in a comment. testdata/cases.md lists where
// each case went.

// caseTool is a tool of which more matters than its effect.
func caseTool(info toolguard.Info, f run) plain {
	tool := toolOf(info.Effect, f)
	tool.info = info
	return tool
}

func caseGuard(t *testing.T, info toolguard.Info, opts *toolguard.Options, f run) *toolguard.Guard {
	t.Helper()
	if info.Name == "" {
		info.Name = "probe"
	}
	return guardOf(t, caseTool(info, f), opts)
}

// caseSteps answers the first call by the first step and so on, the last for ever.
func caseSteps(steps ...run) (call run, runs func() int) {
	s := inOrder(steps...)
	return s.call, s.count
}

// replyError is how an SDK reports an answer with an error status.
type replyError struct {
	StatusCode int
	Header     http.Header
}

func (e *replyError) Error() string { return "https://api.internal.example/v1?key=K: refused" }

func reply(status int, retryAfter string) error {
	e := &replyError{StatusCode: status, Header: http.Header{}}
	if retryAfter != "" {
		e.Header.Set("Retry-After", retryAfter)
	}
	return e
}

func serveInMemory(t *testing.T, handler http.HandlerFunc) *http.Transport {
	t.Helper()
	return toolguardtest.NewServer(t, handler).Transport()
}

const caseForever = 1000 * time.Hour
