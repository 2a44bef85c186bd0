package main

import (
	"context"
	"net/http"
	"time"

	"github.com/toolguard-go/toolguard"
)

// playPlain is the process of an agent without toolguard: it does what frameworks
// do. A failed call is tried three times; a process that is started again does its
// work again, for it knows nothing of the one before. Like the call IDs, the
// idempotency key is new with each call of the model.
func (r agentRole) playPlain() error {
	kill := killer{r.Kill}
	kill.reached(beforeIntent)
	kill.reached(afterIntent) // there is no such thing here
	for range r.Calls {
		id := newCallID()
		c := &client{
			http:      &http.Client{Transport: withHeader{kill.transport(), id}, Timeout: attemptTimeout},
			bank:      r.Bank,
			reference: func(context.Context) string { return id },
		}
		err := r.retry(c)
		kill.reached(beforeSettle)
		kill.reached(afterSettle)
		a := answer{CallID: id, OK: err == nil, Reads: "refunded", Outcome: toolguard.OutcomeSucceeded}
		if err != nil {
			a.Reads, a.Outcome = "error: "+err.Error()+"; please try again", toolguard.OutcomeFailed
		}
		if tell(a); a.OK {
			break
		}
	}
	return nil
}

const (
	plainTries = 3
	plainWait  = 100 * time.Millisecond
)

func (r agentRole) retry(c *client) (err error) {
	for range plainTries {
		if _, err = c.refund(r.Tool)(context.Background(), refundIn{Order: r.Order, Cents: cents}); err == nil {
			return nil
		}
		time.Sleep(plainWait)
	}
	return err
}

// withHeader sends an idempotency key with each request.
type withHeader struct {
	base http.RoundTripper
	key  string
}

func (t withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Idempotency-Key", t.key)
	return t.base.RoundTrip(r)
}
