package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
)

// OpenJournal opens a journal for reading by the name of its store. It is what
// cmd/toolguard has and this package has not: the journals are modules of their own.
// A journal that is an [io.Closer] is closed after use.
type OpenJournal func(ctx context.Context, name string) (toolguard.Journal, error)

// What the commands return, as processes do.
const (
	exitFound = 0
	exitError = 1
	exitUsage = 2
)

const reportUsage = `usage: toolguard report -store STORE [-period 24h] [-to TIME] [-tool NAME] [-journal STORE] [-json] [-html FILE]

STORE is a SQLite file, or postgres://…
`

// Run is the command toolguard report. The journal may be nil. It returns the
// status to exit with: 2 for a wrong use, 1 for what cannot be read.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, journal OpenJournal) int {
	c := newCommand("report", reportUsage, stderr, journal)
	period := c.flags.Duration("period", 24*time.Hour, "how long the period is")
	to := c.flags.String("to", "", "when it ends, as 2006-01-02T15:04:05Z; if empty, now")
	tool := c.flags.String("tool", "", "the only tool")
	asJSON := c.flags.Bool("json", false, "JSON in place of tables")
	html := c.flags.String("html", "", "write a page to this file")
	if status, done := c.parse(args, 0, stdout); done {
		return status
	}
	end := time.Now()
	if *to != "" {
		t, err := time.Parse(time.RFC3339, *to)
		if err != nil {
			return c.fail(exitUsage, fmt.Errorf("-to %q is not a time such as 2006-01-02T15:04:05Z", *to))
		}
		end = t
	}
	if *period <= 0 || *period > 10*365*24*time.Hour {
		return c.fail(exitUsage, fmt.Errorf("-period %v is not between 0 and ten years", *period))
	}
	return c.with(ctx, func(s eventstore.Store, j toolguard.Journal) error {
		r, err := Build(ctx, s, Options{From: end.Add(-*period), To: end, Tool: *tool, Journal: j})
		if err != nil {
			return err
		}
		if *html != "" {
			if err := writeFile(*html, r.WriteHTML); err != nil {
				return err
			}
		}
		if *asJSON {
			return writeJSON(stdout, r)
		}
		return r.WriteText(stdout)
	})
}

const traceUsage = `usage: toolguard trace -store STORE [-journal STORE] [-json] CALL_OR_KEY

CALL_OR_KEY is a call ID, a key, the incident of an answer, a digest, or RUN/STEP.
Of a call ID or a key the beginning will do, four characters at least, if no other
begins so.
`

// RunTrace is the command toolguard trace, like [Run].
func RunTrace(ctx context.Context, args []string, stdout, stderr io.Writer, journal OpenJournal) int {
	c := newCommand("trace", traceUsage, stderr, journal)
	asJSON := c.flags.Bool("json", false, "JSON in place of text")
	if status, done := c.parse(args, 1, stdout); done {
		return status
	}
	return c.with(ctx, func(s eventstore.Store, j toolguard.Journal) error {
		traces, err := Find(ctx, s, j, c.flags.Arg(0))
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(stdout, traces)
		}
		for i := range traces {
			if i > 0 {
				fmt.Fprintln(stdout)
			}
			if err := traces[i].WriteText(stdout); err != nil {
				return err
			}
		}
		return nil
	})
}

// command is what both have in common.
type command struct {
	flags          *flag.FlagSet
	usage          string
	store, journal *string
	stderr         io.Writer
	open           OpenJournal
}

func newCommand(name, usage string, stderr io.Writer, open OpenJournal) *command {
	c := &command{flags: flag.NewFlagSet(name, flag.ContinueOnError), usage: usage, stderr: stderr, open: open}
	c.flags.SetOutput(io.Discard) // what is to be said depends on the error
	c.flags.Usage = func() {}
	c.store = c.flags.String("store", "", "the store of events")
	c.journal = c.flags.String("journal", "", "the journal's store; if empty, none is asked")
	return c
}

// parse allows flags behind the arguments too: people write them there. It reports
// whether that was all.
func (c *command) parse(args []string, want int, stdout io.Writer) (status int, done bool) {
	err := c.flags.Parse(args)
	if err == nil && c.flags.NArg() > want {
		rest := c.flags.Args()
		err = c.flags.Parse(append(append([]string{}, rest[want:]...), rest[:want]...))
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.help(stdout)
		return exitFound, true
	case err == nil && *c.store == "":
		err = errors.New("-store is missing")
	case err == nil && c.flags.NArg() != want:
		err = fmt.Errorf("%d arguments, want %d", c.flags.NArg(), want)
	}
	if err == nil {
		return exitFound, false
	}
	c.fail(exitUsage, err)
	c.help(c.stderr)
	return exitUsage, true
}

func (c *command) help(to io.Writer) {
	fmt.Fprint(to, c.usage)
	c.flags.SetOutput(to)
	c.flags.PrintDefaults()
	c.flags.SetOutput(io.Discard)
}

func (c *command) fail(status int, err error) int {
	fmt.Fprintf(c.stderr, "toolguard %s: %v\n", c.flags.Name(), err)
	return status
}

func (c *command) with(ctx context.Context, do func(eventstore.Store, toolguard.Journal) error) int {
	s, err := dial.Read(ctx, *c.store)
	if err != nil {
		return c.fail(exitError, err)
	}
	defer s.Close()
	var j toolguard.Journal
	if *c.journal != "" {
		if c.open == nil {
			return c.fail(exitUsage, errors.New("-journal: this program knows no journals"))
		}
		if j, err = c.open(ctx, *c.journal); err != nil {
			return c.fail(exitError, err)
		}
		if closer, ok := j.(io.Closer); ok {
			defer closer.Close()
		}
	}
	if err := do(s, j); err != nil {
		return c.fail(exitError, err)
	}
	return exitFound
}

// writeJSON escapes what a terminal could take for something else; all of that is
// inside of strings.
func writeJSON(to io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	var out strings.Builder
	for _, c := range b.String() {
		switch {
		case c == '\n' || unicode.IsPrint(c):
			out.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	_, err := io.WriteString(to, out.String())
	return err
}

// writeFile leaves the old file in place unless the new one is whole.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".report-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // is gone after the renaming
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
