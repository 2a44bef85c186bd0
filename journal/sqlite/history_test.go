package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// What one key's entry is to the model. due says that somebody may take it: in
// these histories an entry is due at once, or in a time that does not come.
type modelEntry struct {
	token uint64
	state toolguard.State
	owner string
	due   bool
}

type action uint8

const (
	reads action = iota
	writes
	takes
)

// operation is what was asked of one key and what came of it. Of a write whose
// caller stopped waiting nobody knows whether it was done.
type operation struct {
	action   action
	was      toolguard.Version
	put, now modelEntry
	ok, left bool
}

// model is the journal as [toolguard.Journal] describes it, one key at a time.
var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{modelEntry{}} },
	Step: func(s, in, _ any) []any {
		is, op := s.(modelEntry), in.(operation)
		return op.after(is)
	},
	DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	DescribeOperation: func(in, _ any) string { return fmt.Sprintf("%+v", in) },
}

// after returns what the entry may be afterwards; nothing if this cannot have come
// of the operation.
func (op operation) after(is modelEntry) []any {
	seen := is
	seen.due = op.now.due // nobody is shown that
	version := toolguard.Version{Token: is.token, State: is.state}
	switch {
	case op.action == reads && op.now == seen:
		return []any{is}
	case op.action == takes && is.due && op.now.state == is.state && op.now.owner == is.owner:
		if is.state == toolguard.StatePending {
			is.token++
		}
		if is.due = false; is.token == op.now.token {
			return []any{is}
		}
	case op.action == writes && op.left && version == op.was:
		return []any{is, op.put}
	case op.action == writes && op.left:
		return []any{is}
	case op.action == writes && op.ok && version == op.was:
		return []any{op.put}
	case op.action == writes && !op.ok && version != op.was && op.now == seen:
		return []any{is}
	}
	return nil
}

// history collects operations by key.
type history struct {
	mu    sync.Mutex
	start time.Time
	of    map[string][]porcupine.Operation
}

func (h *history) now() int64 { return time.Since(h.start).Nanoseconds() }

func (h *history) add(client int, key string, call int64, op operation) {
	end := h.now()
	if op.left {
		end = math.MaxInt64 // it may still happen
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[key] = append(h.of[key], porcupine.Operation{ClientId: client, Input: op, Call: call, Return: end})
}

const (
	historyKeys = 5
	forAges     = 1000 * time.Hour
)

// Several journals on one file, as several processes have them, are one journal:
// whatever their callers did at the same time, there is an order in which a journal
// for one caller would have given the same answers. Meanwhile the clock is set back
// and forth by an hour.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	h := &history{start: time.Now(), of: map[string][]porcupine.Operation{}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	openAt(t, path)
	go func() { defer close(stopped); setClock(t, path, stop) }()
	var all sync.WaitGroup
	for p := range 3 {
		j := openAt(t, path)
		for g := range 4 {
			all.Go(func() {
				c := client{id: p*4 + g, h: h, j: j, known: map[string]toolguard.Version{}}
				for range 60 {
					c.step(t)
				}
			})
		}
	}
	all.Wait()
	close(stop)
	<-stopped
	taken, left := 0, 0
	for key, ops := range h.of {
		for _, op := range ops {
			if op.Input.(operation).action == takes {
				taken++
			}
			if op.Input.(operation).left {
				left++
			}
		}
		result := porcupine.CheckOperationsTimeout(model.ToModel(), ops, time.Minute)
		assert.Equal(t, porcupine.Ok, result, "the history of %q, %d operations", key, len(ops))
	}
	assert.NotZero(t, taken)
	t.Logf("%d taken, %d left before an answer", taken, left)
}

// setClock shows the journals stamps as a clock would leave them that has been set.
func setClock(t *testing.T, path string, stop <-chan struct{}) {
	db := pool(t, path, "", "busy_timeout(5000)")
	for sign := int64(1); ; sign = -sign {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Millisecond):
			_, err := db.Exec("UPDATE toolguard_entries SET updated_at = updated_at + ?1, due_at = min(due_at + ?1, ?2)", sign*time.Hour.Nanoseconds(), int64(math.MaxInt64))
			assert.NoError(t, err)
		}
	}
}

// client is one caller, who knows of each key what it was shown last.
type client struct {
	id    int
	h     *history
	j     *sqlite.Journal
	made  int
	known map[string]toolguard.Version
}

func (c *client) step(t *testing.T) {
	key := fmt.Sprint("key ", rand.IntN(historyKeys))
	switch rand.IntN(8) {
	case 0:
		c.take(t)
	case 1:
		c.readAll(t)
	case 2, 3:
		c.read(t, key)
	default:
		c.write(t, key)
	}
}

func (c *client) see(key string, e *toolguard.Entry) modelEntry {
	c.known[key] = e.Version()
	return modelEntry{token: e.Token, state: e.State, owner: e.Owner}
}

func (c *client) read(t *testing.T, key string) {
	call := c.h.now()
	found, err := c.j.Scan(t.Context(), toolguard.Query{Key: key})
	if !assert.NoError(t, err) {
		return
	}
	op := operation{action: reads}
	if len(found) > 0 {
		op.now = c.see(key, &found[0])
	}
	c.h.add(c.id, key, call, op)
}

func (c *client) readAll(t *testing.T) {
	call := c.h.now()
	found, err := c.j.Scan(t.Context(), toolguard.Query{})
	if !assert.NoError(t, err) {
		return
	}
	ops := map[string]operation{}
	for i := range historyKeys {
		ops[fmt.Sprint("key ", i)] = operation{action: reads}
	}
	for i := range found {
		ops[found[i].Key] = operation{action: reads, now: c.see(found[i].Key, &found[i])}
	}
	for key, op := range ops {
		c.h.add(c.id, key, call, op)
	}
}

func (c *client) take(t *testing.T) {
	call := c.h.now()
	taken, err := c.j.Take(t.Context(), 1+rand.IntN(3), forAges)
	if !assert.NoError(t, err) {
		return
	}
	for i := range taken {
		c.h.add(c.id, taken[i].Key, call, operation{action: takes, now: c.see(taken[i].Key, &taken[i])})
	}
}

// write replaces the version the client knows, some of the time without the
// patience to hear what became of it.
func (c *client) write(t *testing.T, key string) {
	c.made++
	was := c.known[key]
	e := toolguard.Entry{Key: key, Token: was.Token + uint64(rand.IntN(2)), Owner: fmt.Sprint(c.id, "/", c.made)}
	e.State = []toolguard.State{toolguard.StatePending, toolguard.StateUnknown, toolguard.StateFailed}[rand.IntN(3)]
	put := modelEntry{e.Token, e.State, e.Owner, e.State != toolguard.StateFailed && rand.IntN(2) == 0}
	if put.due {
		e.Due = 1
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	if rand.IntN(8) == 0 {
		ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
	}
	defer cancel()
	op := operation{action: writes, was: was, put: put}
	call := c.h.now()
	now, ok, err := c.j.Write(ctx, was, e, toolguard.Record{Key: key})
	if op.left = errors.Is(err, context.DeadlineExceeded); !op.left {
		require.NoError(t, err)
		op.ok, op.now = ok, c.see(key, &now)
	}
	c.h.add(c.id, key, call, op)
}
