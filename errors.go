package toolguard

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/toolguard-go/toolguard/internal/cause"
	"github.com/toolguard-go/toolguard/internal/isolate"
)

// Error is a failure with a code. Tool authors make one with the constructors
// of this file; its Message is theirs, so a model may read it. [Envelope.Err]
// returns one too, with the tool's own error underneath.
//
// An Error is a plain value: it may be copied and compared by field.
type Error struct {
	Code Code
	// Outcome is the author's word on the side effect. The zero value says
	// nothing: the guard then goes by evidence. See [MaybeDone].
	Outcome Outcome
	// Message is one sentence for the model. If empty, the code's own words.
	Message string
	// Field names the argument that is wrong, for [CodeInvalidArgument].
	Field string
	// RetryAfter is how long to wait at least; 0 means not said.
	RetryAfter time.Duration
	// Cause is what led here, or nil. Its text never reaches a model unless it
	// is a plain text error; see RenderPolicy.
	Cause error

	// guarded: a guard made it, of its own call. Inside another tool it says why
	// that failed, and nothing of what that had done before.
	guarded bool
}

// printing is the account of causes that hang while an [Error] is printed: it is a
// value that anybody may print, and no guard's.
var printing isolate.Account

// maxErrorText bounds a cause's text, in bytes: foreign errors may be huge.
const maxErrorText = 4 << 10

// Error returns the code with the message, or with the beginning of the cause's
// text. It is safe whatever the cause does.
func (e *Error) Error() string {
	switch {
	case e == nil:
		return "toolguard: nil error"
	case e.Message != "":
		return "toolguard: " + string(e.Code) + ": " + e.Message
	case e.Cause != nil:
		return "toolguard: " + string(e.Code) + ": " + cause.Text(&printing, e.Cause, maxErrorText)
	default:
		return "toolguard: " + string(e.Code)
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// Param, Business, NotFound and Permission also say that nothing was changed.
// Where the tool had acted before it found out, wrap them in [MaybeDone].

// Param says that an argument cannot be used and which one: field is its name, or
// a path such as "items.0.sku". The format and its values are read by the model:
// name what is allowed.
func Param(field, format string, args ...any) error {
	return &Error{Code: CodeInvalidArgument, Outcome: OutcomeFailed, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Business says that the request was understood and refused by a rule.
func Business(format string, args ...any) error {
	return &Error{Code: CodeBusinessRule, Outcome: OutcomeFailed, Message: fmt.Sprintf(format, args...)}
}

// NotFound says that the thing asked for does not exist.
func NotFound(format string, args ...any) error {
	return &Error{Code: CodeNotFound, Outcome: OutcomeFailed, Message: fmt.Sprintf(format, args...)}
}

// Permission says that the caller may not do this.
func Permission(format string, args ...any) error {
	return &Error{Code: CodePermissionDenied, Outcome: OutcomeFailed, Message: fmt.Sprintf(format, args...)}
}

// Unavailable says that the tool cannot serve now. Whether it had begun is
// left to evidence: wrap it in [NotStarted] where that is known.
func Unavailable(format string, args ...any) error {
	return &Error{Code: CodeServiceUnavailable, Message: fmt.Sprintf(format, args...)}
}

// RateLimited says that the service asks to wait. A negative duration counts
// as not said. As with [Unavailable], evidence decides whether it had begun.
func RateLimited(after time.Duration) error {
	return &Error{Code: CodeRateLimited, RetryAfter: max(after, 0)}
}

// NotStarted, NoEffect and MaybeDone return a nil pointer in an error as it is: it is
// no error, whatever is said about it.

// NotStarted says that err came before any effect could begin, so that even a
// tool that is not repeatable may run again. It returns nil for nil.
func NotStarted(err error) error { return sure(err, OutcomeNotStarted) }

// NoEffect says that the tool ran and, whatever err is, changed nothing.
// It returns nil for nil.
func NoEffect(err error) error { return sure(err, OutcomeFailed) }

// MaybeDone says that the effect may have happened in spite of err.
// It returns nil for nil.
func MaybeDone(err error) error { return sure(err, OutcomeUnknown) }

// sureError carries the author's word on the outcome; its code is its cause's.
type sureError struct {
	outcome Outcome
	cause   error
}

func sure(err error, o Outcome) error {
	if cause.IsNil(err) {
		return err
	}
	return &sureError{outcome: o, cause: err}
}

func (e *sureError) Error() string { return e.cause.Error() }
func (e *sureError) Unwrap() error { return e.cause }

// RetryAfter returns how long the failed service asked to wait, looking through
// the whole cause chain, which need not end. It is what a host's own scheduler wants to know.
func RetryAfter(err error) (time.Duration, bool) {
	var e *Error
	if errors.As(ending(err), &e) && e.RetryAfter > 0 {
		return e.RetryAfter, true
	}
	return 0, false
}

// ending returns err or, if its chain has no end, or does not say in time where that
// is, an error that stands for it: [errors.Is] would follow the chain for ever.
func ending(err error) error {
	chain := cause.Known(err, ownError)
	if !chain.Foreign() && !chain.Cyclic {
		return err
	}
	var all cause.Chain
	walked := cause.Within(&printing, func() { all = cause.Walk(err, ownError) })
	switch {
	case !walked:
		return &endless{err, chain, false}
	case all.Cyclic || all.Cut:
		return &endless{err, all, true}
	default:
		return err
	}
}

// endless has in it what was seen of the chain of err.
type endless struct {
	err    error
	seen   cause.Chain
	walked bool // else foreign errors were asked in vain, and are not asked again
}

func (e *endless) Error() string { return cause.Text(&printing, e.err, maxErrorText) }

// Is reports whether one of the errors that were seen is target, or says so.
func (e *endless) Is(target error) bool {
	for _, n := range e.seen.Nodes {
		is, asks := n.Err.(interface{ Is(error) bool })
		if cause.Same(n.Err, target) || asks && e.answers(n) && is.Is(target) {
			return true
		}
	}
	return false
}

func (e *endless) answers(n cause.Node) bool {
	return n.Kind != cause.KindNil && (e.walked || n.Kind != cause.KindForeign)
}

// As sets target to the first of the errors that were seen of its type.
func (e *endless) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	for _, n := range e.seen.Nodes {
		if reflect.TypeOf(n.Err).AssignableTo(to.Type()) {
			to.Set(reflect.ValueOf(n.Err))
			return true
		}
		if as, asks := n.Err.(interface{ As(any) bool }); asks && e.answers(n) && as.As(target) {
			return true
		}
	}
	return false
}
