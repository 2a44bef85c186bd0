// Package httpguard is the HTTP side of toolguard: a transport and a client for
// tools that call services, so that a guard knows what a failed call did.
//
// # Transport
//
// [Transport] is an [http.RoundTripper] that goes under whatever client or SDK
// the tool uses. Inside a guarded call it records how far each request of the
// attempt got: whether it was ever given a connection, whether it was written,
// whether an answer came, with which status and Retry-After. The guard reads
// that record after the attempt. It is how "connection refused" becomes a proven
// "not started", how a 404 after an accepted payment does not become "no
// effect", and how a Retry-After survives an SDK that hides it. The record knows
// the requests that pass through a Transport and no others: a tool that sends
// some of its requests another way must not use it for the rest.
//
// A request with an unsafe method (not GET, HEAD, OPTIONS or TRACE) is never
// sent a second time by net/http once it may have been seen. For hosts that are
// opted in it carries an idempotency key derived from the key of the call, so
// that a repeated attempt sends the same keys; see [Transport.IdempotencyHosts].
// Switch off the retries of an SDK on top: it counts as a new request each time.
//
// # Client
//
// [NewClient] returns an [http.Client] on a Transport with limits on connecting,
// on the wait for an answer, and on silence while the body is read. There is no
// limit on the whole: the guard's deadline, in the request's context, is that.
//
// # Answers
//
// [CheckResponse] turns an error status into a [StatusError], which carries the
// status and Retry-After and quotes nothing from the answer. [ReadAll] reads a
// body up to a bound.
//
// # Streams
//
// [IdleReader] bounds the silence of a stream: to its first data and between
// data. The clock runs only while the reader waits for the source. In an event
// stream comments and blank lines are not data. A stream that goes silent ends
// with a [StalledError], one that breaks off or ends without its terminator with
// a [TruncatedError]; both say whether output was handed on before, in which
// case nothing may quietly start over.
package httpguard
