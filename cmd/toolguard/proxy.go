package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"time"

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
	journal    string
	session    string
	events     string
	successes  float64

	url         string
	headers     headers
	listen      string
	tokenFile   string
	origins     list
	maxSessions int
	idle        time.Duration
}

// defaultSuccesses is the share of plain successes that are kept one by one.
const defaultSuccesses = 0.01

// defaultMaxMessage bounds a message, in bytes.
const defaultMaxMessage = 64 << 20

func (f *proxyFlags) declare(flags *flag.FlagSet) {
	flags.StringVar(&f.config, "config", "", "read policies and declarations of tools from this `file`")
	flags.TextVar(&f.level, "log-level", slog.LevelWarn, "log to stderr from this `level` on: debug, info, warn or error")
	flags.BoolVar(&f.trustHints, "trust-hints", false, "let the server's annotations make tools repeatable")
	flags.StringVar(&f.journal, "journal", "", "remember calls with effects in this SQLite `file`, so that none is repeated after a restart")
	flags.StringVar(&f.events, "events", "", "keep events in this `store`, a SQLite file or postgres://…, for the commands report and trace: counts of all calls, and one by one those that had more to tell than a plain success")
	flags.Float64Var(&f.successes, "event-successes", defaultSuccesses, "with -events, keep this `share` of plain successes one by one too, 0 to 1")
	flags.StringVar(&f.session, "session", "", "the `name` of the conversation calls belong to; if not given, the connection, or with -journal the server")
	flags.StringVar(&f.url, "url", "", "the server is at this `address`, over streamable HTTP, in place of a command")
	flags.Var(&f.headers, "header", "send this `header` to the server, as \"Name: value\"; $NAME or ${NAME} in it is taken from the environment; may be given again")
	flags.StringVar(&f.listen, "listen", "", "serve streamable HTTP at this `host:port`, in place of stdio; port 0 is any that is free")
	flags.StringVar(&f.tokenFile, "token-file", "", "clients have to show the bearer token in this `file`")
	flags.Var(&f.origins, "allow-origin", "web pages of this `origin` may connect, beside those of this machine; may be given again")
	flags.IntVar(&f.maxSessions, "max-sessions", 64, "how many sessions there may be at a time, each with a server of its own")
	flags.DurationVar(&f.idle, "idle", time.Hour, "end sessions that were silent for this `long`")
	flags.IntVar(&f.maxMessage, "max-message", defaultMaxMessage, "refuse messages of more than this many `bytes`")
}

func proxyCommand(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f proxyFlags
	f.declare(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := f.check(flags.Args()); err != nil {
		return err
	}
	door, err := f.open()
	if err != nil {
		return err
	}
	defer door.close()
	memory, err := f.remember(ctx)
	if err != nil {
		return err
	}
	defer memory.close()
	o, err := f.options(ctx, flags.Args(), memory, c)
	if err != nil {
		return err
	}
	memory.tend(ctx)
	if door != nil {
		return f.serve(ctx, o, door, c)
	}
	return o.Stdio(ctx, c.in, c.out)
}

// options makes all that is needed to serve, so that whatever is wrong is said
// before.
func (f *proxyFlags) options(ctx context.Context, server []string, memory *memory, c *console) (*proxy.Options, error) {
	cfg, err := f.load()
	if err != nil {
		return nil, err
	}
	upstream, err := f.upstream(cfg)
	if err != nil {
		return nil, usageError{err}
	}
	if len(server) > 0 {
		if _, err := exec.LookPath(server[0]); err != nil {
			return nil, fmt.Errorf("the server does not start: %w", err)
		}
	}
	log := slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: f.level}))
	guards, err := f.guards(cfg, memory, log)
	if err != nil {
		return nil, usageError{err}
	}
	o := &proxy.Options{
		Command: server, Upstream: upstream, Stderr: c.err, Guards: guards, Session: f.conversation(server), MaxMessage: f.maxMessage, Log: log,
	}
	if memory.journal != nil {
		o.Journal = memory.journal
	}
	if !cfg.Names() {
		return o, nil
	}
	if err := o.Probe(ctx); err != nil {
		return nil, err
	}
	if err := cfg.Check(guards); err != nil {
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

// conversation names the one that calls of a client without a session belong to.
// With a journal it outlives the process: the next one must know what this one
// left unknown.
func (f *proxyFlags) conversation(server []string) string {
	switch {
	case f.session != "":
		return f.session
	case f.journal != "":
		sum := sha256.Sum256([]byte(strings.Join(append(server, f.url), "\x00")))
		return "server " + hex.EncodeToString(sum[:8])
	default:
		return "connection " + rand.Text()
	}
}

func (f *proxyFlags) guards(cfg *config.Config, memory *memory, log *slog.Logger) (*mcpguard.Guards, error) {
	o := cfg.Options()
	o.TrustHints = o.TrustHints || f.trustHints
	o.Logger = log
	o.Options = toolguard.Options{Observer: toolguard.LogObserver(log)}
	if memory.events != nil {
		o.Options.Observer = toolguard.Observers(o.Options.Observer, memory.events)
	}
	if err := memory.use(&o.Options, cfg); err != nil {
		return nil, err
	}
	g, err := mcpguard.New(&o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.config, err)
	}
	return g, nil
}
