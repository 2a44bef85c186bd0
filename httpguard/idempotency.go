package httpguard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// DefaultIdempotencyHeader is the header used if none is named.
const DefaultIdempotencyHeader = "Idempotency-Key"

// keyLength is the length of a key in hex digits: 128 bits.
const keyLength = 32

// unsafeHeader returns the headers to send with an unsafe request, and whether
// an idempotency key is among them.
//
// net/http takes a request with one of its key headers for one it may send again
// after a lost connection. It looks them up by their canonical names only, so
// they travel under lower-case ones, which mean the same on the wire (RFC 9110
// §5.1). Taking GetBody away instead would not stop it for requests without a
// body, and would cost the harmless second try of a connection on which nothing
// was written.
func (t *Transport) unsafeHeader(req *http.Request, ordinal int) (http.Header, bool) {
	name := strings.ToLower(t.idempotencyHeader())
	h := make(http.Header, len(req.Header)+1)
	keyed := false
	for key, values := range req.Header {
		lower := strings.ToLower(key)
		if lower == name || lower == "idempotency-key" || lower == "x-idempotency-key" {
			// Without a value net/http takes the header for leave and sends none.
			key, keyed = lower, keyed || len(values) > 0
		}
		h[key] = append(h[key], values...)
	}
	if keyed || !t.keyed(req) {
		return h, keyed
	}
	callKey, ok := evidence.CallKey(req.Context())
	if ok {
		h[name] = []string{requestKey(callKey, target(req), ordinal)}
	}
	return h, ok
}

func (t *Transport) idempotencyHeader() string {
	if t.IdempotencyHeader == "" {
		return DefaultIdempotencyHeader
	}
	return t.IdempotencyHeader
}

// keyed reports whether the host of req is opted in.
func (t *Transport) keyed(req *http.Request) bool {
	if req.URL == nil {
		return false
	}
	name, port := req.URL.Hostname(), req.URL.Port()
	if port == "" {
		port = defaultPorts[req.URL.Scheme]
	}
	withPort := net.JoinHostPort(name, port)
	return slices.ContainsFunc(t.IdempotencyHosts, func(host string) bool {
		return strings.EqualFold(host, name) || strings.EqualFold(host, "["+name+"]") || strings.EqualFold(host, withPort)
	})
}

// defaultPorts are the ports of URLs that name none.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// requestKey derives the key of one request. The lengths keep different parts
// from running into the same text.
func requestKey(callKey, target string, ordinal int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%d", len(callKey), callKey, len(target), target, ordinal))
	return hex.EncodeToString(sum[:])[:keyLength]
}

// target names the method and the URL of a request, without the parts that do
// not belong to what is asked: fragment and user.
func target(req *http.Request) string {
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	if req.URL == nil {
		return method
	}
	u := *req.URL
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	u.Host = strings.ToLower(u.Host)
	return method + " " + u.String()
}
