package evidence

import (
	"net/http"
	"time"
)

// Request is what is known of one HTTP request. It holds no host, path, header
// or body, so it may be put into an event as it is.
type Request struct {
	Unsafe       bool      // the method may change something: not GET, HEAD, OPTIONS or TRACE
	Traced       bool      // the transport reports connections at all
	Connected    bool      // a connection was handed to the request, in any of the transport's own tries
	WroteHeaders bool      // the headers went to that connection's buffer
	WroteRequest bool      // headers and body went to that connection's buffer; a body the server declined when asked (100-continue) did not
	FirstByte    bool      // the first byte of an answer arrived
	Resent       bool      // another connection was handed out after the headers had been written once
	KeySent      bool      // an idempotency key was sent along
	Returned     bool      // the round trip is over
	Lost         bool      // the body of the answer ended with an error
	Status       int       // status of the answer; 0 if none
	BodyBytes    int64     // bytes of the answer's body that were read
	RetryAt      time.Time // instant the answer asked to wait for; zero if none
}

// MaybeSent reports whether the server may have seen the request. Only a round
// trip that is over, on a transport that reports connections, and that never
// got one, proves the opposite.
func (r Request) MaybeSent() bool {
	return !r.Returned || !r.Traced || r.Connected || r.Status != 0
}

// Refused reports whether the answer proves that the request had no effect: it
// was sent once only and the status is a refusal (see [RefusedStatus]).
func (r Request) Refused() bool {
	return !r.Resent && RefusedStatus(r.Status)
}

// RefusedStatus reports whether an HTTP status says that an unsafe request was
// not carried out: 307 and 308 (the client is to send it elsewhere, RFC 9110
// §15.4) and all of 4xx, except those by which a server or a proxy says that it
// gave up waiting: 408, 460 and 499. Other redirects often follow a request
// that was carried out, and 5xx proves nothing.
func RefusedStatus(status int) bool {
	switch status {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	case http.StatusRequestTimeout, 460, 499:
		return false
	}
	return status >= 400 && status < 500
}
