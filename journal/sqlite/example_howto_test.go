package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// The code of docs/side-effects.md, in its order.

// snippet: once_input
type refundIn struct {
	Order string `json:"order"`
	Cents int    `json:"cents"`
}

// end snippet

// bankService is what a host has: a service that books under a reference.
type bankService map[string]string

func (b bankService) Refund(_ context.Context, reference string, in refundIn) (string, error) {
	b[reference] = fmt.Sprintf("R-%d for %s", len(b)+1, in.Order)
	return b[reference], nil
}

func (b bankService) Find(_ context.Context, reference string) (string, bool, error) {
	booked, ok := b[reference]
	return booked, ok, nil
}

func refundTool(bank bankService) toolguard.Tool {
	// snippet: once_tool
	refund := toolguard.Func(toolguard.Info{
		Name:       "refund",
		Effect:     toolguard.NonIdempotent,
		Risk:       toolguard.RiskHigh,
		Durability: toolguard.DurabilityDisk, // no guard is made with a journal that would lose it
	}, func(ctx context.Context, in refundIn) (string, error) {
		return bank.Refund(ctx, toolguard.Key(ctx), in) // one key in every attempt, and after a restart
	})
	refund.Describe = func(in refundIn) string { // the line a person reads who has to approve
		return fmt.Sprintf("refund %d.%02d for order %s", in.Cents/100, in.Cents%100, in.Order)
	}
	refund.Status = func(ctx context.Context, key string, in refundIn) (toolguard.Outcome, toolguard.Result, error) {
		booked, ok, err := bank.Find(ctx, key)
		if err != nil || !ok {
			return toolguard.OutcomeUnknown, toolguard.Result{}, err // it may be on its way
		}
		return toolguard.OutcomeSucceeded, toolguard.Result{Text: booked}, nil
	}
	// end snippet
	return refund
}

// snippet: once_limit
// limit approves refunds up to an amount. Of others it tells a person, and waits
// for nobody.
type limit struct {
	cents int
	tell  func(key, line string) // a mail, a message, a row on a page
}

func (l limit) Approve(_ context.Context, r toolguard.ApprovalRequest) (toolguard.Answer, error) {
	var in refundIn
	if err := json.Unmarshal(r.Args, &in); err != nil {
		return toolguard.Answer{}, err // an error is no
	}
	if in.Cents <= l.cents {
		return toolguard.Answer{Verdict: toolguard.ApprovalGranted, By: "the limit"}, nil
	}
	l.tell(r.Key, r.Line)
	return toolguard.Answer{Verdict: toolguard.ApprovalPending}, nil
}

// end snippet

func refundBox(path string, refund toolguard.Tool, tell func(key, line string)) (*toolguard.Toolbox, *sqlite.Journal, error) {
	// snippet: once_box
	journal, err := sqlite.Open(path, nil) // any number of processes may have it open
	if err != nil {
		return nil, nil, err
	}
	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{
		Journal:    journal,
		Journaling: toolguard.JournalPolicy{Checked: true}, // somebody looks after what is unknown: the recoverer, and people
		Approver:   limit{cents: 50_00, tell: tell},
	}}, refund)
	// end snippet
	return box, journal, err
}

// A refund above the limit waits for a person, who decides in another process, and is
// made once. The model that asks again reads what became of it.
func Example_sideEffects() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	bank := bankService{}
	tell := func(_, line string) { fmt.Println("to a person:", line) }
	box, journal, err := refundBox(filepath.Join(dir, "journal.db"), refundTool(bank), tell)
	if err != nil {
		log.Fatal(err)
	}

	// snippet: once_call
	ctx := toolguard.WithScope(context.Background(), toolguard.Scope{
		Tenant: "shop", Principal: "ann", Session: "chat-7", Turn: "3",
	})
	env := box.Do(ctx, toolguard.Call{ID: "call_1", Tool: "refund", Args: []byte(`{"order":"A-17","cents":8000}`)})
	// end snippet
	fmt.Println(env.Error.Code, env.Error.Outcome)
	key := env.Key

	if err := decideAll(context.Background(), journal); err != nil {
		log.Fatal(err)
	}
	// snippet: once_resume
	env = box.Resume(ctx, key)
	// end snippet
	fmt.Println(env.OK, env.Result.Text)

	again := box.Do(ctx, toolguard.Call{ID: "call_2", Tool: "refund", Args: []byte(`{"order":"A-17","cents":8000}`)})
	fmt.Println(again.OK, again.Result.Text, again.Key == key)
	small := box.Do(ctx, toolguard.Call{ID: "call_3", Tool: "refund", Args: []byte(`{"order":"B-2","cents":500}`)})
	fmt.Println(small.OK, small.Result.Text)

	stop, err := recoverOften(ctx, box)
	if err != nil {
		log.Fatal(err)
	}
	if err := shutDown(stop, box, journal); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(bank), "refunds")
	// Output:
	// to a person: refund 80.00 for order A-17
	// approval_pending not_started
	// waiting: refund {"order":"A-17","cents":8000} awaiting_approval
	// true R-1 for A-17
	// true R-1 for A-17 true
	// true R-2 for B-2
	// 2 refunds
}

// snippet: once_decide
func decideAll(ctx context.Context, journal toolguard.Journal) error {
	waiting, err := journal.Scan(ctx, toolguard.Query{
		States: []toolguard.State{toolguard.StateAwaiting, toolguard.StateUnknown, toolguard.StateParked},
	})
	if err != nil {
		return err
	}
	for _, e := range waiting {
		fmt.Println("waiting:", e.Tool, string(e.Args), e.State)
		if e.State != toolguard.StateAwaiting {
			continue // it may have happened: look it up, then Succeeded, Failed, Retry or Abort
		}
		_, err := toolguard.Decide(ctx, journal, toolguard.Ruling{
			Key: e.Key, Token: e.Token, Verdict: toolguard.RulingApprove, By: "bob", Why: "the parcel came back",
		})
		if err != nil { // toolguard.ErrDecided: somebody was faster
			return err
		}
	}
	return nil
}

// end snippet

func recoverOften(ctx context.Context, box *toolguard.Toolbox) (stop func(), err error) {
	// snippet: once_recover
	recoverer, err := box.Recoverer(&toolguard.RecoverPolicy{
		Decided: func(e toolguard.Entry) { log.Println(e.Tool, e.Key, "is", e.State) },
	})
	if err != nil {
		return nil, err
	}
	ctx, stop = context.WithCancel(ctx)
	go recoverer.Run(ctx) // at once, then every 10 s
	// end snippet
	return stop, nil
}

// snippet: once_stop
func shutDown(stop func(), box *toolguard.Toolbox, journal *sqlite.Journal) error {
	stop() // the recoverer
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(box.Shutdown(ctx), journal.Close()) // what runs may still write: the journal goes last
}

// end snippet
