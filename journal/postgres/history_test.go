package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

// seen is what a caller may know of a key's entry, and whether it is due. In these
// histories an entry is due at once, or in a time that does not come.
type seen struct {
	token uint64
	state toolguard.State
	owner string
	due   bool
}

func (s seen) version() toolguard.Version { return toolguard.Version{Token: s.token, State: s.state} }

// shown is what a reader is shown, who cannot see whether it is due.
func (s seen) shown() seen { s.due = false; return s }

// The operations on one key. What became of a write that is lost nobody knows.
type (
	readOp  struct{ now seen }
	takeOp  struct{ now seen }
	writeOp struct {
		was      toolguard.Version
		put, now seen
		ok, lost bool
	}
)

// sequential is the journal as its contract has it, for one key and one caller at a
// time: what the entry may be after an operation that was answered like this.
var sequential = porcupine.NondeterministicModel{
	Init: func() []any { return []any{seen{}} },
	Step: func(state, input, _ any) []any {
		is := state.(seen)
		switch op := input.(type) {
		case readOp:
			if op.now == is.shown() {
				return []any{is}
			}
		case takeOp:
			if !is.due {
				return nil
			}
			is.due = false
			if is.state == toolguard.StatePending {
				is.token++
			}
			if op.now == is {
				return []any{is}
			}
		case writeOp:
			return op.after(is)
		}
		return nil
	},
	DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	DescribeOperation: func(in, _ any) string { return fmt.Sprintf("%T%+v", in, in) },
}

func (op writeOp) after(is seen) []any {
	replaces := op.was == is.version()
	switch {
	case op.lost && replaces:
		return []any{is, op.put}
	case op.lost:
		return []any{is}
	case op.ok && replaces:
		return []any{op.put}
	case !op.ok && !replaces && op.now == is.shown():
		return []any{is}
	}
	return nil
}

// history is what happened, by key.
type history struct {
	sync.Mutex
	begin time.Time
	of    map[string][]porcupine.Operation
}

func (h *history) add(client int, key string, call int64, op any) {
	end := time.Since(h.begin).Nanoseconds()
	if w, ok := op.(writeOp); ok && w.lost {
		end = math.MaxInt64 // it may happen at any time
	}
	h.Lock()
	defer h.Unlock()
	h.of[key] = append(h.of[key], porcupine.Operation{ClientId: client, Input: op, Call: call, Return: end})
}

const (
	historyKeys = 4
	forAges     = 1000 * time.Hour
)

// Several journals in one schema, as several processes have them, are one journal:
// for whatever their callers did at the same time there is an order in which they
// could have done it one by one. Leases run out in between, callers leave early.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	schema := newSchema(t, dsn(t))
	h := &history{begin: time.Now(), of: map[string][]porcupine.Operation{}}
	var all sync.WaitGroup
	for p := range 3 {
		j := openIn(t, dsn(t), schema)
		for g := range 4 {
			c := historian{t: t, id: p*4 + g, h: h, j: j, knows: map[string]toolguard.Version{}}
			all.Go(func() {
				for range 50 {
					c.step()
				}
			})
		}
	}
	all.Wait()
	took, lost := 0, 0
	for key, ops := range h.of {
		for _, op := range ops {
			switch op := op.Input.(type) {
			case takeOp:
				took++
			case writeOp:
				if op.lost {
					lost++
				}
			}
		}
		got := porcupine.CheckOperationsTimeout(sequential.ToModel(), ops, time.Minute)
		assert.Equal(t, porcupine.Ok, got, "the history of %q, %d operations", key, len(ops))
	}
	assert.NotZero(t, took, "nothing was taken")
	t.Logf("%d taken, %d writes with an unknown end", took, lost)
}

// historian is one caller, who knows of each key the version it was shown last.
type historian struct {
	t     *testing.T
	id    int
	h     *history
	j     *postgres.Journal
	made  int
	knows map[string]toolguard.Version
}

func (c *historian) step() {
	key := fmt.Sprint("key ", rand.IntN(historyKeys))
	call := time.Since(c.h.begin).Nanoseconds()
	switch rand.IntN(8) {
	case 0:
		taken, err := c.j.Take(c.t.Context(), 1+rand.IntN(3), forAges)
		assert.NoError(c.t, err)
		for _, e := range taken {
			c.h.add(c.id, e.Key, call, takeOp{c.see(e)})
		}
	case 1:
		found, err := c.j.Scan(c.t.Context(), toolguard.Query{Group: "group"})
		assert.NoError(c.t, err)
		c.readAll(call, found)
	case 2, 3:
		found, err := c.j.Scan(c.t.Context(), toolguard.Query{Key: key})
		assert.NoError(c.t, err)
		op := readOp{}
		if len(found) > 0 {
			op.now = c.see(found[0])
		}
		c.h.add(c.id, key, call, op)
	default:
		c.write(key, call)
	}
}

func (c *historian) see(e toolguard.Entry) seen {
	c.knows[e.Key] = e.Version()
	return seen{token: e.Token, state: e.State, owner: e.Owner}
}

func (c *historian) readAll(call int64, found []toolguard.Entry) {
	ops := map[string]readOp{}
	for i := range historyKeys {
		ops[fmt.Sprint("key ", i)] = readOp{}
	}
	for _, e := range found {
		ops[e.Key] = readOp{c.see(e)}
	}
	for key, op := range ops {
		c.h.add(c.id, key, call, op)
	}
}

// write replaces the version that is known, now and then without waiting for the end.
func (c *historian) write(key string, call int64) {
	c.made++
	was := c.knows[key]
	e := toolguard.Entry{Key: key, Group: "group", Token: was.Token + uint64(rand.IntN(2)), Owner: fmt.Sprint(c.id, ".", c.made)}
	e.State = []toolguard.State{toolguard.StatePending, toolguard.StateUnknown, toolguard.StateFailed}[rand.IntN(3)]
	op := writeOp{was: was, put: seen{token: e.Token, state: e.State, owner: e.Owner}}
	if rand.IntN(2) == 0 && e.State != toolguard.StateFailed {
		e.Due, op.put.due = 1, true
	}
	ctx := c.t.Context()
	if rand.IntN(8) == 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(3000))*time.Microsecond)
		defer cancel()
		ctx = short
	}
	now, ok, err := c.j.Write(ctx, was, e, toolguard.Record{Key: key})
	switch {
	case errors.Is(err, postgres.ErrUnanswered):
		op.lost = true
	case errors.Is(err, context.DeadlineExceeded):
		return // it was not made
	case assert.NoError(c.t, err):
		op.ok, op.now = ok, seen{token: now.Token, state: now.State, owner: now.Owner}
		c.knows[key] = now.Version()
	}
	c.h.add(c.id, key, call, op)
}
