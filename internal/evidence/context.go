package evidence

import (
	"context"
	"time"
)

// Key is the context key of the *[Attempt]. A context type of one's own can
// answer Value(Key{}) from a field, without a map and without allocating.
type Key struct{}

// CallKeyKey is the context key of a [CallKeyer].
type CallKeyKey struct{}

// CallKeyer knows the call's idempotency key. CallKey may be called concurrently
// and more than once, and returns "" if the call has none; asking for it is the
// moment to compute it.
type CallKeyer interface {
	CallKey() string
}

// WaiterKey is the context key of a [Waiter].
type WaiterKey struct{}

// Waiter knows for how long somebody was waited for since then who is no part of
// the service, and whether somebody still is: its silence says nothing of it then.
// Waited may be called concurrently.
type Waiter interface {
	Waited(then time.Time) (total time.Duration, still bool)
}

// NewContext returns a context whose requests are recorded in a, and in the
// attempt ctx belonged to before, if any.
func NewContext(ctx context.Context, a *Attempt) context.Context {
	a.Under(FromContext(ctx))
	return context.WithValue(ctx, Key{}, a)
}

// FromContext returns the attempt ctx belongs to, or nil.
func FromContext(ctx context.Context) *Attempt {
	a, _ := ctx.Value(Key{}).(*Attempt)
	return a
}

// CallKey returns the key of the call ctx belongs to, and false if it has none.
func CallKey(ctx context.Context) (string, bool) {
	source, _ := ctx.Value(CallKeyKey{}).(CallKeyer)
	if source == nil {
		return "", false
	}
	key := source.CallKey()
	return key, key != ""
}

// WithCallKey returns a context whose call has the given key.
func WithCallKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, CallKeyKey{}, fixedKey(key))
}

type fixedKey string

func (k fixedKey) CallKey() string { return string(k) }
