package toolguard

import (
	"bytes"
	"time"
)

// line is a record on its way into the journal. Most say of the tool and the call
// what the entry they go with says: those are small.
type line struct {
	kind     RecordKind
	from, to State
	outcome  Outcome
	attempt  int32
	token    uint64
	took     time.Duration
	code     Code
	why      string
	whole    *Record // all of it, if the entry does not say the same
}

// record is the line in full, as the journal gets it with e.
func (l *line) record(e *Entry) Record {
	if l.whole != nil {
		return *l.whole
	}
	r := recordAbout(e, l.kind, ActorGuard)
	l.fill(&r)
	return r
}

// recordAbout begins a record by what an entry says of the tool and the call.
func recordAbout(e *Entry, kind RecordKind, actor string) Record {
	return Record{
		Kind: kind, Key: e.Key, Token: e.Token, Actor: actor,
		Tool: e.Tool, Source: e.Source, ToolVersion: e.ToolVersion, SchemaDigest: e.SchemaDigest,
		Scope: e.Scope, CallID: e.CallID, Digest: e.Digest,
	}
}

// fill completes a record by what the line knows.
func (l *line) fill(r *Record) {
	r.Token, r.From, r.To, r.Why = l.token, l.from, l.to, l.why
	r.Attempt, r.Duration, r.Code, r.Outcome = int(l.attempt), l.took, l.code, l.outcome
}

// wholeLines copies records.
func wholeLines(records []Record) []line {
	lines := make([]line, len(records))
	for i := range records {
		r := records[i]
		r.Args = bytes.Clone(r.Args)
		lines[i].whole = &r
	}
	return lines
}

// recordsOf are the lines in full.
func recordsOf(lines []line, e *Entry) []Record {
	records := make([]Record, len(lines))
	for i := range lines {
		records[i] = lines[i].record(e)
	}
	return records
}

// Who writes to a journal beside people.
const (
	ActorGuard     = "guard"
	ActorRecoverer = "recoverer"
)

// lineOn is the audit's line on an entry that came from a state.
func (c *call) lineOn(from State, e *Entry, why string) line {
	return c.lineWith(e, line{
		kind: RecordState, from: from, to: e.State, outcome: e.State.outcome(), token: e.Token, code: e.Code, why: why,
	})
}

// lineWith makes the line whole if the entry does not say the same of the call.
func (c *call) lineWith(e *Entry, l line) line {
	if !c.guard.opts.Journaling.AuditArguments && c.isIn(e) {
		return l
	}
	r := c.auditLine(l.kind)
	r.Key = e.Key
	l.fill(&r)
	l.whole = &r
	return l
}

// isIn says whether the entry says of the call what that says of itself.
func (c *call) isIn(e *Entry) bool {
	i := &c.guard.info
	return e.CallID == c.id && e.Digest == c.digest && e.Scope == *c.scope &&
		e.Tool == i.Name && e.Source == i.Source && e.ToolVersion == i.Version && e.SchemaDigest == c.guard.args.digest
}

// auditLine begins a record by what the call says of itself.
func (c *call) auditLine(kind RecordKind) Record {
	i := &c.guard.info
	r := Record{
		Kind: kind, Actor: ActorGuard, Tool: i.Name, Source: i.Source, ToolVersion: i.Version,
		SchemaDigest: c.guard.args.digest, Scope: *c.scope, CallID: c.id, Digest: c.digest,
	}
	if e := c.resumed(); e != nil {
		r.Scope = e.Scope // with the turn it was asked for in
	}
	if r.Args = c.ledger.args; r.Args == nil && c.guard.opts.Journaling.AuditArguments {
		r.Args = c.redactedArgs()
	}
	return r
}

// audit notes an attempt, to be written down with what the call came to.
func (c *call) audit(a *attempt) {
	if !c.inJournal() {
		return
	}
	l := line{kind: RecordAttempt, token: c.ledger.entry.Token, attempt: a.number, took: time.Since(c.began) - a.began, outcome: OutcomeSucceeded}
	if a.failure != nil {
		l.code, l.outcome = a.failure.Code, a.failure.outcome
	}
	c.ledger.lines = append(c.ledger.lines, c.lineWith(&c.ledger.entry, l))
}

// auditCheck notes a status query likewise.
func (c *call) auditCheck(o Outcome) {
	e := &c.ledger.entry
	c.ledger.lines = append(c.ledger.lines, c.lineWith(e, line{kind: RecordCheck, token: e.Token, outcome: o}))
}
