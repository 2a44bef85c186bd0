package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// writer is the one goroutine of a process that writes. It commits what waits
// together.
type writer struct {
	conn    *held
	queue   chan *change
	closing chan struct{}
	ended   chan struct{}
	once    sync.Once
	failure error        // of Close; read after ended
	broken  error        // what poisoned the journal; the writer's own
	state   atomic.Int32 // what the writer is at, for whoever has no more patience
	commits atomic.Int64 // for tests and benchmarks: how well writers share
}

// change is what one caller wants to write. It reports a conflict in a value of its
// own: an error of apply undoes the whole transaction.
type change struct {
	ctx   context.Context
	apply func(*transaction) error
	done  chan error
	begun atomic.Bool // from here on it may be made, whoever waits for it
}

// States of a writer.
const (
	idle int32 = iota
	keptOut
	committing
)

// transaction is what a change sees: the connection, and the instant that all of
// the transaction is stamped with, taken under the file's write lock.
type transaction struct {
	*held
	at int64
}

const (
	waiting  = 256 // changes in the queue; further callers wait for a place in it
	together = 256 // changes in one transaction
)

func startWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	h, err := hold(ctx, db)
	if err != nil {
		return nil, err
	}
	err = migrate(ctx, h)
	for _, query := range []string{selectByKey, insertEntry, updateEntry, settleEntry, insertRecord} {
		if err == nil {
			_, err = h.prepared(query) // tables that are not ours show now, not at the first call
		}
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	w := &writer{conn: h, queue: make(chan *change, waiting), closing: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w, nil
}

// do has apply run in a transaction and returns when that is on the disk. If ctx
// ends before, apply may still run.
func (w *writer) do(ctx context.Context, apply func(*transaction) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{ctx: ctx, apply: apply, done: make(chan error, 1)}
	select {
	case <-w.closing:
		return ErrClosed
	default:
	}
	select {
	case w.queue <- c:
	case <-ctx.Done():
		return w.late(c)
	case <-w.closing:
		return ErrClosed
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return c.outcome(w.late(c))
	case <-w.ended:
		return c.outcome(ErrClosed)
	}
}

// late is the error of a change whose context has ended: it says what held it up, and
// whether it may be made still.
func (w *writer) late(c *change) error {
	switch state := w.state.Load(); {
	case c.begun.Load():
		return fmt.Errorf("toolguard/sqlite: the commit takes its time, so that the write may be there or not: %w", c.ctx.Err())
	case state == keptOut:
		return fmt.Errorf("toolguard/sqlite: another process holds the file: %w", c.ctx.Err())
	case state == committing:
		return fmt.Errorf("toolguard/sqlite: the commit of others takes its time: %w", c.ctx.Err())
	}
	return c.ctx.Err()
}

// outcome prefers what is known to the reason for waiting no longer.
func (c *change) outcome(otherwise error) error {
	select {
	case err := <-c.done:
		return err
	default:
		return otherwise
	}
}

func (w *writer) run() {
	defer close(w.ended)
	for {
		select {
		case c := <-w.queue:
			w.serve(c)
		case <-w.closing:
			w.drain()
			w.failure = w.conn.close()
			return
		}
	}
}

// drain serves what was queued before Close.
func (w *writer) drain() {
	for {
		select {
		case c := <-w.queue:
			w.serve(c)
		default:
			return
		}
	}
}

func (w *writer) close() error {
	w.once.Do(func() { close(w.closing) })
	<-w.ended
	return w.failure
}

// serve commits the change, together with those that are queued once the file's
// lock is there. It waits for no more to come.
func (w *writer) serve(first *change) {
	defer w.state.Store(idle)
	group, err := w.lock([]*change{first}, true)
	if err != nil {
		answer(group, err)
		return
	}
	guilty, err := w.commit(group)
	if guilty && len(group) > 1 && w.broken == nil {
		w.oneByOne(group)
		return
	}
	answer(group, err)
}

// oneByOne keeps the failure of one change from the others.
func (w *writer) oneByOne(group []*change) {
	for _, c := range group {
		alone, err := w.lock([]*change{c}, false)
		if err == nil {
			_, err = w.commit(alone)
		}
		answer(alone, err)
	}
}

// lock begins a transaction for those of the group who still wait, and if more may
// join, for what is queued by then.
func (w *writer) lock(group []*change, join bool) ([]*change, error) {
	for {
		if w.broken != nil {
			return group, w.broken
		}
		if group = w.stillWaiting(group); len(group) == 0 {
			return nil, context.Canceled
		}
		err := w.exec("BEGIN IMMEDIATE")
		if err == nil {
			return w.locked(group, join)
		}
		if !busy(err) {
			return group, named(err)
		}
		w.state.Store(keptOut)
		select {
		case <-w.closing:
			return group, fmt.Errorf("%w while another process held the file", ErrClosed)
		case <-time.After(pause):
		}
	}
}

// locked says who is there now that the lock is: some may have left, others come.
func (w *writer) locked(group []*change, join bool) ([]*change, error) {
	group = w.stillWaiting(group)
	if join {
		group = w.joined(group)
	}
	if len(group) == 0 {
		w.rollback()
		return nil, context.Canceled
	}
	return group, nil
}

// stillWaiting answers those whose context has ended: nobody listens any more.
func (w *writer) stillWaiting(group []*change) []*change {
	var rest []*change
	for _, c := range group {
		if c.ctx.Err() != nil {
			c.done <- w.late(c)
			continue
		}
		rest = append(rest, c)
	}
	return rest
}

func (w *writer) joined(group []*change) []*change {
	for len(group) < together {
		select {
		case c := <-w.queue:
			group = append(group, w.stillWaiting([]*change{c})...)
		default:
			return group
		}
	}
	return group
}

// commit applies the group's changes and commits them. If one of them failed it is
// guilty, and nothing of the others is wrong.
func (w *writer) commit(group []*change) (guilty bool, err error) {
	w.state.Store(committing)
	for _, c := range group {
		c.begun.Store(true)
	}
	t := &transaction{held: w.conn, at: time.Now().UnixNano()}
	for _, c := range group {
		if err := c.apply(t); err != nil {
			w.rollback()
			if damaged(err) {
				w.poison(err)
			}
			return true, named(err)
		}
	}
	err = w.exec("COMMIT")
	if err == nil {
		w.commits.Add(1)
		return false, nil
	}
	w.rollback()
	if !unsure(err) {
		return false, named(err)
	}
	w.poison(err)
	return false, fmt.Errorf("%w; this write may be there or not", w.broken)
}

// rollback has nothing to say when it fails: SQLite undoes some transactions by
// itself, and an open one keeps the next from beginning.
func (w *writer) rollback() { _ = w.exec("ROLLBACK") }

func (w *writer) poison(err error) { w.broken = fmt.Errorf("%w: %w", ErrPoisoned, err) }

// exec asks for no count: what a driver says of one that there cannot be is no
// reason to doubt a commit.
func (w *writer) exec(query string) error {
	_, err := w.conn.run(query)
	return err
}

func answer(group []*change, err error) {
	for _, c := range group {
		c.done <- err
	}
}
