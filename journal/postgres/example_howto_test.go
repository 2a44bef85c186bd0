package postgres_test

import (
	"context"
	"os"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

// The code of docs/side-effects.md for several machines.
func Example_severalMachines() {
	open := func(ctx context.Context) (toolguard.Journal, error) {
		// snippet: once_postgres
		journal, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"), &postgres.Options{Schema: "agents"})
		// end snippet
		return journal, err
	}
	_ = open
}
