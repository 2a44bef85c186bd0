package postgres_test

import (
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// proxy stands between a journal and its server. What comes from either side goes
// through what the test says of it; false closes the connection.
type proxy struct {
	DSN string

	mu       sync.Mutex
	request  func([]byte) bool
	answer   func([]byte) bool
	sessions []net.Conn
}

func newProxy(t testing.TB, dsn string) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	u := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: l.Addr().String(), Path: config.Database, RawQuery: "sslmode=disable"}
	p := &proxy{DSN: u.String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.sessions = append(p.sessions, client, server)
			p.mu.Unlock()
			all.Go(func() { p.pipe(server, client, func() func([]byte) bool { return p.request }) })
			all.Go(func() { p.pipe(client, server, func() func([]byte) bool { return p.answer }) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		all.Wait()
	})
	return p
}

// pipe passes on what it is let.
func (p *proxy) pipe(to, from net.Conn, filter func() func([]byte) bool) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		f := filter()
		p.mu.Unlock()
		if f != nil && !f(b[:n]) {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// set says what becomes of requests and of answers from now on; nil lets them pass.
func (p *proxy) set(request, answer func([]byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.request, p.answer = request, answer
}

// cut closes all connections there are.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.sessions {
		_ = c.Close()
	}
	p.sessions = nil
}
