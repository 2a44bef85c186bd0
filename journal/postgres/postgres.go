// Package postgres keeps a [toolguard.Journal] in PostgreSQL, 15 or newer: for any
// number of processes on any number of machines, and readable with plain SQL.
// [Open] connects to a server, [New] uses a pool the host has.
//
// A write is one statement: the entry and its records are there together or not at
// all, and it is acknowledged when the server has it on its disk. Each statement
// says so itself (synchronous_commit), whatever the session, the role or the
// database say; a server that runs with fsync off is refused. What a disk that is
// lost takes along is a matter of the server's replication, of which the journal
// says nothing: its durability is [toolguard.DurabilityDisk].
//
// Instants and leases are of the server's clock alone. When that is set back,
// entries are due later by as much.
//
// After an error a write was not made, unless the error is [ErrUnanswered]: then
// the connection was lost, or the caller's patience, between the statement and its
// answer. Reading the entry again tells, as a guard does by itself.
//
// The views toolguard_journal and toolguard_audit show all that is stored. Text
// that PostgreSQL cannot hold, which is NUL and what is not UTF-8, is spelled in
// hexadecimal after a ␛ for each byte; so is a ␛.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/toolguard-go/toolguard"
)

// Options are choices that most hosts leave alone. Nil and zero are safe.
type Options struct {
	// Schema is the one the tables are in, exactly as it is spelled; it is made if
	// it is not there. If "", public.
	Schema string
	// Timeout bounds each operation: waiting for a connection, the statement, and
	// its answer. If zero, 10 s.
	Timeout time.Duration
	// Patience is how long an operation waits, as part of its Timeout, for a server
	// that takes no connections, as while it starts again. If zero, 3 s.
	Patience time.Duration
	// Connections bounds the pool of [Open]. If zero, what the DSN says as
	// pool_max_conns, or 16. [New] takes the pool as it is.
	Connections int
}

const (
	defaultSchema      = "public"
	defaultTimeout     = 10 * time.Second
	defaultPatience    = 3 * time.Second
	defaultConnections = 16
	longestName        = 63 // of a schema: the server cuts off the rest
)

func (o *Options) withDefaults() (Options, error) {
	var own Options
	if o != nil {
		own = *o
	}
	if own.Schema == "" {
		own.Schema = defaultSchema
	}
	if own.Timeout == 0 {
		own.Timeout = defaultTimeout
	}
	if own.Patience == 0 {
		own.Patience = defaultPatience
	}
	return own, own.check()
}

func (o *Options) check() error {
	switch {
	case len(o.Schema) > longestName || spell(o.Schema) != o.Schema:
		return fmt.Errorf("Options.Schema %q is no name of up to %d bytes", o.Schema, longestName)
	case o.Timeout < time.Millisecond:
		return fmt.Errorf("Options.Timeout %v is below 1ms", o.Timeout)
	case o.Patience < 0:
		return fmt.Errorf("Options.Patience %v is below zero", o.Patience)
	case o.Connections < 0:
		return fmt.Errorf("Options.Connections %d is below zero", o.Connections)
	}
	return nil
}

// ErrUnanswered says that a write may have been made or not: what became of it was
// not heard.
var ErrUnanswered = errors.New("the server's answer was not heard, so that the write may be there or not: read again")

// ErrClosed is returned by a journal after Close.
var ErrClosed = errors.New("the journal is closed")

// Journal is a [toolguard.Journal] in PostgreSQL. It may be used concurrently.
type Journal struct {
	pool    *pgxpool.Pool
	opts    Options
	sql     *statements
	close   func()
	closing chan struct{}
}

var _ toolguard.Journal = (*Journal)(nil)

// Open connects to the server that dsn names, as a URL or in key=value form, and
// makes or updates the tables. Several processes may do so at a time. It refuses
// what a journal cannot be kept in: a server before 15, one that runs with fsync
// off, a standby, an encoding other than UTF-8, tables of another program or of a
// newer version of this package. ctx bounds only Open, which waits for a server
// that is starting as [Options] say. The caller closes the journal.
func Open(ctx context.Context, dsn string, opts *Options) (*Journal, error) {
	own, err := opts.withDefaults()
	if err != nil {
		return nil, named(err)
	}
	config, err := poolConfig(dsn, &own)
	if err != nil {
		return nil, named(err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, named(err)
	}
	j, err := start(ctx, pool, own, pool.Close)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return j, nil
}

// New keeps the journal in the database of pool, beside whatever else is there.
// How long a statement may take on the server, and what becomes of one whose caller
// has left, is up to the pool: see [Open]'s, which sets statement_timeout and asks
// the server to cancel. Close leaves the pool open.
func New(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*Journal, error) {
	own, err := opts.withDefaults()
	switch {
	case err != nil:
		return nil, named(err)
	case pool == nil:
		return nil, named(errors.New("the pool is nil"))
	}
	return start(ctx, pool, own, func() {})
}

func start(ctx context.Context, pool *pgxpool.Pool, opts Options, closePool func()) (*Journal, error) {
	j := &Journal{pool: pool, opts: opts, sql: newStatements(opts.Schema), close: closePool, closing: make(chan struct{})}
	err := j.do(ctx, repeatable, "open", func(ctx context.Context, c *pgxpool.Conn) error {
		if err := checkServer(ctx, c); err != nil {
			return err
		}
		return migrate(ctx, c, opts.Schema)
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}

// Close refuses everything from then on, waits for what is going on, and closes the
// pool of [Open]. It may be called more than once, but not concurrently.
func (j *Journal) Close() error {
	if !j.closed() {
		close(j.closing)
		j.close()
	}
	return nil
}

func (j *Journal) closed() bool {
	select {
	case <-j.closing:
		return true
	default:
		return false
	}
}

// Durability implements [toolguard.Journal].
func (j *Journal) Durability() toolguard.Durability { return toolguard.DurabilityDisk }
