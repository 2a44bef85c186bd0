package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
)

func journalDecide(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error {
	var f journalFlags
	f.declare(flags)
	var r toolguard.Ruling
	var edited, result string
	flags.StringVar(&r.By, "by", "", "who decides: a `name`")
	flags.StringVar(&r.Why, "why", "", "the `reason`; it is recorded")
	flags.StringVar(&edited, "args", "", "run with the arguments in this `file` instead; - is standard input; with approve and retry")
	flags.StringVar(&result, "result", "", "the `text` that the model gets as the result; with succeeded")
	return f.on(ctx, flags, args, 2, func(j toolguard.Journal) error {
		var err error
		if r.Verdict, err = verdictOf(flags.Arg(0), flags.Arg(1)); err != nil {
			return err
		}
		if r.By == "" {
			return usagef("want -by: who decides?")
		}
		if edited != "" && r.Verdict != toolguard.RulingApprove && r.Verdict != toolguard.RulingRetry {
			return usagef("-args goes with approve and retry")
		}
		if result != "" && r.Verdict != toolguard.RulingSucceeded {
			return usagef("-result goes with succeeded")
		}
		if edited != "" {
			text, err := c.read(edited)
			if err != nil {
				return usageError{err}
			}
			r.Args = text
		}
		r.Result = toolguard.Result{Text: result}
		e, err := find(ctx, j, flags.Arg(1))
		if err != nil {
			return err
		}
		if err := decidable(&e, r.Verdict); err != nil {
			return err
		}
		r.Key, r.Token = e.Key, e.Token
		if e, err = toolguard.Decide(ctx, j, r); err != nil {
			return err
		}
		if f.json {
			return json.NewEncoder(c.out).Encode(e)
		}
		_, err = fmt.Fprintf(c.out, "%s is %v\n", e.Key, e.State)
		return err
	})
}

// verdictsOn are the words for what can be decided about the states that wait.
var verdictsOn = map[toolguard.State][]toolguard.RulingVerdict{
	toolguard.StateAwaiting: {toolguard.RulingApprove, toolguard.RulingDeny},
	toolguard.StateUnknown:  settling,
	toolguard.StateParked:   settling,
}

var settling = []toolguard.RulingVerdict{toolguard.RulingRetry, toolguard.RulingSucceeded, toolguard.RulingFailed, toolguard.RulingAbort}

// verdictOf reads the first argument; people give the key first, too.
func verdictOf(word, key string) (v toolguard.RulingVerdict, err error) {
	all := slices.Concat(verdictsOn[toolguard.StateAwaiting], settling)
	if at := indexOf(all, word); at >= 0 {
		return all[at], nil
	}
	if indexOf(all, key) >= 0 {
		return v, usagef("the decision comes first, and then the key: want %s %s", key, plain(word, shownKey))
	}
	return v, usagef("%q is no decision: want one of %s", word, words(all))
}

func indexOf(all []toolguard.RulingVerdict, word string) int {
	return slices.IndexFunc(all, func(v toolguard.RulingVerdict) bool { return v.String() == word })
}

// words are the names of verdicts in a sentence.
func words(all []toolguard.RulingVerdict) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
}

// decidable says why the entry is in no state for a verdict, where that is not that
// somebody was faster.
func decidable(e *toolguard.Entry, v toolguard.RulingVerdict) error {
	key := plain(e.Key, shownKey)
	switch wanted := verdictsOn[e.State]; {
	case e.State == toolguard.StatePending && leaseOver(e):
		return fmt.Errorf("%s is pending and its lease is over: run the recoverer, or wait for it; what it leaves unknown can be decided about", key)
	case e.State == toolguard.StatePending:
		return fmt.Errorf("%s is pending and still leased until %s: it may be running", key, e.Updated.Add(e.Due).Format(time.RFC3339))
	case wanted != nil && !slices.Contains(wanted, v):
		return fmt.Errorf("%s is %v, about which %v says nothing: want one of %s", key, e.State, v, words(wanted))
	}
	return nil
}

// leaseOver says that the process that claimed the entry should have been heard of.
func leaseOver(e *toolguard.Entry) bool { return e.Due > 0 && e.Read.Sub(e.Updated) >= e.Due }
