package toolguard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// rude misbehaves in every method a classifier may ask.
type rude struct{ how func() }

func (r *rude) Error() string             { r.how(); return "connection refused" }
func (r *rude) Unwrap() error             { r.how(); return nil }
func (r *rude) StatusCode() int           { r.how(); return 404 }
func (r *rude) SQLState() string          { r.how(); return "23505" }
func (r *rude) GRPCStatus() *grpcStatus   { r.how(); return nil }
func (r *rude) ErrorCode() string         { r.how(); return "" }
func (r *rude) RetryAfter() time.Duration { r.how(); return time.Hour }
func (r *rude) Header() http.Header       { r.how(); return nil }
func (r *rude) Timeout() bool             { r.how(); return true }
func (r *rude) Is(error) bool             { r.how(); return true }

// onlyStatusPanics answers everything but one question.
type onlyStatusPanics struct{ pgError }

func (*onlyStatusPanics) StatusCode() int { panic("no") }

// embedsNil promotes fields through a nil pointer.
type embedsNil struct{ *sdkError }

func (embedsNil) Error() string { return "embeds nil" }

// slices cannot be compared, nor used as a map key.
type slicesError []error

func (slicesError) Error() string     { return "slices" }
func (s slicesError) Unwrap() []error { return s }

type selfError struct{ methodStatusError }

func (e *selfError) Unwrap() error { return e }

func TestHostileErrors(t *testing.T) { // cases f04, f05
	t.Parallel()
	panics := &rude{func() { panic("no") }}
	exits := &rude{runtime.Goexit}
	var typedNil *rude
	for name, tc := range map[string]diagnosisCase{
		"panics":             {err: panics, want: diagnosed{code: CodeUnknownError}},
		"exits":              {err: exits, want: diagnosed{code: CodeUnknownError}},
		"exits, but claimed": {err: MaybeDone(exits), want: diagnosed{code: CodeUnknownError, claim: claimed(OutcomeUnknown)}},
		"exits in a join":    {err: errors.Join(dialErr, exits), want: diagnosed{code: CodeConnectionRefused}},
		"panics once":        {err: &onlyStatusPanics{pgError{"23505"}}, want: diagnosed{code: CodeConflict, definite: true}},
		"typed nil":          {err: typedNil, want: diagnosed{code: CodeUnknownError}},
		"typed nil, wrapped": {err: NotStarted(fmt.Errorf("x: %w", typedNil)), want: diagnosed{code: CodeUnknownError, claim: claimed(OutcomeNotStarted)}},
		"typed nil of ours":  {err: (*Error)(nil), want: diagnosed{code: CodeUnknownError}},
		"embedded nil":       {err: embedsNil{}, want: diagnosed{code: CodeUnknownError}},
		"wraps itself":       {err: &selfError{methodStatusError{404}}, want: diagnosed{code: CodeNotFound, definite: true, status: 404}},
		"uncomparable":       {err: slicesError{nil, slicesError{methodStatusError{404}}, nil}, want: diagnosed{code: CodeNotFound, definite: true, status: 404}},
		"huge":               {err: errors.New("rate limited " + strings.Repeat("x", 1<<20)), want: diagnosed{code: CodeRateLimited, quote: "rate limited " + strings.Repeat("x", quoteLimit-len("rate limited "))}},
		"too many":           {err: slicesError(append(make([]error, 100), methodStatusError{404})), want: diagnosed{code: CodeUnknownError}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.check(t, classify(tc.err))
		})
	}
}

func TestCyclicErrorOfOurs(t *testing.T) {
	t.Parallel()
	e := &Error{Code: CodeConflict}
	e.Cause = e
	diagnosed{code: CodeConflict, definite: true}.check(t, classify(e))
	e = &Error{Message: "round"}
	e.Cause = NotStarted(fmt.Errorf("and %w", e))
	diagnosed{code: CodeUnknownError, message: "round", claim: claimed(OutcomeNotStarted)}.check(t, classify(e))
}

// What is beyond the bound may be anything: nothing is proven then.
func TestCutChainProvesNothing(t *testing.T) {
	t.Parallel()
	members := slicesError{}
	for range 100 {
		members = append(members, methodStatusError{404})
	}
	diagnosed{code: CodeNotFound, status: 404}.check(t, classify(members))
	diagnosed{code: CodeNotFound, status: 404, claim: claimed(OutcomeFailed)}.check(t, classify(NoEffect(members)))
}

func TestBlockingErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		blocks := &rude{func() { <-release }}
		began := time.Now()
		d := classify(NotStarted(errors.Join(dialErr, blocks)))
		diagnosed{code: CodeConnectionRefused, claim: claimed(OutcomeNotStarted)}.check(t, d)
		diagnosed{code: CodeUnknownError}.check(t, classify(blocks))
		assert.LessOrEqual(t, time.Since(began), time.Second)
	})
}

func TestBlockingClassifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		d := diagnose(t.Context(), methodStatusError{503}, stopNone, asking(func(context.Context, error) (Verdict, bool) {
			<-release
			return Verdict{Code: CodeNotFound}, true
		}))
		assert.Equal(t, CodeServiceUnavailable, d.Code)
	})
}
