package toolguard

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard/internal/cause"
	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/prompts"
)

// answer turns how the call stands into the envelope. It is the one exit, and
// changes nothing.
func (c *call) answer(e *Envelope) {
	if c.envelope != nil {
		*e = *c.envelope
		return
	}
	defer func() {
		if recover() != nil {
			*e = c.lastResort()
		}
	}()
	*e = Envelope{
		OK: c.failure == nil, CallID: c.id, Tool: c.toolName(), Args: c.argsToShow(), Key: c.keyIfMade(),
		Attempts: c.attempts, Degraded: c.source(), Notes: c.notes, identity: c.guard.args.identity, past: c.pastAnswer(),
		format: c.guard.opts.Render.Format, words: c.guard.catalogue(c.locale),
	}
	if e.OK {
		e.Result = *c.result
	} else {
		c.answerFailure(e)
		c.fit(e)
	}
}

// argsToShow are those that ran, and the caller's own: a journal, or an observer, may
// still read the others when a late answer comes.
func (c *call) argsToShow() json.RawMessage {
	if c.rare != nil && c.rare.ran != nil {
		return c.rare.ran
	}
	if c.inJournal() || c.guard.opts.Observe.Arguments {
		return slices.Clone(c.doc.Text)
	}
	return c.doc.Text
}

// lastResort answers when wording the answer itself failed. It claims nothing
// that is not certain.
func (c *call) lastResort() Envelope {
	outcome := c.outcome
	return Envelope{
		CallID: c.id, Tool: c.toolName(), Attempts: c.attempts,
		Error:      &Failure{Code: CodeInternalError, Outcome: outcome, Message: string(prompts.English().AppendMessage(nil, string(CodeInternalError), nil))},
		Suggestion: string(prompts.English().AppendStep(nil, prompts.StepAskCheckUnknown, nil)),
		cause:      c.lastErr(), words: prompts.English(),
	}
}

func (c *call) answerFailure(e *Envelope) {
	f := c.failure
	if f.adopted != nil {
		c.answerAdopted(e, f.adopted)
		return
	}
	var v prompts.Vars
	c.vars(&v)
	step, resend := c.step()
	e.cause, e.control = f.err, f.control
	e.Error = &Failure{
		Category: f.row().category, Code: f.Code, Retryable: resend, Outcome: c.outcome,
		RetryAfter: f.RetryAfter, Quote: c.quote(e.words, maxQuote),
		Example: f.faults().example, Incident: f.incident,
	}
	e.Error.Violations, e.Error.More = c.violationsIn(e.words)
	if c.outcome == OutcomeUnknown && !c.safeAgain() {
		e.Error.RetryAfter = 0 // no wait makes it right to send it again
	}
	if e.Error.RetryAfter > 0 {
		e.RetryAt = c.now().Add(e.Error.RetryAfter)
	}
	room := rooms.Get().(*[]byte)
	b := c.appendMessage((*room)[:0], e.words, &v)
	n := len(b)
	if c.advice.step != "" {
		v.Count, v.Wait = c.advice.count, c.advice.wait
	}
	v.Told = e.Error.Quote != "" || f.Message != ""
	b = e.words.AppendStep(b, step, &v)
	text := string(b)
	e.Error.Message, e.Suggestion = text[:n], text[n:]
	*room = b
	rooms.Put(room)
}

// unmade answers for a guard that New did not make.
func unmade(in Call) Envelope {
	words := prompts.English()
	return Envelope{
		CallID: in.ID, cause: errors.New("toolguard: this Guard or Toolbox was not made by New or NewToolbox"), words: words,
		Error:      &Failure{Code: CodeInternalError, Outcome: OutcomeNotStarted, Message: string(words.AppendMessage(nil, string(CodeInternalError), nil))},
		Suggestion: string(words.AppendStep(nil, prompts.StepTellUserInternal, nil)),
	}
}

// rooms are buffers to word answers in.
var rooms = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// inRoom words one text.
func inRoom(words func([]byte) []byte) string {
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	*room = words((*room)[:0])
	return string(*room)
}

// answerAdopted passes on an inner guard's failure. Its words were chosen by the
// guard that knew more.
func (c *call) answerAdopted(e *Envelope, inner *Envelope) {
	failure := *inner.Error
	failure.Outcome = c.outcome
	c.failure.incident = failure.Incident
	e.Error, e.Suggestion, e.RetryAt = &failure, inner.Suggestion, inner.RetryAt
	e.cause = c.failure.err
	if e.Key == "" {
		e.Key = inner.Key
	}
	if c.advice.step != "" {
		v := prompts.Vars{Tool: c.toolName(), Count: c.advice.count, Wait: c.advice.wait}
		failure.Retryable, e.Suggestion = false, string(e.words.AppendStep(nil, c.advice.step, &v))
	}
}

