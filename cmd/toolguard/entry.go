package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard"
)

// printEntry prints all of an entry, for people.
func printEntry(w io.Writer, e *toolguard.Entry, records []toolguard.Record) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, plain(value, 1<<16))
		}
	}
	row("key", e.Key)
	row("call", e.CallID)
	row("state", fmt.Sprintf("%s, since %s", stateOf(e), since(e)))
	row("tool", e.Tool)
	row("source", e.Source)
	row("effect", e.Effect.String())
	row("tenant", e.Scope.Tenant)
	row("principal", e.Scope.Principal)
	row("session", e.Scope.Session)
	row("attempts", attemptsOf(e, records))
	row("code", string(e.Code))
	row("arguments", string(e.Args))
	for _, line := range resultOf(e) {
		row("result", line)
	}
	row("decided by", decidedBy(e, records))
	row("linked", e.Linked)
	fmt.Fprintln(t)
	for i := range records {
		r := &records[i]
		cells := []string{r.At.Format(time.RFC3339), happened(r), plain(r.Actor, 64), plain(r.Why, 200)}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	return t.Flush()
}

// decidedBy says who said yes or no, and where no person was waited for.
func decidedBy(e *toolguard.Entry, records []toolguard.Record) string {
	if e.Approval == nil || e.Approval.By == "" {
		return ""
	}
	by := e.Approval.By
	if e.State == toolguard.StateDenied {
		for i := range records { // an approval may have been taken back
			if r := &records[i]; r.To == toolguard.StateDenied && r.Actor != toolguard.ActorGuard {
				by = r.Actor
			}
		}
	}
	if at := slices.IndexFunc(records, func(r toolguard.Record) bool { return r.Kind == toolguard.RecordApproval && r.Actor == by }); at >= 0 {
		by += ", " + happened(&records[at])
	}
	if e.Approval.Edited {
		by += ", with the arguments above in place of those that were asked for"
	}
	return by
}

// attemptsOf says how often the tool ran. Attempts are counted when a call ends:
// of one that has not, or whose process is gone, nobody has counted.
func attemptsOf(e *toolguard.Entry, records []toolguard.Record) string {
	doubted := func(s toolguard.State) bool { return s == toolguard.StateUnknown || s == toolguard.StateParked }
	counted, uncounted := e.Attempts, e.State == toolguard.StatePending || doubted(e.State)
	for i := range records {
		if r := &records[i]; r.Kind == toolguard.RecordAttempt {
			counted = max(counted, r.Attempt)
		}
		uncounted = uncounted || doubted(records[i].To)
	}
	if counted == 0 && uncounted {
		return "none ended; one may have run"
	}
	return fmt.Sprint(counted)
}

// happened says what a record is about.
func happened(r *toolguard.Record) string {
	switch r.Kind {
	case toolguard.RecordState:
		switch {
		case r.From == r.To:
			return "still " + r.To.String()
		case r.From == toolguard.StateNone:
			return r.To.String()
		}
		return fmt.Sprintf("%v → %v", r.From, r.To)
	case toolguard.RecordAttempt:
		return came(fmt.Sprintf("attempt %d", r.Attempt), r)
	case toolguard.RecordLate:
		return came("a late answer", r)
	case toolguard.RecordCheck:
		return came("the service was asked", r)
	case toolguard.RecordApproval:
		if r.Code == toolguard.CodeApprovalDenied {
			return "denied at once"
		}
		return "approved at once"
	case toolguard.RecordStandIn:
		if r.Duration == 0 {
			return "another tool begins in its place"
		}
		return came("another tool", r)
	default:
		return came(r.Kind.String(), r)
	}
}

// came adds what something came to.
func came(what string, r *toolguard.Record) string {
	what += ": " + r.Outcome.String()
	if r.Code != "" {
		what += fmt.Sprintf(", %s", plain(string(r.Code), 64))
	}
	if r.Duration > 0 {
		what += fmt.Sprintf(", after %v", r.Duration.Round(time.Microsecond))
	}
	return what
}

// resultOf says what an entry's result is: what the model read, and the parts
// beside it. A part that is text is shown, of any other how large it is.
func resultOf(e *toolguard.Entry) (lines []string) {
	var r struct {
		Text  string          `json:"text"`
		JSON  json.RawMessage `json:"json"`
		Parts []struct {
			MediaType string `json:"media_type"`
			Data      []byte `json:"data"`
		} `json:"parts"`
	}
	switch {
	case len(e.Result) == 0:
		return nil
	case json.Unmarshal(e.Result, &r) != nil: // it is sealed, or of a later version
		return []string{string(e.Result)}
	}
	for _, text := range []string{r.Text, string(r.JSON)} {
		if text != "" {
			lines = append(lines, text)
		}
	}
	for _, p := range r.Parts {
		switch {
		case len(p.Data) == 0: // what only the host understands is not stored
		case readable(p.Data):
			lines = append(lines, strings.TrimSpace(p.MediaType+" "+string(p.Data)))
		default:
			lines = append(lines, fmt.Sprintf("%d bytes of %q", len(p.Data), p.MediaType))
		}
	}
	if lines == nil {
		lines = []string{"nothing was returned"}
	}
	return lines
}

// maxReadable is how large a part is shown that is text: an image in JSON is not.
const maxReadable = 4 << 10

func readable(data []byte) bool { return len(data) <= maxReadable && utf8.Valid(data) }
