package toolguard

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"github.com/toolguard-go/toolguard/internal/cause"
	"github.com/toolguard-go/toolguard/internal/isolate"
)

// Verdict is what a [Classifier] makes of an error. Every field may be left
// zero: the guard then finds that part out itself.
type Verdict struct {
	// Code is the reason. If empty, the guard's own classifiers go on looking.
	Code Code
	// Outcome is what the classifier knows of the side effect. The zero value,
	// [OutcomeUnknown], claims nothing: evidence decides.
	Outcome Outcome
	// RetryAfter is how long to wait at least; 0 or less means not said.
	RetryAfter time.Duration
	// Message is one sentence for the model. If empty, the code's own words.
	Message string
}

// Classifier turns an error of a tool, of an SDK for instance, into a verdict.
// It answers false where it has no opinion.
//
// It may be called from several goroutines at once. A panic counts as no
// opinion, and so does taking longer than 10 s, or than the attempt had. ctx is for its values: it does
// not end with the attempt. err is never nil.
type Classifier func(ctx context.Context, err error) (Verdict, bool)

// diagnosis is all that is known of a failure.
type diagnosis struct {
	Verdict
	// field is the argument that is wrong, where the author named one.
	field string
	// claimed: Outcome is the word of the author or the host, also if it is
	// OutcomeUnknown, which is what [MaybeDone] says.
	claimed bool
	// definite: the last request got a complete answer and had no effect. It is
	// stricter than the code's row: a text, or half of a join, proves nothing.
	definite bool
	// dial: the connection this error is about was never made. It says nothing
	// of earlier requests of the same attempt.
	dial bool
	// status is the HTTP status, or 0.
	status int
	// quote is text a model may see after redaction: the author's own words.
	quote string
	// detail says in the guard's words what the code was read from. It holds no
	// text of the error, but it is technical: for operators.
	detail string
}

// reader is by whom an error is read: the host's classifier, if there is one, and
// on whose accounts goes what hangs meanwhile. A nil account counts nothing.
type reader struct {
	user          Classifier
	asked, errors *isolate.Account
}

const (
	textLimit  = 2 << 10 // patterns are looked for in this much
	quoteLimit = 4 << 10 // more than is shown, because redaction comes before cutting
)

// diagnose finds out what err means. In this order: the host's classifier, the
// words of the tool's author ([Error], [NotStarted] and the like), typed errors
// from the deepest up, patterns in the text. It never panics, and of foreign
// code only the classifier can hold it up for longer than a moment.
//
// stop is why the attempt was told to stop, if it was. Without it a deadline in
// the chain is somebody else's, and a cancellation is nobody's: unknown_error.
func diagnose(ctx context.Context, err error, stop stopReason, by reader) diagnosis {
	chain := cause.Known(err, ownError)
	f := examine(by.errors, err, chain)
	f.hear(ctx, err, by)
	if f.rank == rankNone {
		f.readText(by.errors, err)
	}
	f.detail = cmp.Or(f.detail, typeDetail(chain))
	f.heed(stop)
	d := f.diagnosis()
	if !f.spelled {
		d.quote = quotable(by.errors, err, chain)
	}
	return d
}

func (f *finding) diagnosis() diagnosis {
	return diagnosis{
		Verdict:  Verdict{Code: cmp.Or(f.code, CodeUnknownError), Outcome: f.claim.outcome, RetryAfter: f.retryAfter, Message: f.message},
		field:    f.field,
		claimed:  f.claim.made,
		definite: f.definite,
		dial:     f.dial,
		status:   f.status,
		detail:   f.detail,
	}
}

// examine looks at every error of the chain. Foreign ones are asked on another
// goroutine; if they misbehave, what is known without them must do, above all
// what the author said around them.
func examine(account *isolate.Account, err error, chain cause.Chain) finding {
	if !chain.Foreign() {
		return weigh(chain, false)
	}
	var f finding
	if cause.Within(account, func() { f = weigh(cause.Walk(err, ownError), true) }) {
		return f
	}
	return weigh(chain, false)
}

// hear asks the host's classifier. What it leaves open stays as it was found.
func (f *finding) hear(ctx context.Context, err error, by reader) {
	v, ok := by.ask(ctx, err)
	if !ok {
		return
	}
	if v.Code != "" {
		f.rank, f.code, f.definite = rankAuthor, v.Code, v.Code.row().definite
		f.message, f.field, f.detail, f.spelled = "", "", "classifier", false
	}
	f.message = cmp.Or(v.Message, f.message)
	f.retryAfter = cmp.Or(max(v.RetryAfter, 0), f.retryAfter)
	if v.Outcome > OutcomeUnknown && v.Outcome <= OutcomeSucceeded {
		f.claim = claim{made: true, outcome: v.Outcome}
	}
}

func (r reader) ask(ctx context.Context, err error) (Verdict, bool) {
	if r.user == nil || err == nil {
		return Verdict{}, false
	}
	var v Verdict
	var opinion bool
	failed := r.asked.Run(context.WithoutCancel(ctx), patience(ctx), func(ctx context.Context) error {
		v, opinion = r.user(ctx, err)
		return nil
	})
	if failed != nil { // it may still be writing
		return Verdict{}, false
	}
	return v, opinion
}

// typeDetail names the innermost error type that is more than text.
func typeDetail(chain cause.Chain) string {
	for i := len(chain.Nodes) - 1; i >= 0; i-- {
		if n := chain.Nodes[i]; !n.Kind.Plain() && n.Kind != cause.KindOwn {
			return "error type " + reflect.TypeOf(n.Err).String()
		}
	}
	return ""
}

// quotable returns the text below the author's own types, if it is plain.
func quotable(account *isolate.Account, err error, chain cause.Chain) string {
	for i := len(chain.Nodes) - 1; i >= 0; i-- {
		if guarded(chain.Nodes[i].Err) {
			return "" // what another guard has to say has been said
		}
		if e, ok := chain.Nodes[i].Err.(*Error); ok && e != nil {
			err = e.Cause
			chain = cause.Known(err, ownError)
			break
		}
	}
	if !chain.Plain() {
		return ""
	}
	return cause.Text(account, bare(err), quoteLimit)
}

// bare takes off what the author said about the outcome: the text is the same.
func bare(err error) error {
	for s, ok := err.(*sureError); ok; s, ok = err.(*sureError) {
		err = s.cause
	}
	return err
}
