package toolguard

import (
	"cmp"
	"time"

	"github.com/toolguard-go/toolguard/internal/cause"
)

// rank says how much a finding is worth against others of the same chain.
type rank uint8

const (
	rankNone   rank = iota
	rankWeak        // fits many failures: a timeout, an answer that cannot be read
	rankStrong      // one failure by its own name: a status, an errno, a SQLSTATE
	rankAuthor      // somebody who knows says so
)

// finding is what a chain of errors, or one error of it, shows.
type finding struct {
	// These belong together: they are taken from one error.
	rank     rank
	code     Code
	definite bool
	detail   string
	field    string
	eof      bool // the code was read from an end of file
	spelled  bool // the text spells a typed error or the guard's own words

	// These add up, whichever error gives the code.
	message    string
	status     int
	retryAfter time.Duration
	claim      claim
	dial       bool
	network    bool // errors below are those of a network connection
	stopped    bool // there is a context error
}

// claim is the author's word on the outcome.
type claim struct {
	made    bool
	outcome Outcome
}

func strong(c Code, detail string) finding {
	return finding{rank: rankStrong, code: c, definite: c.row().definite, detail: detail}
}

func weak(c Code, detail string) finding {
	return finding{rank: rankWeak, code: c, definite: c.row().definite, detail: detail}
}

// over puts an error's own finding on top of its cause's. The deeper one wins
// unless the upper one ranks higher, but the outermost author is right.
func (f finding) over(deep finding) finding {
	best := deep
	if f.rank > deep.rank || f.rank == rankAuthor {
		best = f
	}
	best.message = f.message
	if f.rank != rankAuthor {
		best.message = cmp.Or(f.message, deep.message)
	}
	best.status = cmp.Or(best.status, deep.status, f.status)
	best.retryAfter = max(f.retryAfter, deep.retryAfter) // never undercut
	best.dial = f.dial || deep.dial
	best.network = f.network || deep.network
	best.stopped = f.stopped || deep.stopped
	if best.claim = f.claim; !f.claim.made {
		best.claim = deep.claim
	}
	return best.onNetwork(f)
}

// onNetwork reads again what means something else on a connection.
func (f finding) onNetwork(above finding) finding {
	switch {
	case !above.network:
	case f.eof:
		return f.as(strong(CodeConnectionLost, "net: end of file"))
	case above.dial && f.code == CodeConnectionLost:
		return f.as(strong(CodeConnectionRefused, f.detail))
	case above.dial && f.rank == rankNone:
		return f.as(weak(CodeConnectionRefused, "net: dial"))
	}
	return f
}

// as keeps what adds up and takes the rest from g.
func (f finding) as(g finding) finding {
	f.rank, f.code, f.definite, f.detail, f.eof = g.rank, g.code, g.definite, g.detail, g.eof
	return f
}

// beside joins two members of a join, each a failure of its own. What one of
// them proves is not proven for the other.
func (f finding) beside(next finding) finding {
	best := f
	if next.rank > f.rank {
		best = next
	}
	best.definite = f.definite && next.definite
	best.dial = f.dial && next.dial
	best.network = f.network || next.network
	best.stopped = f.stopped || next.stopped
	best.status = cmp.Or(best.status, f.status, next.status)
	best.retryAfter = max(f.retryAfter, next.retryAfter)
	best.claim = f.claim.and(next.claim)
	return best
}

// and is what two claims leave to be claimed for both failures together.
func (c claim) and(next claim) claim {
	switch unsure := (claim{made: true}); {
	case c == unsure || next == unsure:
		return unsure
	case !c.made || !next.made:
		return claim{}
	case c.outcome == next.outcome:
		return c
	case c.outcome == OutcomeSucceeded || next.outcome == OutcomeSucceeded:
		return unsure
	default:
		return claim{made: true, outcome: OutcomeFailed}
	}
}

