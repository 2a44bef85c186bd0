// Package evidence is the record of what the HTTP requests of one attempt did.
//
// The guard puts an [Attempt] into the context of each attempt; the transport
// of package httpguard writes into it how far every request got; afterwards the
// guard asks it what is proven about the side effect. The two packages never
// import each other, they meet here.
//
// Every answer leans to the safe side: what is not proven counts as "may have
// been sent". The record knows only the requests that went through httpguard.
package evidence

import (
	"sync"
	"time"
)

// MaxRequests is how many requests of an attempt are kept in detail. Later ones
// are counted, and count as sent and unanswered.
const MaxRequests = 64

// Attempt collects the evidence of one attempt. The zero value is ready, takes
// no memory of its own until the first request, and must not be copied after
// first use. All methods may be called concurrently, also long after the
// attempt was abandoned; a nil Attempt answers as one without requests.
type Attempt struct {
	mu      sync.Mutex
	parent  *Attempt
	log     []*Entry
	last    *Entry // the request begun last, kept even beyond MaxRequests
	dropped int32  // requests beyond MaxRequests
	unsafe  int32  // of those, the ones with an unsafe method
}

// Under makes parent see every request recorded in a from now on, so that the
// attempt of an outer tool knows what an inner guarded tool sent. Call it before
// the first request; [NewContext] does.
func (a *Attempt) Under(parent *Attempt) {
	if parent != a {
		a.parent = parent
	}
}

// Begin records that a request is about to start and returns its entry.
// Target identifies method and URL; it is kept as a hash only. The ordinal is 1
// for the first request of the attempt with that target, 2 for the next, and so
// on; beyond [MaxRequests] it counts all requests, so it stays unique.
func (a *Attempt) Begin(unsafe bool, target string) (e *Entry, ordinal int) {
	e = &Entry{owner: a, target: fingerprint(target), Request: Request{Unsafe: unsafe}}
	a.mu.Lock()
	ordinal = a.add(e)
	parent := a.parent
	a.mu.Unlock()
	if parent != nil {
		e.up, _ = parent.Begin(unsafe, target)
	}
	return e, ordinal
}

// add appends e within the bound and returns its ordinal. The caller holds mu.
func (a *Attempt) add(e *Entry) int {
	a.last = e
	if len(a.log) >= MaxRequests {
		a.dropped++
		if e.Unsafe {
			a.unsafe++
		}
		return MaxRequests + int(a.dropped)
	}
	a.log = append(a.log, e)
	ordinal := 0
	for _, other := range a.log {
		if other.target == e.target {
			ordinal++
		}
	}
	return ordinal
}

// Used reports whether any request of the attempt went through httpguard.
func (a *Attempt) Used() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.log) > 0
}

// NothingSent reports whether there was at least one request and none of them
// can have reached a server: each one is over and never got a connection, on a
// transport that reports connections. Ask it when the tool has returned: a tool
// that still runs may still send.
func (a *Attempt) NothingSent() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped > 0 {
		return false
	}
	for _, e := range a.log {
		if e.MaybeSent() {
			return false
		}
	}
	return len(a.log) > 0
}

// UnsafeRequests counts the requests with an unsafe method that may have
// reached a server.
func (a *Attempt) UnsafeRequests() int {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := int(a.unsafe)
	for _, e := range a.log {
		if e.Unsafe && e.MaybeSent() {
			n++
		}
	}
	return n
}

// DefiniteOnly reports whether the record rules out any effect: there was at
// least one request, and every request with an unsafe method either cannot have
// reached a server or was definitely refused by it (see [Request.Refused]). It
// is what lets a 4xx mean "no effect" although the tool sends several requests:
// a charge that was accepted before the receipt answered 404 makes it false.
func (a *Attempt) DefiniteOnly() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unsafe > 0 {
		return false
	}
	for _, e := range a.log {
		if e.Unsafe && e.MaybeSent() && !e.Refused() {
			return false
		}
	}
	return len(a.log) > 0
}

// LastStatus returns the HTTP status of the request begun last, and false if
// there was none or it was not answered (yet).
func (a *Attempt) LastStatus() (int, bool) {
	if a == nil {
		return 0, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		return 0, false
	}
	return a.last.Status, a.last.Status != 0
}

// LastLost reports whether the answer to the request begun last broke off.
func (a *Attempt) LastLost() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last != nil && a.last.Request.Lost
}

// RetryAt returns the latest instant any answer with status 400 or above asked
// to be left alone until; beyond [MaxRequests] only the request begun last is
// considered. It may lie in the past.
func (a *Attempt) RetryAt() (time.Time, bool) {
	if a == nil {
		return time.Time{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var latest time.Time
	for _, e := range a.log {
		latest = later(latest, e)
	}
	if a.last != nil {
		latest = later(latest, a.last)
	}
	return latest, !latest.IsZero()
}

func later(t time.Time, e *Entry) time.Time {
	if e.Status >= 400 && e.RetryAt.After(t) {
		return e.RetryAt
	}
	return t
}

// RetryAfter returns how long it is from now until [Attempt.RetryAt], at least 0.
func (a *Attempt) RetryAfter() (time.Duration, bool) {
	at, ok := a.RetryAt()
	if !ok {
		return 0, false
	}
	return max(0, time.Until(at)), true
}

// Requests returns a copy of what is known of each request, in the order they
// began, at most [MaxRequests] of them.
func (a *Attempt) Requests() []Request {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Request
	for _, e := range a.log {
		all = append(all, e.Request)
	}
	return all
}

// fingerprint is 64-bit FNV-1a. A collision only moves an ordinal on, which is
// harmless: the key hashes the whole target as well.
func fingerprint(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
