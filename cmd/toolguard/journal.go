package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
)

// journalCommands are those below journal.
func journalCommands() []command {
	return []command{
		{"journal list", "-journal <store> [flags]", "List what waits for a decision, or other calls.", journalList},
		{"journal show", "-journal <store> [flags] <key>", "Show a call and all that is recorded of it.", journalShow},
		{"journal decide", "-journal <store> -by <name> [flags] <approve|deny|retry|succeeded|failed|abort> <key>", "Decide about a call. The first decision counts.", journalDecide},
		{"journal export", "-journal <store> [flags]", "Print calls, or the audit, as lines of JSON.", journalExport},
		{"journal prune", "-journal <store> [flags]", "Delete calls that are over and old, with their records.", journalPrune},
	}
}

func journalCommand(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	if len(args) > 0 {
		for _, cmd := range journalCommands() {
			if cmd.name == "journal "+args[0] {
				return exited{cmd.do(ctx, args[1:], c)}
			}
		}
		if !strings.HasPrefix(args[0], "-") {
			return usagef("there is no command %q", args[0])
		}
	}
	if err := parse(flags, args); err != nil {
		return err
	}
	return usagef("want list, show, decide, export or prune")
}

// exited is the exit code of a command below this one, which has said it all.
type exited struct{ code int }

func (e exited) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// journalFlags are those that the commands on a journal share.
type journalFlags struct {
	path string
	json bool
}

func (f *journalFlags) declare(flags *flag.FlagSet) {
	flags.StringVar(&f.path, "journal", "", storeUsage)
	flags.BoolVar(&f.json, "json", false, "print JSON")
}

// on reads the flags and does something with the journal.
func (f *journalFlags) on(ctx context.Context, flags *flag.FlagSet, args []string, want int, do func(j toolguard.Journal) error) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	if i := slices.IndexFunc(flags.Args(), func(arg string) bool { return strings.HasPrefix(arg, "-") }); i >= 0 {
		return usagef("%s stands behind an argument: flags go first", flags.Arg(i))
	}
	if flags.NArg() != want {
		return usagef("%d arguments, want %d", flags.NArg(), want)
	}
	if f.path == "" {
		return usagef("want -journal")
	}
	j, err := openJournal(ctx, f.path)
	if err != nil {
		return err
	}
	return errors.Join(do(j), j.Close())
}

// states is a flag: a list of states.
type states []toolguard.State

// String implements [flag.Value].
func (s *states) String() string { return strings.Trim(fmt.Sprint([]toolguard.State(*s)), "[]") }

// Set implements [flag.Value].
func (s *states) Set(text string) error {
	*s = nil
	for name := range strings.SplitSeq(text, ",") {
		var state toolguard.State
		if err := state.UnmarshalText([]byte(strings.TrimSpace(name))); err != nil || state == toolguard.StateNone {
			return fmt.Errorf("%q is no state", name)
		}
		*s = append(*s, state)
	}
	return nil
}

// undecided are the states a person can do something about.
var undecided = states{toolguard.StateAwaiting, toolguard.StateUnknown, toolguard.StateParked}

// open lists what somebody can do something about: what is undecided, and what is
// pending although its lease is over, because its process is gone.
func open(ctx context.Context, j toolguard.Journal, q toolguard.Query) (found []toolguard.Entry, err error) {
	want := q.Limit
	q.States = append(slices.Clone(undecided), toolguard.StatePending)
	for q.Limit = page; ; q.Skip += page {
		entries, err := j.Scan(ctx, q)
		if err != nil || len(entries) == 0 {
			return found, err
		}
		for _, e := range entries {
			if e.State == toolguard.StatePending && !leaseOver(&e) {
				continue
			}
			if found = append(found, e); len(found) == want {
				return found, nil
			}
		}
	}
}

func journalList(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f journalFlags
	f.declare(flags)
	q := toolguard.Query{}
	wanted, all := undecided, false
	flags.Var(&wanted, "state", "only calls in these `states`, separated by commas; if not given, also pending ones whose lease is over")
	flags.BoolVar(&all, "all", false, "calls in any state")
	flags.StringVar(&q.Tool, "tool", "", "only calls of this `tool`")
	flags.StringVar(&q.Session, "session", "", "only calls of this `conversation`")
	flags.IntVar(&q.Limit, "limit", 100, "at most this many `calls`, the newest first")
	return f.on(ctx, flags, args, 0, func(j toolguard.Journal) error {
		if q.Limit < 1 {
			return usagef("-limit %d, want 1 or more", q.Limit)
		}
		given := false
		flags.Visit(func(f *flag.Flag) { given = given || f.Name == "state" })
		list := j.Scan
		switch {
		case all:
		case given:
			q.States = wanted
		default:
			list = func(ctx context.Context, q toolguard.Query) ([]toolguard.Entry, error) { return open(ctx, j, q) }
		}
		entries, err := list(ctx, q)
		if err != nil {
			return err
		}
		if f.json {
			return json.NewEncoder(c.out).Encode(append([]toolguard.Entry{}, entries...))
		}
		lines, err := askedFor(ctx, j, entries)
		if err != nil {
			return err
		}
		return printTable(c.out, entries, lines)
	})
}

