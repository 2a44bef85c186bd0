package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
)

// The snippet of docs/observability.md: a guard whose events go into a log and a
// store, and what the store knows of a call.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "events.db")
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	if err := watched(context.Background(), path, logger); err != nil {
		log.Fatal(err)
	}

	store, err := dial.Read(context.Background(), path)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	traces, err := report.Find(context.Background(), store, nil, "call_1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(traces[0].Layer)
	// Output:
	// On the network: the connection broke (connection_lost, unavailable), read from text: socket hang up.
}

// snippet: watched
// watched makes one call, and leaves what happened in a log and in a store.
func watched(ctx context.Context, path string, logger *slog.Logger) error {
	store, err := dial.Open(ctx, path) // a SQLite file, or postgres://…
	if err != nil {
		return err
	}
	defer store.Close() // last: the recorder still writes
	recorder, err := eventstore.NewRecorder(store, nil)
	if err != nil {
		return err
	}
	tool := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent},
		func(context.Context, struct{}) (string, error) { return "", errors.New("socket hang up") })
	guard, err := toolguard.New(tool, &toolguard.Options{
		Observer: toolguard.Observers(toolguard.LogObserver(logger), recorder),
		Observe:  toolguard.ObservePolicy{Queue: 10_000}, // events wait, calls do not
	})
	if err != nil {
		return err
	}
	guard.Do(ctx, toolguard.Call{ID: "call_1", Args: []byte(`{}`)})

	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(guard.Shutdown(end), recorder.Close(end)) // first what makes events, then what keeps them
}

// end snippet