// vars are what the phrases of a failure may speak of.
func (c *call) vars(v *prompts.Vars) {
	f, info := c.failure, &c.guard.info
	v.Tool, v.Name, v.Incident = c.toolName(), f.field, f.incident
	v.Contact, v.Timeout = c.guard.opts.Render.Contact, c.timeAllowed()
	v.Wait, v.Missing = f.RetryAfter, c.missing()
	v.Alternatives, v.Verify, v.Reads = info.Alternatives, info.VerifyWith, info.Effect == ReadOnly
	if f.status > 0 {
		v.Status = strconv.Itoa(f.status)
	}
	if f.RetryAfter > longWait {
		v.At = c.now().Add(f.RetryAfter)
	}
	v.Limit, v.Count, v.Done = c.loop.limit, c.loop.count, c.loop.done
	if f.Code == CodeToolStuck {
		v.Count = int(c.guard.counters.abandoned.Load())
	}
	c.via.vars(v)
}

// timeAllowed is how long the last attempt could take: the budget, or a batch,
// may have left it less than the policy.
func (c *call) timeAllowed() time.Duration {
	if a := c.last(); a != nil && a.limit != noLimit {
		return a.limit
	}
	return c.guard.opts.Timeout.Attempt
}

// appendMessage says what happened, in the author's words if there are some, and
// what that means for the effect.
func (c *call) appendMessage(b []byte, words *prompts.Catalogue, v *prompts.Vars) []byte {
	f := c.failure
	if f.Message != "" && f.field == "" {
		b = append(b, sentence(c.authored(f.Message))...)
	} else {
		b = words.AppendMessage(b, string(f.Code), v)
	}
	phrase, ok := c.outcomePhrase()
	if !ok {
		return b
	}
	return words.AppendOutcome(appendGap(b, words), phrase, nil)
}

// appendGap also parts a Chinese sentence from the author's Latin one.
func appendGap(b []byte, words *prompts.Catalogue) []byte {
	n := len(b)
	if b = words.AppendGap(b); len(b) == n && n > 0 && b[n-1] < utf8.RuneSelf {
		b = append(b, ' ')
	}
	return b
}

// sentence ends an author's words, so that ours may follow.
func sentence(text string) string {
	last, _ := utf8.DecodeLastRuneInString(text)
	switch {
	case strings.ContainsRune(".!?…。！？", last):
		return text
	case unicode.Is(unicode.Han, last):
		return text + "。"
	default:
		return text + "."
	}
}

// outcomePhrase says what must be said of the effect. Of a look-up that broke it
// says that this proves nothing about the data; of a refused one, nothing.
func (c *call) outcomePhrase() (prompts.Outcome, bool) {
	category := c.failure.row().category
	system := category == CategoryTimeout || category == CategoryUnavailable || category == CategoryUnknown
	switch {
	case c.outcome == OutcomeNotStarted && (category == CategoryParam || c.loop.code != ""):
		return "", false // the message says that it was not run
	case c.guard.info.Effect == ReadOnly && system:
		return prompts.OutcomeUnread, true
	case c.guard.info.Effect == ReadOnly:
		return "", false
	default:
		return prompts.Outcome(c.outcome.String()), true
	}
}

// maxQuote bounds foreign text in an envelope, in bytes; below leastQuote it says
// too little to be quoted.
const (
	maxQuote   = 300
	leastQuote = 80
)

// quote frames what the tool said as data: only a chain of plain texts, unless
// the policy quotes every cause. The text is redacted before it is cut.
func (c *call) quote(words *prompts.Catalogue, limit int) string {
	f, policy := c.failure, &c.guard.opts.Render
	text := f.quote
	if policy.QuoteCauses && f.err != nil && f.Message == "" {
		text = cause.Text(&c.guard.hanging.errors, f.err, 4*maxQuote)
	}
	if policy.HideCauses || text == "" || text == f.Message || limit < leastQuote {
		return ""
	}
	if f.Message != "" {
		limit /= 2 // the author's words take the other half
	}
	return inRoom(func(b []byte) []byte {
		return words.AppendFrame(b, prompts.FrameQuote, &prompts.Vars{Text: c.cutRedacted(text, limit)})
	})
}

// missing are the names of required arguments that are not there.
func (c *call) missing() []string {
	var names []string
	for _, v := range c.failure.faults().violations {
		if v.Rule == schema.RuleRequired {
			names = append(names, v.Name)
		}
	}
	return names
}

// incident returns a short id, unique enough to find an event by.
func incident() string {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789"
	var id [8]byte
	for i, r := 0, rand.Uint64(); i < len(id); i, r = i+1, r>>5 {
		id[i] = letters[r&31]
	}
	return string(id[:])
}

// spell puts the notes into words.
func (c *call) spell(words *prompts.Catalogue) {
	for i := range c.notes {
		n := &c.notes[i]
		if n.Text == "" {
			n.Text = string(words.AppendNote(nil, n.Kind, c.noteVars(n)))
		}
	}
}

func (c *call) noteVars(n *Note) *prompts.Vars {
	v := &prompts.Vars{Tool: c.toolName(), Path: bounded(n.Path, maxPath), Got: n.From, Want: n.To, Count: n.Count, Size: n.Bytes, Kind: n.Media, Age: n.Age, Limit: n.Limit}
	if d := c.source(); d != nil && (n.Kind == prompts.NoteDegraded || n.Kind == prompts.NoteLastKnownGood) {
		v.Source, v.Age, v.Missing = d.Source, d.Age, d.Missing
	}
	return v
}