func journalShow(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f journalFlags
	f.declare(flags)
	return f.on(ctx, flags, args, 1, func(j toolguard.Journal) error {
		e, err := find(ctx, j, flags.Arg(0))
		if err != nil {
			return err
		}
		records, err := j.Records(ctx, toolguard.RecordQuery{Key: e.Key})
		if err != nil {
			return err
		}
		if f.json {
			return json.NewEncoder(c.out).Encode(struct {
				Entry   toolguard.Entry    `json:"entry"`
				Records []toolguard.Record `json:"records"`
			}{e, records})
		}
		return printEntry(c.out, &e, records)
	})
}

// page is how many entries or records are read at a time.
const page = 500

func journalExport(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f journalFlags
	flags.StringVar(&f.path, "journal", "", storeUsage)
	audit := flags.Bool("audit", false, "print the audit: one line for each record")
	return f.on(ctx, flags, args, 0, func(j toolguard.Journal) error {
		out := json.NewEncoder(c.out)
		if *audit {
			return exportRecords(ctx, j, out)
		}
		return each(ctx, j, func(e toolguard.Entry) error { return out.Encode(e) })
	})
}

func exportRecords(ctx context.Context, j toolguard.Journal, out *json.Encoder) error {
	q := toolguard.RecordQuery{Limit: page}
	for {
		records, err := j.Records(ctx, q)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			if err := out.Encode(r); err != nil {
				return err
			}
			q.After = r.Seq
		}
	}
}

// each goes through all entries, the newest first.
func each(ctx context.Context, j toolguard.Journal, do func(toolguard.Entry) error) error {
	for q := (toolguard.Query{Limit: page}); ; q.Skip += page {
		entries, err := j.Scan(ctx, q)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if err := do(e); err != nil {
				return err
			}
		}
	}
}

func journalPrune(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f journalFlags
	f.declare(flags)
	age := flags.Duration("older", 30*24*time.Hour, "those that have not changed for this `long`")
	return f.on(ctx, flags, args, 0, func(j toolguard.Journal) error {
		if *age < 0 {
			return usagef("-older %v, want 0 or more", *age)
		}
		n, err := j.Prune(ctx, *age)
		if err != nil {
			return err
		}
		if f.json {
			return json.NewEncoder(c.out).Encode(map[string]int{"deleted": n})
		}
		_, err = fmt.Fprintf(c.out, "deleted %d\n", n)
		return err
	})
}

// leastPrefix is how much of a key or a call ID has to be given, in bytes.
const leastPrefix = 4

// find returns the entry with a key, or the only one with a call ID, or the only
// one whose key or call ID begins so. Tables cut keys, and mark it.
func find(ctx context.Context, j toolguard.Journal, name string) (toolguard.Entry, error) {
	if name == "" {
		return toolguard.Entry{}, fmt.Errorf("%w: the key is empty", toolguard.ErrNoEntry)
	}
	if found, err := j.Scan(ctx, toolguard.Query{Key: name, Limit: 1}); err != nil || len(found) == 1 {
		return append(found, toolguard.Entry{})[0], err
	}
	short := strings.TrimSuffix(name, "…")
	var exact, begin []toolguard.Entry
	err := each(ctx, j, func(e toolguard.Entry) error {
		switch {
		case e.CallID == name:
			exact = append(exact, e)
		case len(short) >= leastPrefix && (strings.HasPrefix(e.Key, short) || strings.HasPrefix(e.CallID, short)):
			begin = append(begin, e)
		}
		return nil
	})
	switch {
	case err != nil:
		return toolguard.Entry{}, err
	case len(exact) > 1:
		return toolguard.Entry{}, fmt.Errorf("%d calls have the call ID %q: want a key", len(exact), name)
	case len(exact) == 1:
		return exact[0], nil
	case len(begin) > 1:
		return toolguard.Entry{}, fmt.Errorf("the keys or call IDs of %d calls begin with %q: want more of it", len(begin), short)
	case len(begin) == 1:
		return begin[0], nil
	}
	return toolguard.Entry{}, fmt.Errorf("%w: %q", toolguard.ErrNoEntry, name)
}
