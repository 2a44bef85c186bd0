package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/toolguard-go/toolguard"
)

// openCalls are the calls of a conversation that were left open: for somebody to
// approve, or to find out what became of them. When that has been decided, the
// model that sends such a call again is told so, once: a call that had its effect
// gives its result, one that was denied a no, and what is to run in its place runs.
// Without this the same call would count as meant anew, because nobody tells the
// proxy when a user speaks.
type openCalls struct {
	journal toolguard.Journal // nil if there is none
	session string            // "" if there is no conversation
	log     *slog.Logger

	loading sync.Once
	mu      sync.Mutex
	keys    map[string]string // of entries, by what was called
}

// maxOpen bounds the calls that are kept, and how many of an earlier process are
// looked at.
const maxOpen = 1000

// Of the records that say that a decision has reached the model.
const (
	actorProxy = "proxy"
	whyTold    = "the model was told"
)

func (o *openCalls) off() bool { return o.journal == nil || o.session == "" }

// find returns the entry that a call is to be answered from, in StateNone if it is
// a call like any other.
func (o *openCalls) find(ctx context.Context, c *call) (toolguard.Entry, error) {
	if o.off() {
		return toolguard.Entry{}, nil
	}
	o.loading.Do(func() { o.load(ctx) })
	o.mu.Lock()
	key := o.keys[c.called()]
	o.mu.Unlock()
	for range 2 { // an entry, and what took its place
		e, err := o.entry(ctx, key)
		if err != nil {
			return e, err
		}
		switch e.State {
		case toolguard.StateAborted:
			key = e.Linked
			continue
		case toolguard.StateSucceeded, toolguard.StateDenied:
			if told, err := o.told(ctx, &e); err != nil || !told {
				return e, err
			}
		case toolguard.StateApproved, toolguard.StateUnknown, toolguard.StateParked:
			if e.Linked != "" {
				return e, nil // it goes by another name than the call
			}
		}
		break
	}
	return toolguard.Entry{}, nil
}

// entry returns the entry with a key, in StateNone if there is none.
func (o *openCalls) entry(ctx context.Context, key string) (toolguard.Entry, error) {
	if key == "" {
		return toolguard.Entry{}, nil
	}
	found, err := o.journal.Scan(ctx, toolguard.Query{Key: key, Limit: 1})
	if err != nil || len(found) == 0 {
		return toolguard.Entry{}, err
	}
	return found[0], nil
}

// told reports whether the model knows what became of an entry: by the call itself,
// or because it was told since.
func (o *openCalls) told(ctx context.Context, e *toolguard.Entry) (bool, error) {
	records, err := o.journal.Records(ctx, toolguard.RecordQuery{Key: e.Key})
	told := false
	for _, r := range records {
		switch {
		case r.Kind != toolguard.RecordState:
		case r.Actor == actorProxy && r.Why == whyTold:
			told = true
		case r.To == e.State:
			told = r.From == toolguard.StatePending || r.From == toolguard.StateNone
		}
	}
	return told, err
}

// note takes note of how a call was answered, and from which entry, if from one.
func (o *openCalls) note(ctx context.Context, c *call, from toolguard.Entry, env *toolguard.Envelope) {
	switch {
	case o.off() || ctx.Err() != nil: // nobody has been told anything
	case !env.OK && open(env.Error):
		if from.State == toolguard.StateNone && env.Key != "" {
			o.keep(c.called(), env.Key)
		}
	default:
		o.mu.Lock()
		delete(o.keys, c.called())
		o.mu.Unlock()
		if from.State == toolguard.StateSucceeded || from.State == toolguard.StateDenied {
			o.record(ctx, &from)
		}
	}
}

// open reports whether an answer leaves something to be decided or found out.
func open(f *toolguard.Failure) bool {
	return f.Outcome == toolguard.OutcomeUnknown && f.Code != toolguard.CodeAborted || f.Code == toolguard.CodeApprovalPending
}

func (o *openCalls) record(ctx context.Context, e *toolguard.Entry) {
	outcome := toolguard.OutcomeNotStarted
	if e.State == toolguard.StateSucceeded {
		outcome = toolguard.OutcomeSucceeded
	}
	err := o.journal.Append(ctx, toolguard.Record{
		Kind: toolguard.RecordState, Key: e.Key, Token: e.Token, From: e.State, To: e.State, Actor: actorProxy, Why: whyTold,
		Tool: e.Tool, Source: e.Source, Scope: e.Scope, CallID: e.CallID, Digest: e.Digest, Outcome: outcome,
	})
	if err != nil {
		o.log.Warn("that the model was told of a decision is not written down", "key", e.Key, "error", err)
	}
}

func (o *openCalls) keep(called, key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.keys == nil {
		o.keys = make(map[string]string)
	}
	for old := range o.keys {
		if len(o.keys) < maxOpen {
			break
		}
		delete(o.keys, old)
	}
	o.keys[called] = key
}

// load takes over what an earlier process has left in the conversation.
func (o *openCalls) load(ctx context.Context) {
	entries, err := o.journal.Scan(ctx, toolguard.Query{Session: o.session, Limit: maxOpen})
	if err != nil {
		o.log.Warn("calls that an earlier process left open are not known", "error", err)
		return
	}
	for i := len(entries) - 1; i >= 0; i-- { // of one call the newest counts
		e := &entries[i]
		c := call{name: e.Tool, args: e.Args}
		o.keep(c.called(), e.Key)
	}
}

// called is the same for calls that a model would take for the same.
func (c *call) called() string {
	dec := json.NewDecoder(bytes.NewReader(c.args))
	dec.UseNumber()
	var args any
	if dec.Decode(&args) != nil {
		return c.name + "\x00" + string(c.args)
	}
	text, _ := json.Marshal(args) // it came as JSON; members are sorted
	return c.name + "\x00" + string(text)
}
