package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/toolguard-go/toolguard"
)

const (
	shownKey  = 12
	shownArgs = 60
)

// askedFor are the lines that people are asked about, by the keys of what awaits an
// approval, where the audit has them.
func askedFor(ctx context.Context, j toolguard.Journal, entries []toolguard.Entry) (map[string]string, error) {
	lines := make(map[string]string)
	for _, e := range entries {
		if e.State != toolguard.StateAwaiting {
			continue
		}
		records, err := j.Records(ctx, toolguard.RecordQuery{Key: e.Key})
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if r.To == toolguard.StateAwaiting && r.Actor == toolguard.ActorGuard && r.Why != "" {
				lines[e.Key] = r.Why
			}
		}
	}
	return lines, nil
}

// printTable prints entries for people, with what they are asked about in the place
// of the arguments. What comes from elsewhere is shown without
// what a terminal could obey.
func printTable(w io.Writer, entries []toolguard.Entry, lines map[string]string) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "none")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tSTATE\tSINCE\tTOOL\tSESSION\tARGUMENTS")
	for _, e := range entries {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", plain(e.Key, shownKey), stateOf(&e), since(&e), plain(e.Tool, 40), plain(e.Scope.Session, 24), plain(cmp.Or(lines[e.Key], string(e.Args)), shownArgs))
	}
	return t.Flush()
}

func stateOf(e *toolguard.Entry) string {
	if e.State == toolguard.StatePending && leaseOver(e) {
		return "pending, lease over"
	}
	return e.State.String()
}

func since(e *toolguard.Entry) string {
	return e.Read.Sub(e.Updated).Round(time.Second).String()
}

// plain is text that only shows: on one line, bounded, without control characters.
func plain(text string, limit int) string {
	short := text[:min(len(text), limit)]
	out := strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(short, ""))
	if len(short) < len(text) {
		out += "…"
	}
	return out
}
