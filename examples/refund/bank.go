package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// bank is the payment service: a process of its own with a ledger behind it. It
// books what it is told to, and it can be told to lose what it answers.
type bank struct {
	ledger *ledger

	mu       sync.Mutex
	troubles map[string][]trouble // by order; one for each request to come
}

// order is a request for a refund, on the wire.
type order struct {
	refundIn
	Reference string `json:"reference"`
}

// trouble is what becomes of a request beside what should.
type trouble string

const (
	loseRequest trouble = "lose request" // it never gets there
	loseAnswer  trouble = "lose answer"  // the refund is booked, and the connection breaks
	silence     trouble = "silence"      // the refund is booked, and no answer comes
	late        trouble = "late"         // it is booked once nobody waits for it any more
)

// bankRole is what the bank's process is told.
type bankRole struct {
	Folder string // for the ledger
}

// play serves until the standard input ends: until its parent is gone.
func (r bankRole) play() error {
	l, err := openLedger(filepath.Join(r.Folder, "bank.db"))
	if err != nil {
		return err
	}
	defer l.db.Close()
	b := &bank{ledger: l, troubles: map[string][]trouble{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: b.routes(), ReadHeaderTimeout: 5 * time.Second}
	defer server.Close()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Printf("http://%s\n", listener.Addr())
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	return <-failed
}

func (b *bank) routes() http.Handler {
	mux := http.NewServeMux()
	for _, kind := range kinds {
		mux.HandleFunc("POST /"+kind, b.refund)
	}
	mux.HandleFunc("GET /"+withStatus, b.list("reference"))
	mux.HandleFunc("GET /ledger", b.list("order_id")) // what people see
	mux.HandleFunc("PUT /troubles/{order}", b.plan)
	return mux
}

// refund books one. That it has begun is enough: it does not stop because the
// client is gone.
func (b *bank) refund(w http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // only then it is noticed that the client is gone
	trouble := b.next(o.Order)
	switch trouble {
	case loseRequest:
		hangUp(w)
		return
	case late:
		awaitHangUp(r)
	}
	key := ""
	if r.URL.Path == "/"+withKey {
		key = r.Header.Get("Idempotency-Key")
	}
	made, err := b.ledger.book(context.WithoutCancel(r.Context()), o, key)
	switch {
	case err != nil:
		http.Error(w, "the ledger cannot be written", http.StatusInternalServerError)
	case trouble == silence:
		awaitHangUp(r)
	case trouble == loseAnswer:
		hangUp(w)
	default:
		reply(w, made)
	}
}

// list answers with the refunds whose column is as the request asks.
func (b *bank) list(column string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		made, err := b.ledger.list(r.Context(), column+" = ?", r.FormValue(column))
		if err != nil {
			http.Error(w, "the ledger cannot be read", http.StatusInternalServerError)
			return
		}
		reply(w, made)
	}
}

// plan says what becomes of the next requests for an order.
func (b *bank) plan(w http.ResponseWriter, r *http.Request) {
	var planned []trouble
	if err := json.NewDecoder(r.Body).Decode(&planned); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.troubles[r.PathValue("order")] = planned
	reply(w, planned)
}

func (b *bank) next(order string) trouble {
	b.mu.Lock()
	defer b.mu.Unlock()
	planned := b.troubles[order]
	if len(planned) == 0 {
		return ""
	}
	b.troubles[order] = planned[1:]
	return planned[0]
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(errors.Join(http.ErrAbortHandler, err))
	}
	_ = conn.Close()
}

const mostPatience = 20 * time.Second

// awaitHangUp waits until the client has closed the connection, or was killed.
func awaitHangUp(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(mostPatience):
	}
}
