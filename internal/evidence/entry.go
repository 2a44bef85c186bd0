package evidence

import "time"

// Entry is the place where the transport writes what becomes of one request.
// Its methods may be called concurrently and late.
type Entry struct {
	Request // guarded by owner.mu
	owner   *Attempt
	up      *Entry // the same request in the record of the outer attempt
	target  uint64
}

// update applies f to the request here and in the outer attempts, one lock at a
// time.
func (e *Entry) update(f func(*Request)) {
	for ; e != nil; e = e.up {
		e.owner.mu.Lock()
		f(&e.Request)
		e.owner.mu.Unlock()
	}
}

// Snapshot returns a copy of what is known so far.
func (e *Entry) Snapshot() Request {
	e.owner.mu.Lock()
	defer e.owner.mu.Unlock()
	return e.Request
}

// NotSent records that the request never left httpguard.
func (e *Entry) NotSent() { e.update(func(r *Request) { r.Traced, r.Returned = true, true }) }

// WantConn records that the transport reports its connections.
func (e *Entry) WantConn() { e.update(func(r *Request) { r.Traced = true }) }

// GotConn records that the request was given a connection.
func (e *Entry) GotConn() {
	e.update(func(r *Request) {
		r.Resent = r.Resent || r.WroteHeaders
		r.Traced, r.Connected = true, true
	})
}

// WroteHeaders records that the headers went to the connection's buffer.
func (e *Entry) WroteHeaders() { e.update(func(r *Request) { r.WroteHeaders = true }) }

// WroteRequest records that the whole request went to the connection's buffer.
func (e *Entry) WroteRequest() { e.update(func(r *Request) { r.WroteRequest = true }) }

// FirstByte records that an answer began to arrive.
func (e *Entry) FirstByte() { e.update(func(r *Request) { r.FirstByte = true }) }

// KeySent records that the request carries an idempotency key.
func (e *Entry) KeySent() { e.update(func(r *Request) { r.KeySent = true }) }

// Failed records that the round trip ended without an answer.
func (e *Entry) Failed() { e.update(func(r *Request) { r.Returned = true }) }

// Answered records the answer's status and the instant it asked to wait for
// (zero: none).
func (e *Entry) Answered(status int, retryAt time.Time) {
	e.update(func(r *Request) { r.Returned, r.Status, r.RetryAt = true, status, retryAt })
}

// Read records that n bytes of the answer's body were read.
func (e *Entry) Read(n int) { e.update(func(r *Request) { r.BodyBytes += int64(n) }) }

// Lost records that the answer's body ended with an error.
func (e *Entry) Lost() { e.update(func(r *Request) { r.Lost = true }) }
