package main

import (
	"context"
	"flag"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
)

// reportCommand reads its own flags, as the package it is from documents them.
func reportCommand(ctx context.Context, _ *flag.FlagSet, args []string, c *console) error {
	return exited{report.Run(ctx, args, c.out, c.err, readJournal)}
}

func traceCommand(ctx context.Context, _ *flag.FlagSet, args []string, c *console) error {
	return exited{report.RunTrace(ctx, args, c.out, c.err, readJournal)}
}

// readJournal is openJournal as package report has it.
func readJournal(ctx context.Context, name string) (toolguard.Journal, error) {
	return openJournal(ctx, name)
}
