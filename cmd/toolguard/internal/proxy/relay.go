package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// relay stands between one client and the server it talks to.
type relay struct {
	client link
	server *server
	guards *mcpguard.Guards
	name   string // of the conversation
	log    *slog.Logger

	mu    sync.Mutex
	calls map[string]*inProgress // guarded calls, by the client's key
	over  bool                   // no further calls begin
	// asked are the server's questions to the client that are not answered, by key.
	asked map[string]stopped
	open  openCalls
	// questions are those of the proxy to the client, by the keys of their IDs.
	questions map[string]chan<- *message
	work      sync.WaitGroup

	stale   atomic.Bool // the list that was learnt is not the whole, or not the latest
	asking  sync.Mutex
	refused time.Time // when the server did not list its tools; under asking
}

// run relays until the client goes or ctx ends. It returns an error if the server
// cannot be started, or ends before it has said anything.
func (r *relay) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	r.calls, r.questions = make(map[string]*inProgress), make(map[string]chan<- *message)
	r.asked = make(map[string]stopped)
	r.server.deliver, r.server.lost, r.server.returned = r.fromServer, r.unanswered, r.guards.Reconnected
	if err := r.server.start(ctx); err != nil {
		stop()
		return err
	}
	defer r.server.end()
	defer stop()
	defer r.settle(stop)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r.readClient(ctx)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	case err := <-r.server.hopeless:
		return err
	}
	return nil
}

// leaving is how long calls may go on for a client that has closed its end.
const leaving = 2 * time.Second

// settle lets the calls in progress come to their ends, soon.
func (r *relay) settle(stop func()) {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	done := make(chan struct{})
	go func() { r.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(leaving):
		stop()
		<-done
	}
}

func (r *relay) readClient(ctx context.Context) {
	for {
		m, err := r.client.receive()
		if bad, ok := errors.AsType[*errMalformed](err); ok {
			r.toClient(refused(bad.id, malformed(bad)))
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.log.Debug("the client is gone", "reason", err)
			}
			return
		}
		r.fromClient(ctx, m)
	}
}

// fromClient hands a message to the server, or guards the call that it is.
func (r *relay) fromClient(ctx context.Context, m *message) {
	r.server.shakes.heed(m)
	switch {
	case m.isRequest() && m.Method == "tools/call":
		r.begin(ctx, m)
	case m.isRequest():
		r.pass(ctx, m)
	case m.Method == "notifications/cancelled" && r.cancel(m):
	case m.isAnswer() && r.answers(m):
	default:
		if m.isAnswer() {
			r.answered(m.key())
		}
		if err := r.server.send(ctx, m, nil); err != nil {
			r.log.Debug("a message did not reach the server", "method", m.Method, "error", err)
		}
	}
}

// pass hands a request on, and its answer back, whatever becomes of the server.
func (r *relay) pass(ctx context.Context, m *message) {
	lost := func(err error) { r.toClient(refused(m.ID, &rpcError{Code: codeServer, Message: err.Error()})) }
	err := r.server.send(ctx, m, func(answer *message) {
		if answer.lost != nil {
			lost(answer.lost)
			return
		}
		answer.related = m.key()
		if m.Method == "tools/list" {
			r.learn(m, answer)
		}
		r.toClient(answer)
	})
	if err != nil {
		lost(err)
	}
}

// begin answers a call by its guard, beside all others.
func (r *relay) begin(ctx context.Context, m *message) {
	ctx, cancel := context.WithCancel(ctx)
	ctx, w := r.guards.Waiting(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		cancel()
		return
	}
	r.calls[m.key()] = &inProgress{cancel, w}
	r.work.Go(func() {
		defer cancel()
		answer := r.answer(ctx, m)
		r.mu.Lock()
		_, wanted := r.calls[m.key()]
		delete(r.calls, m.key())
		r.mu.Unlock()
		if wanted {
			r.toClient(answer)
		}
	})
}

// cancel stops a guarded call, whose answer is not wanted any more. It reports
// whether there is one.
func (r *relay) cancel(m *message) bool {
	key := cancelled(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.calls[key]
	if ok {
		delete(r.calls, key)
		c.stop()
	}
	return ok
}

// fromServer hands on what the server sends by itself.
func (r *relay) fromServer(m *message) {
	switch {
	case m.Method == "notifications/tools/list_changed":
		r.stale.Store(true)
	case m.Method == "notifications/cancelled":
		r.answered(cancelled(m))
	case m.isRequest() && m.Method != "ping":
		r.ask(m)
	}
	r.toClient(m)
}

func (r *relay) toClient(m *message) {
	if err := r.client.send(context.Background(), m); err != nil {
		r.log.Debug("a message did not reach the client", "error", err)
	}
}
