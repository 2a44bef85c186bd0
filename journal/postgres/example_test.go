package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

// All processes that serve a database share what they know: whichever of them comes
// to a step of a run finds what another has made of it.
func Example() {
	ctx := context.Background()
	// snippet: once_postgres
	journal, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), &postgres.Options{Schema: "agents"})
	// end snippet
	if err != nil {
		log.Fatal(err)
	}
	defer journal.Close()
	refund := toolguard.Func(
		toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent, Durability: toolguard.DurabilityDisk},
		func(_ context.Context, in struct{ Order string }) (string, error) { return "refunded " + in.Order, nil })
	guard, err := toolguard.New(refund, &toolguard.Options{Journal: journal})
	if err != nil {
		log.Fatal(err)
	}
	ctx = toolguard.WithScope(ctx, toolguard.Scope{Run: "run-7", Step: "3"})
	answer := guard.Do(ctx, toolguard.Call{Args: []byte(`{"Order":"A-17"}`)})
	fmt.Println(answer.ForModel())
}
