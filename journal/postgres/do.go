package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// kind says whether an operation may be done again when its answer was lost.
type kind uint8

const (
	repeatable kind = iota
	once
)

// pause is how long to wait, on average, before trying again.
const pause = 20 * time.Millisecond

// do runs f on a connection, within the journal's timeout. It tries again what has
// certainly not been done, and what may be done twice.
func (j *Journal) do(ctx context.Context, k kind, what string, f func(context.Context, *pgxpool.Conn) error) error {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, j.opts.Timeout)
	defer cancel()
	patient := time.Now().Add(j.opts.Patience)
	for {
		if j.closed() {
			return named(fmt.Errorf("%s: %w", what, ErrClosed))
		}
		err := j.try(ctx, f)
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil && conflicting(err):
		case ctx.Err() == nil && time.Now().Before(patient) && (away(err) || mistaken(err) || k == repeatable && unanswered(err)):
		default:
			return named(fmt.Errorf("%s: %w", what, j.explained(caller, ctx, k, err)))
		}
		select {
		case <-time.After(rand.N(2 * pause)):
		case <-ctx.Done():
		}
	}
}

// unconnected is an error of getting a connection: nothing was sent.
type unconnected struct{ error }

func (e unconnected) Unwrap() error { return e.error }

func (j *Journal) try(ctx context.Context, f func(context.Context, *pgxpool.Conn) error) error {
	conn, err := j.pool.Acquire(ctx)
	if err != nil {
		return unconnected{err}
	}
	defer conn.Release()
	return f(ctx, conn)
}

// explained says what became of an operation that is given up.
func (j *Journal) explained(caller, ctx context.Context, k kind, err error) error {
	var refused unconnected
	switch {
	case errors.As(err, &refused) && refused.error != nil:
		err = fmt.Errorf("no connection: %w", err)
	case k == once && unanswered(err):
		err = fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	switch {
	case caller.Err() != nil:
		return fmt.Errorf("%w: %w", context.Cause(caller), err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w after %v: %w", ctx.Err(), j.opts.Timeout, err)
	}
	return err
}

// Codes of PostgreSQL's appendix A.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	queryCanceled        = "57014"
	tooManyConnections   = "53300"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
)

func codeOf(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// conflicting: the statement was rolled back because of another one, which happens
// where the pool asks for an isolation above read committed.
func conflicting(err error) bool {
	code := codeOf(err)
	return code == serializationFailure || code == deadlockDetected
}

// mistaken: the statement was rolled back by a request to cancel one. That of a caller
// who has left may come late, and meet the next statement on the connection.
func mistaken(err error) bool { return codeOf(err) == queryCanceled }

// away: nothing was sent, and the server may be back soon.
func away(err error) bool {
	if pgconn.SafeToRetry(err) {
		return true
	}
	var refused unconnected
	var dial *pgconn.ConnectError
	if !errors.As(err, &refused) || !errors.As(err, &dial) {
		return false
	}
	switch codeOf(err) {
	case "", tooManyConnections, adminShutdown, crashShutdown, cannotConnectNow:
		return true
	}
	return false // it will not have us
}

// unanswered: a statement was sent, and what became of it was not heard. An answer
// of the severity ERROR says that it was rolled back; a graver one may come after
// the commit.
func unanswered(err error) bool {
	var refused unconnected
	if errors.As(err, &refused) || pgconn.SafeToRetry(err) {
		return false
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.SeverityUnlocalized != "ERROR"
	}
	var own certain
	return !errors.As(err, &own)
}

// certain is an error of this package's own, about what the server has answered.
type certain struct{ error }

func (e certain) Unwrap() error { return e.error }

func certainly(format string, args ...any) error { return certain{fmt.Errorf(format, args...)} }

// named says which package an error comes from.
func named(err error) error { return fmt.Errorf("toolguard/postgres: %w", err) }
