// Package cancel holds the context an attempt runs under.
//
// The goroutine that waits for the attempt watches the timer and the caller
// anyway, so the context needs neither: it is cancelled by hand, once, and its
// channel is made only if the tool asks for it. That is a third of the cost of
// [context.WithTimeout]. It is never pooled, because tools keep contexts.
package cancel

import (
	"context"
	"sync"
	"time"
)

// Context is a [context.Context] cancelled by [Context.Cancel]. The zero value
// is not usable: call Init. It must not be copied after Init.
type Context struct {
	parent context.Context

	mu    sync.Mutex
	done  chan struct{}
	err   error
	after map[*func()]struct{}
}

// Init sets what the context inherits from. Its owner watches the parent.
func (c *Context) Init(parent context.Context) { c.parent = parent }

// Deadline returns the parent's.
func (c *Context) Deadline() (time.Time, bool) { return c.parent.Deadline() }

// Value implements [context.Context] by asking the parent.
func (c *Context) Value(key any) any { return c.parent.Value(key) }

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} {
	c.inherit()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements [context.Context].
func (c *Context) Err() error {
	c.inherit()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// inherit does not wait for the owner to notice that the parent has ended: who
// cancels a context and asks its child must not hear that all is well.
func (c *Context) inherit() {
	if err := c.parent.Err(); err != nil {
		c.Cancel(err)
	}
}

// Cancel ends the context with err; only the first call counts.
func (c *Context) Cancel(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	for f := range c.after {
		go (*f)()
	}
	c.after = nil
}

// AfterFunc runs f on its own goroutine once the context is cancelled. The
// context package uses it to cancel children without a goroutine for each.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = make(map[*func()]struct{})
	}
	c.after[&f] = struct{}{}
	return func() bool { return c.forget(&f) }
}

func (c *Context) forget(f *func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, waiting := c.after[f]
	delete(c.after, f)
	return waiting
}
