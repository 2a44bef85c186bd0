package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// readers are connections that read, beside the one that writes: in WAL mode
// neither waits for the other. Each is opened when it is first needed.
type readers struct {
	db     *sql.DB
	idle   chan *held // nil for one that is not open
	closed chan struct{}
	once   sync.Once
}

func newReaders(db *sql.DB, n int) *readers {
	r := &readers{db: db, idle: make(chan *held, n), closed: make(chan struct{})}
	for range n {
		r.idle <- nil
	}
	return r
}

// do lends f a connection, again when f finds the file busy.
func (r *readers) do(ctx context.Context, f func(*held) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h, err := r.borrow(ctx)
	if err != nil {
		return err
	}
	defer func() { r.idle <- h }()
	if h == nil {
		if h, err = hold(ctx, r.db); err != nil {
			return named(err)
		}
	}
	return reason(ctx, whenFree(ctx, func() error { return f(h) }))
}

func (r *readers) borrow(ctx context.Context) (*held, error) {
	select {
	case <-r.closed:
		return nil, ErrClosed
	default:
	}
	select {
	case h := <-r.idle:
		return h, nil
	case <-r.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reason prefers the end of ctx to what a driver makes of it.
func reason(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return named(err)
}

// close waits for those who read.
func (r *readers) close() error {
	var errs []error
	r.once.Do(func() {
		close(r.closed)
		for range cap(r.idle) {
			if h := <-r.idle; h != nil {
				errs = append(errs, h.close())
			}
		}
	})
	return errors.Join(errs...)
}