// weigh looks at the errors of a chain from the deepest up. Foreign errors are
// asked only if ask is set.
func weigh(chain cause.Chain, ask bool) finding {
	if len(chain.Nodes) == 1 && !chain.Cut { // as most chains are
		return look(chain.Nodes[0], ask)
	}
	var few [6]branches
	below := few[:]
	if len(chain.Nodes) >= len(few) {
		below = make([]branches, len(chain.Nodes)+1)
	}
	for i := len(chain.Nodes) - 1; i >= 0; i-- { // members of a join from the last to the first
		node := chain.Nodes[i]
		f := look(node, ask)
		if b := &below[i+1]; b.any && !guarded(node.Err) {
			f = f.over(b.named())
		}
		if label(chain, node, f) {
			below[node.Parent+1].labelled = true
			continue
		}
		below[node.Parent+1].add(f)
	}
	f := below[0].finding
	if chain.Cut {
		f.definite, f.dial = false, false
	}
	return f
}

// branches is what the errors that one error wraps come to. Those of node i are
// gathered at i+1; at 0 is the whole.
type branches struct {
	finding
	any      bool
	labelled bool
}

// named is what the branches come to beside a label. The label may be a failure
// of its own for all anyone can tell, so what is proven of the others is not
// proven of the whole.
func (b *branches) named() finding {
	f := b.finding
	if b.labelled {
		f.definite, f.dial = false, false
		f.claim = f.claim.and(claim{})
	}
	return f
}

func (b *branches) add(f finding) {
	if b.any {
		f = f.beside(b.finding)
	}
	b.finding, b.any = f, true
}

// label reports whether node only names the failure beside it: the sentinel in
// fmt.Errorf("%w: %w", ErrStore, err).
func label(chain cause.Chain, node cause.Node, f finding) bool {
	return node.Kind == cause.KindText && f.rank == rankNone &&
		node.Parent >= 0 && chain.Nodes[node.Parent].Kind == cause.KindWrapMany
}

// look says what one error shows by itself.
func look(node cause.Node, ask bool) finding {
	switch node.Kind {
	case cause.KindOwn:
		return authored(node.Err)
	case cause.KindText:
		return sentinels[node.Err]
	case cause.KindStandard:
		return careful(standard, node.Err)
	case cause.KindForeign:
		if ask {
			return foreign(node.Err)
		}
	}
	return finding{}
}

// ownError tells the cause package which types are safe to unwrap.
func ownError(err error) bool {
	switch err.(type) {
	case *Error, *sureError, *endless:
		return true
	}
	return false
}

// authored is the word of the tool's author, taken as it is.
func authored(err error) finding {
	switch e := err.(type) {
	case *sureError:
		return finding{claim: claim{made: true, outcome: e.outcome}}
	case *Error:
		if e.guarded {
			f := strong(innerCode(e.Code), "another guard: "+string(e.Code))
			f.definite = false
			f.claim = claim{made: e.Outcome == OutcomeUnknown} // that effect is the tool's too
			return f
		}
		f := finding{message: e.Message, field: e.Field, retryAfter: max(e.RetryAfter, 0)}
		if e.Code != "" {
			f.rank, f.code, f.definite, f.detail = rankAuthor, e.Code, e.Code.row().definite, "tool's own error"
		}
		if e.Outcome > OutcomeUnknown && e.Outcome <= OutcomeSucceeded {
			f.claim = claim{made: true, outcome: e.Outcome}
		}
		return f
	}
	return finding{}
}

// guarded reports whether a guard made err of its own call, so that what lies
// below is about that call.
func guarded(err error) bool {
	e, ok := err.(*Error)
	return ok && e != nil && e.guarded
}

// innerCode is what the failure of a call made by the tool means for the tool
// itself: an outage is one. A refusal is not the tool's, nor are the arguments
// the model's.
func innerCode(code Code) Code {
	row := code.row()
	switch {
	case row.category == CategoryUnavailable && row.neutral:
		return CodeServiceUnavailable
	case row.category == CategoryUnavailable, row.category == CategoryTimeout && !row.neutral:
		return row.code
	default:
		return CodeUnknownError
	}
}

// careful asks one rule about an error whose methods may panic.
func careful(rule func(error) finding, err error) (f finding) {
	defer func() {
		if recover() != nil {
			f = finding{}
		}
	}()
	return rule(err)
}
