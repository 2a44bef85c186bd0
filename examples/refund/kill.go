package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"

	"github.com/toolguard-go/toolguard"
)

// moment is where a process can be killed. It is not left to chance: the journal
// and the transport of the process are wrapped, and the wrapping kills it.
type moment string

const (
	beforeIntent moment = "before the intent is written"
	afterIntent  moment = "after the intent is written"
	requestLeft  moment = "after the request has left"
	afterEffect  moment = "after the effect"
	beforeSettle moment = "before the outcome is written"
	afterSettle  moment = "after the outcome is written"

	// Of the recoverer, which looks for what earlier processes left open.
	beforeDoubt   moment = "before recovery notes the doubt"
	afterDoubt    moment = "after recovery has noted the doubt"
	bankAsked     moment = "after recovery has asked the bank"
	afterRecovery moment = "after recovery has written what it found"

	// Of a person who decides.
	beforeDecision moment = "before the decision is written"
	afterDecision  moment = "after the decision is written"
)

// killer kills the process at one moment; "" is none.
type killer struct{ at moment }

// reached ends the process as kill -9 does: nothing is flushed, closed or told.
func (k killer) reached(m moment) {
	if k.at == "" || k.at != m {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // the signal is on its way
}

// killingJournal kills around the writes of the journal.
type killingJournal struct {
	toolguard.Journal
	killer
}

func (j killingJournal) Write(ctx context.Context, was toolguard.Version, e toolguard.Entry, records ...toolguard.Record) (toolguard.Entry, bool, error) {
	before, after := around(was.State, e.State, records)
	j.reached(before)
	now, ok, err := j.Journal.Write(ctx, was, e, records...)
	if ok && err == nil {
		j.reached(after)
	}
	return now, ok, err
}

// around says what a write means: who writes, and what becomes of the entry.
func around(from, to toolguard.State, records []toolguard.Record) (before, after moment) {
	if len(records) == 0 { // a lease is renewed
		return "", ""
	}
	switch records[len(records)-1].Actor {
	case toolguard.ActorGuard:
		switch {
		case to == toolguard.StatePending:
			return beforeIntent, afterIntent
		case from == toolguard.StatePending:
			return beforeSettle, afterSettle
		}
	case toolguard.ActorRecoverer:
		if from == toolguard.StatePending {
			return beforeDoubt, afterDoubt
		}
		return "", afterRecovery
	default:
		return beforeDecision, afterDecision
	}
	return "", ""
}

// killingTransport kills around a request.
type killingTransport struct {
	base http.RoundTripper
	killer
}

// transport sends requests, and kills around them.
func (k killer) transport() http.RoundTripper {
	dialer := new(net.Dialer)
	return killingTransport{killer: k, base: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			return killingConn{conn, k}, err
		},
	}}
}

func (t killingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost {
		t.reached(afterEffect)
	} else if err == nil {
		t.reached(bankAsked)
	}
	return resp, err
}

// killingConn kills once a request for a refund is on the wire. The hooks of
// net/http/httptrace are called while it is still in a buffer of the process.
type killingConn struct {
	net.Conn
	killer
}

func (c killingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil && bytes.HasPrefix(b, []byte(http.MethodPost)) {
		c.reached(requestLeft)
	}
	return n, err
}
