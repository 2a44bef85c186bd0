package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/config"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/proxy"
)

// proxyFlags are those of the command proxy.
type proxyFlags struct {
	config     string
	level      slog.Level
	trustHints bool
	maxMessage int
}

// defaultMaxMessage bounds a message, in bytes.
const defaultMaxMessage = 64 << 20

func (f *proxyFlags) declare(flags *flag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "read policies and declarations of tools from this `file`")
	flags.TextVar(&f.level, "log-level", slog.LevelWarn, "log to stderr from this `level` on: debug, info, warn or error")
	flags.BoolVar(&f.trustHints, "trust-hints", false, "let the server's annotations make tools repeatable")
	flags.IntVar(&f.maxMessage, "max-message", defaultMaxMessage, "refuse messages of more than this many `bytes`")
}

func proxyCommand(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f proxyFlags
	f.declare(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	o, err := f.options(ctx, flags.Args(), c)
	if err != nil {
		return err
	}
	return o.Stdio(ctx, c.in, c.out)
}

// options makes all that is needed to serve, so that whatever is wrong is said
// before.
func (f *proxyFlags) options(ctx context.Context, server []string, c *console) (*proxy.Options, error) {
	switch {
	case len(server) == 0:
		return nil, usagef("which server? want -- and its command")
	case f.maxMessage < 1<<10:
		return nil, usagef("-max-message %d, want 1024 or more", f.maxMessage)
	}
	cfg, err := f.load()
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: f.level}))
	guards, err := f.guards(cfg, log)
	if err != nil {
		return nil, usageError{err}
	}
	o := &proxy.Options{
		Command: server, Stderr: c.err, Guards: guards, Session: "stdio " + rand.Text(), MaxMessage: f.maxMessage, Log: log,
	}
	if !cfg.Names() {
		return o, nil
	}
	if err := o.Probe(ctx); err != nil {
		return nil, err
	}
	if err := cfg.Check(guards.Tools()); err != nil {
		return nil, usagef("%s: %w", f.config, err)
	}
	return o, nil
}

func (f *proxyFlags) load() (*config.Config, error) {
	if f.config == "" {
		return config.Default(), nil
	}
	cfg, err := config.Load(f.config)
	if err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}

func (f *proxyFlags) guards(cfg *config.Config, log *slog.Logger) (*mcpguard.Guards, error) {
	o := cfg.Options()
	o.TrustHints = o.TrustHints || f.trustHints
	o.Logger = log
	o.Options = toolguard.Options{Observer: toolguard.LogObserver(log)}
	g, err := mcpguard.New(&o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.config, err)
	}
	return g, nil
}
