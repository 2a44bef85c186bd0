package httpguard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Defaults of [Options].
const (
	DefaultConnectTimeout = 10 * time.Second
	DefaultHeaderTimeout  = 60 * time.Second
)

const tcpKeepAlive = 30 * time.Second

// Options configures [NewClient]. The zero value is ready. To do without a limit
// set one longer than any call.
type Options struct {
	// ConnectTimeout limits dialling, and again the TLS handshake. If zero, 10 s.
	// Must be zero if Base is set.
	ConnectTimeout time.Duration
	// HeaderTimeout limits the wait for the first byte of an answer after the
	// request was written. If zero, 60 s. Must be zero if Base is set.
	HeaderTimeout time.Duration
	// IdleTimeout limits silence while the body of an answer is read. If zero, 30 s.
	IdleTimeout time.Duration

	// Base sends the requests. If nil, a clone of http.DefaultTransport, made now
	// and not shared, with the limits above: it keeps the proxy, HTTP/2 and pool
	// settings the program has given it.
	Base http.RoundTripper

	// IdempotencyHosts, IdempotencyHeader and Propagate are those of [Transport].
	IdempotencyHosts  []string
	IdempotencyHeader string
	Propagate         func(ctx context.Context, header http.Header)
}

// NewClient returns a client on a [Transport]. It has no timeout of its own for
// the whole exchange: the deadline of the request's context is that. An error
// names the option that makes no sense.
func NewClient(opts Options) (*http.Client, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	base := opts.Base
	if base == nil {
		base = newBase(orDefault(opts.ConnectTimeout, DefaultConnectTimeout), orDefault(opts.HeaderTimeout, DefaultHeaderTimeout))
	}
	idle := orDefault(opts.IdleTimeout, DefaultIdle)
	return &http.Client{Transport: &Transport{
		Base:              base,
		IdempotencyHosts:  append([]string(nil), opts.IdempotencyHosts...),
		IdempotencyHeader: opts.IdempotencyHeader,
		Propagate:         opts.Propagate,
		Idle:              &IdleOptions{FirstByte: idle, Idle: idle},
	}}, nil
}

// newBase clones the default transport, or stands in for one that a program has
// replaced by something else.
func newBase(connect, header time.Duration) *http.Transport {
	base := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if std, ok := http.DefaultTransport.(*http.Transport); ok {
		base = std.Clone()
	}
	base.DialContext = (&net.Dialer{Timeout: connect, KeepAlive: tcpKeepAlive}).DialContext
	base.TLSHandshakeTimeout = connect
	base.ResponseHeaderTimeout = header
	return base
}

func orDefault(d, byDefault time.Duration) time.Duration {
	if d == 0 {
		return byDefault
	}
	return d
}

func (o *Options) check() error {
	limits := []struct {
		name  string
		value time.Duration
		own   bool // belongs to the transport NewClient makes
	}{
		{"ConnectTimeout", o.ConnectTimeout, true},
		{"HeaderTimeout", o.HeaderTimeout, true},
		{"IdleTimeout", o.IdleTimeout, false},
	}
	for _, limit := range limits {
		if limit.value < 0 {
			return fmt.Errorf("httpguard: Options.%s %v is negative", limit.name, limit.value)
		}
		if limit.own && limit.value != 0 && o.Base != nil {
			return fmt.Errorf("httpguard: Options.%s %v has no effect on the given Base", limit.name, limit.value)
		}
	}
	return o.checkIdempotency()
}

func (o *Options) checkIdempotency() error {
	for _, host := range o.IdempotencyHosts {
		if host == "" || strings.ContainsAny(host, "/*@ ") {
			return fmt.Errorf("httpguard: Options.IdempotencyHosts: %q is not a host or host:port", host)
		}
	}
	if strings.ContainsFunc(o.IdempotencyHeader, notToken) {
		return fmt.Errorf("httpguard: Options.IdempotencyHeader %q is not a header name", o.IdempotencyHeader)
	}
	return nil
}

// notToken reports what a field name must not contain (RFC 9110 §5.6.2).
func notToken(c rune) bool {
	alphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	return !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}
