package toolguard

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

func TestStop(t *testing.T) {
	t.Parallel()
	stops := []stopReason{stopAttemptTimeout, stopCallerDeadline, stopCallerCanceled}
	echoes := []error{ // case n01
		context.Canceled, context.DeadlineExceeded, wrap5(context.Canceled), &url.Error{Op: "Get", Err: context.Canceled},
		errors.New("driver: context canceled"), errors.New("anything"), &opaqueError{text: "anything"}, nil,
		proxyCanceled{}, grpcErr(1), grpcErr(4), &pgError{"57014"}, &exec.ExitError{}, io.ErrUnexpectedEOF,
		&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, &net.OpError{Op: "read", Err: syscall.ECONNRESET},
		errors.Join(&smithyResponseError{status: 503}, context.Canceled), // a retrying client gives both
		errors.Join(methodStatusError{429}, context.Canceled),
	}
	for _, err := range echoes {
		for _, stop := range stops {
			d := diagnose(t.Context(), err, stop, reader{})
			assert.Equal(t, stop.code(), d.Code, "%v", err)
			assert.False(t, d.definite, "%v", err)
		}
	}
	kept := map[Code]error{
		CodeNotFound:           methodStatusError{404},
		CodeBusinessRule:       Business("no"),
		CodeInvalidArgument:    Param("a", "b"),
		CodePermissionDenied:   &pgError{"42501"},
		CodeServiceUnavailable: methodStatusError{503},
		CodeRateLimited:        RateLimited(0),
		CodePanic:              errors.Join(&isolate.PanicError{}, context.Canceled),
		CodeExited:             errors.Join(isolate.ErrExited, context.Canceled),
		CodeConflict:           &smithyResponseError{status: 409, err: context.Canceled},
	}
	for code, err := range kept {
		for _, stop := range stops {
			assert.Equal(t, code, diagnose(t.Context(), err, stop, reader{}).Code)
		}
	}
}

// An author who calls every failure of his client "unavailable" does not make a
// caller's cancellation count against the service. case n01
func TestStopOverAuthor(t *testing.T) {
	t.Parallel()
	err := NotStarted(Unavailable("the mail service cannot be reached"))
	diagnosed{code: CodeCanceled, claim: claimed(OutcomeNotStarted)}.check(t, diagnose(t.Context(), err, stopCallerCanceled, reader{}))
	diagnosed{code: CodeServiceUnavailable, message: "the mail service cannot be reached", claim: claimed(OutcomeNotStarted)}.
		check(t, diagnose(t.Context(), err, stopAttemptTimeout, reader{}))
	d := diagnose(t.Context(), &net.OpError{Op: "dial", Err: context.Canceled}, stopCallerCanceled, reader{})
	diagnosed{code: CodeCanceled, dial: true}.check(t, d)
}
