package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// refundIn is what the refund tool of these tests takes.
type refundIn struct {
	Order  string `json:"order"`
	Reason string `json:"reason,omitempty"`
}

// bank is a downstream that counts what it did, by the key it was given.
type bank struct {
	mu      sync.Mutex
	effects int
	keys    map[string]int
	loses   bool  // the answer, after the effect
	refuses error // in place of the effect
}

var errLost = errors.New("the answer is lost")

func (b *bank) refund(ctx context.Context, in refundIn) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuses != nil {
		return "", b.refuses
	}
	b.effects++
	if b.keys == nil {
		b.keys = map[string]int{}
	}
	b.keys[toolguard.Key(ctx)]++
	if b.loses {
		return "", toolguard.MaybeDone(errLost)
	}
	return "refunded " + in.Order, nil
}

func (b *bank) status(_ context.Context, key string, in refundIn) (toolguard.Outcome, toolguard.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keys[key] > 0 {
		return toolguard.OutcomeSucceeded, toolguard.Result{Text: "receipt of " + in.Order}, nil
	}
	return toolguard.OutcomeNotStarted, toolguard.Result{}, nil
}

func (b *bank) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.effects
}

func (b *bank) set(loses bool, refuses error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loses, b.refuses = loses, refuses
}

func refundTool(b *bank, effect toolguard.Effect) *toolguard.Typed[refundIn] {
	return toolguard.Func(toolguard.Info{Name: "refund", Effect: effect, Irrelevant: []string{"reason"}}, b.refund)
}

// inTurn is a conversation's scope.
func inTurn(turn string) context.Context {
	return toolguard.WithScope(context.Background(), toolguard.Scope{Tenant: "t", Principal: "ann", Session: "s", Turn: turn})
}

func inStep(step string) context.Context {
	return toolguard.WithScope(context.Background(), toolguard.Scope{Tenant: "t", Run: "r", Step: step})
}

func refundOf(ctx context.Context, g *toolguard.Guard, order string) toolguard.Envelope {
	args, _ := json.Marshal(refundIn{Order: order})
	return g.Do(ctx, toolguard.Call{ID: "tc_" + order, Args: args})
}

// entries returns all entries, the newest first.
func entries(t testing.TB, j toolguard.Journal) []toolguard.Entry {
	t.Helper()
	found, err := j.Scan(context.Background(), toolguard.Query{})
	require.NoError(t, err)
	return found
}

// entry returns the only one.
func entry(t testing.TB, j toolguard.Journal) toolguard.Entry {
	t.Helper()
	found := entries(t, j)
	require.Len(t, found, 1)
	return found[0]
}

// steps are the states that the audit has of a key, in order.
func steps(t testing.TB, j toolguard.Journal, key string) (states []string) {
	t.Helper()
	records, err := j.Records(context.Background(), toolguard.RecordQuery{Key: key})
	require.NoError(t, err)
	for _, r := range records {
		if r.Kind == toolguard.RecordState {
			states = append(states, r.To.String())
		}
	}
	return states
}

// hasNote reports whether the answer carries a note.
func hasNote(env toolguard.Envelope, kind toolguard.NoteKind) bool { return noted(env, kind) != nil }

// faulty is a journal that fails as it is told.
type faulty struct {
	toolguard.Journal
	before, after func(writes int) error // of a write; nil is none
	writes        atomic.Int64
	scan          func() error
}

func (f *faulty) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, r ...toolguard.Record) (toolguard.Entry, bool, error) {
	n := int(f.writes.Add(1))
	if f.before != nil {
		if err := f.before(n); err != nil {
			return toolguard.Entry{}, false, err
		}
	}
	now, ok, err := f.Journal.Write(ctx, was, e, r...)
	if err == nil && f.after != nil {
		err = f.after(n)
	}
	return now, ok, err
}

func (f *faulty) Scan(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) {
	if f.scan != nil {
		if err := f.scan(); err != nil {
			return nil, err
		}
	}
	return f.Journal.Scan(ctx, q)
}

var errDisk = errors.New("disk full")

// on fails the nth write.
func on(n int, err error) func(int) error {
	return func(i int) error {
		if i == n {
			return err
		}
		return nil
	}
}

func assertOnce(t assert.TestingT, b *bank) {
	assert.Equal(t, 1, b.count(), "effects")
}

const minute = time.Minute
