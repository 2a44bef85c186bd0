// Command observed puts four tools under a minute of mixed load and shows all
// that can be seen of it: a few spans, metrics for Prometheus on
// http://127.0.0.1:9464/metrics, alerts of a Monitor, and in the end the report of
// what a store has kept, with the story of one call that failed. In the second third
// of the time the service behind the tools misbehaves.
//
//	go run ./examples/observed -for 1m -html report.html -store events.db
//
// With -store the events stay, for toolguard report and toolguard trace.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "observed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("observed", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:9464", "where Prometheus finds the metrics")
	length := flags.Duration("for", time.Minute, "how long the load lasts")
	html := flags.String("html", "", "also write the report as a page to this file")
	store := flags.String("store", "", "keep the events in this file; if empty, they are gone in the end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *store == "" {
		dir, err := os.MkdirTemp("", "observed")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		*store = filepath.Join(dir, "events.db")
	}
	s, err := start(ctx, config{listen: *listen, store: *store, spans: stdout, alert: func(a toolguard.Alert) { announce(stdout, a) }})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "metrics on %s, load for %v; a few spans as JSON, and alerts, follow\n", s.url, *length)
	misbehave := func(on bool) *time.Timer {
		after := *length / 3
		if !on {
			after *= 2
		}
		return time.AfterFunc(after, func() { s.service.misbehave(on) })
	}
	defer misbehave(true).Stop()
	defer misbehave(false).Stop()
	loaded, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	s.load(loaded)
	if err := s.stop(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return s.show(ctx, *store, *html, *length+10*time.Second, stdout, stderr)
}

// show ends with the report and a trace, by the commands that toolguard report and
// toolguard trace are.
func (o *observed) show(ctx context.Context, store, html string, period time.Duration, stdout, stderr io.Writer) error {
	journal := func(context.Context, string) (toolguard.Journal, error) { return o.journal, nil }
	args := []string{"-store", store, "-period", period.String(), "-journal", "in memory"}
	if html != "" {
		args = append(args, "-html", html)
	}
	fmt.Fprintln(stdout)
	if report.Run(ctx, args, stdout, stderr, journal) != 0 {
		return errors.New("no report")
	}
	name, err := failure(ctx, store, period)
	if err != nil || name == "" {
		return err
	}
	fmt.Fprintf(stdout, "\nWhat happened in %s, as toolguard trace tells it:\n\n", name)
	if report.RunTrace(ctx, []string{"-store", store, "-journal", "in memory", name}, stdout, stderr, journal) != 0 {
		return errors.New("no trace")
	}
	return nil
}

// failure returns a failed call of the tool that failed most, "" if none did.
func failure(ctx context.Context, store string, period time.Duration) (string, error) {
	s, err := dial.Read(ctx, store)
	if err != nil {
		return "", err
	}
	defer s.Close()
	r, err := report.Build(ctx, s, report.Options{From: time.Now().Add(-period), To: time.Now()})
	if err != nil || len(r.Tools) == 0 || len(r.Tools[0].Newest) == 0 {
		return "", err
	}
	return r.Tools[0].Newest[0].Name, nil
}

func announce(to io.Writer, a toolguard.Alert) {
	state := "ends"
	if a.Firing {
		state = "begins"
	}
	fmt.Fprintf(to, "alert %s: %s fails in %.0f%% of %d calls\n", state, a.Health.Tool, 100*a.Health.Rate, a.Health.Calls)
}
