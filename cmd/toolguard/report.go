package main

import (
	"context"
	"flag"
	"os"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/postgres"
	"github.com/toolguard-go/toolguard/journal/sqlite"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
)

// reportCommand reads its own flags, as the package it is from documents them.
func reportCommand(ctx context.Context, _ *flag.FlagSet, args []string, c *console) error {
	return exited{report.Run(ctx, args, c.out, c.err, openJournal)}
}

func traceCommand(ctx context.Context, _ *flag.FlagSet, args []string, c *console) error {
	return exited{report.RunTrace(ctx, args, c.out, c.err, openJournal)}
}

// openJournal opens a journal that is there already, by the name of its store.
func openJournal(ctx context.Context, name string) (toolguard.Journal, error) {
	if strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
		return postgres.Open(ctx, name, nil)
	}
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	return sqlite.Open(name, nil)
}
