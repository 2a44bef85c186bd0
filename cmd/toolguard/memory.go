package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/config"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/proxy"
	"github.com/toolguard-go/toolguard/journal/sqlite"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
)

// memory is what outlives a proxy: its journal and its events, if it has them.
type memory struct {
	journal *sqlite.Journal
	store   *eventstore.DB
	events  *eventstore.Recorder
	stop    context.CancelFunc
	tending sync.WaitGroup
}

// remember opens the journal and the store of events.
func (f *proxyFlags) remember(ctx context.Context) (*memory, error) {
	var m memory
	if err := errors.Join(m.openJournal(f.journal), m.openEvents(ctx, f.events, f.successes)); err != nil {
		m.close()
		return nil, err
	}
	return &m, nil
}

func (m *memory) openJournal(path string) (err error) {
	if path == "" {
		return nil
	}
	if m.journal, err = sqlite.Open(path, nil); err != nil {
		m.journal = nil
		return fmt.Errorf("-journal %s: %w", path, err)
	}
	return nil
}

func (m *memory) openEvents(ctx context.Context, name string, successes float64) error {
	if name == "" {
		return nil
	}
	store, err := dial.Open(ctx, name)
	if err != nil {
		return fmt.Errorf("-events: %w", err)
	}
	m.store = store
	m.events, err = eventstore.NewRecorder(store, &eventstore.Options{Successes: successes, NoSuccesses: successes == 0})
	return err
}

// use gives the guards the journal, and who approves.
func (m *memory) use(o *toolguard.Options, cfg *config.Config) error {
	if m.journal == nil {
		if cfg.Approvals() {
			return errors.New("/mcp/tools: a tool that wants approval, want -journal too: calls wait there for a decision")
		}
		return nil
	}
	o.Journal = m.journal
	o.Journaling.Checked = true // by who runs toolguard journal
	if cfg.Approvals() {
		o.Approver = proxy.Approver{}
		o.Approval = toolguard.ApprovalPolicy{
			Effects: []toolguard.Effect{toolguard.ReadOnly, toolguard.Idempotent, toolguard.IdempotentByKey, toolguard.NonIdempotent},
			Risks:   []toolguard.Risk{toolguard.RiskHigh},
			Wait:    proxy.ApprovalWait,
		}
	}
	return nil
}

// tend leaves to people what calls of processes that are gone have left behind.
func (m *memory) tend(ctx context.Context) {
	if m.journal == nil {
		return
	}
	ctx, m.stop = context.WithCancel(ctx)
	r, err := toolguard.NewRecoverer(m.journal, nil)
	if err != nil {
		return // only a journal that is nil is refused
	}
	m.tending.Go(func() { _ = r.Run(ctx) })
}

// close comes after the last call.
func (m *memory) close() {
	if m.stop != nil {
		m.stop()
	}
	m.tending.Wait()
	if m.events != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = m.events.Close(ctx) // what cannot be written is lost: nobody can wait any longer
	}
	if m.store != nil {
		_ = m.store.Close()
	}
	if m.journal != nil {
		_ = m.journal.Close()
	}
}

// closeTimeout bounds the wait for the last events to be written.
const closeTimeout = 2 * time.Second
