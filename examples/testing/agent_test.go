// This test takes an agent down its error paths. Three things make that easy:
//
//   - A tool is a function, so a test gives the guard another one. The name, the
//     effect and the types stay those of production.
//   - Inside a testing/synctest bubble time is fake: the default timeout of 60 s
//     passes at once, and a retry's wait too.
//   - The error the function returns decides the path: io.ErrUnexpectedEOF is a
//     lost answer, toolguard.NotStarted says that nothing had begun.
//
// A bubble ends only when every goroutine in it has ended. A function that
// ignores its context must therefore be released before the test returns.
package agent

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolguard-go/toolguard"
)

type order struct {
	OrderID string `json:"order_id"`
	Cents   int    `json:"cents"`
}

// refundFunc is the shape of the production function.
type refundFunc func(ctx context.Context, in order) (string, error)

// converse runs the agent with a tool that does f and a model that writes args,
// one after the other. It returns what the user is told and how often f ran. The
// guard counts that: a function that is abandoned would race with the test.
func converse(t *testing.T, f refundFunc, args ...string) (said string, runs uint64) {
	t.Helper()
	info := toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent}
	guard, err := toolguard.New(toolguard.Func(info, f), nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	said = Refund(t.Context(), guard, func(answer string) json.RawMessage {
		if len(args) == 0 {
			t.Fatal("the model is asked once more than it should be")
		}
		if asked++; asked > 1 && !strings.Contains(answer, "order_id is required") {
			t.Errorf("the model is to correct itself and reads %q", answer)
		}
		next := args[0]
		args = args[1:]
		return json.RawMessage(next)
	})
	return said, guard.Stats().Attempts
}

const goodArgs = `{"order_id":"A-17","cents":8000}`

func TestErrorPaths(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		runs uint64
		says string
	}{
		"lost answer: not repeated, not claimed": {io.ErrUnexpectedEOF, 1, "do not know"},
		"business refusal: passed on":            {toolguard.Business("Order A-17 was refunded yesterday."), 1, "refunded yesterday"},
		"had not begun: safe to try three times": {toolguard.NotStarted(toolguard.Unavailable("The refund desk is closed.")), 3, "no money has moved"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, runs := converse(t, func(context.Context, order) (string, error) { return "", test.err }, goodArgs)
				if runs != test.runs || !strings.Contains(said, test.says) {
					t.Errorf("ran %d times, said %q; want %d times and %q", runs, said, test.runs, test.says)
				}
			})
		})
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		said, runs := converse(t, func(ctx context.Context, _ order) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, goodArgs)
		if runs != 1 || !strings.Contains(said, "do not know") {
			t.Errorf("ran %d times, said %q", runs, said)
		}
		if took := time.Since(began); took != 60*time.Second {
			t.Errorf("took %v of fake time, want the default of 60 s", took)
		}
	})
}

func TestToolIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release) // or the bubble could not end
		said, runs := converse(t, func(context.Context, order) (string, error) {
			<-release
			return "R-1", nil
		}, goodArgs)
		if runs != 1 || !strings.Contains(said, "do not know") {
			t.Errorf("ran %d times, said %q", runs, said)
		}
	})
}

func TestModelCorrectsItsArguments(t *testing.T) {
	var got order
	said, runs := converse(t, func(_ context.Context, in order) (string, error) {
		got = in
		return "R-1", nil
	}, `{"orderid":"A-17","cents":8000}`, goodArgs)
	if runs != 1 || got != (order{"A-17", 8000}) || said != "Refunded: R-1" {
		t.Errorf("ran %d times with %v, said %q", runs, got, said)
	}
}
