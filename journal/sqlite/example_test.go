package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// A refund that a process has made is not made again by the next one that comes to
// the same step of the same run: it finds the result in the journal.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	refunds := 0
	refund := toolguard.Func(
		toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent},
		func(context.Context, struct{ Order string }) (string, error) {
			refunds++
			return "refunded", nil
		})
	for range 2 { // as if it were two processes, one after the other
		journal, err := sqlite.Open(filepath.Join(dir, "journal.db"), nil)
		if err != nil {
			log.Fatal(err)
		}
		guard, err := toolguard.New(refund, &toolguard.Options{Journal: journal})
		if err != nil {
			log.Fatal(err)
		}
		ctx := toolguard.WithScope(context.Background(), toolguard.Scope{Run: "run-7", Step: "3"})
		answer := guard.Do(ctx, toolguard.Call{Args: json.RawMessage(`{"Order":"A-17"}`)})
		fmt.Println(answer.OK, refunds)
		if err := journal.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// true 1
	// true 1
}
