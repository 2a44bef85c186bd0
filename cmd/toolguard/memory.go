package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/config"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/proxy"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// memory is what outlives a proxy: its journal, if it has one.
type memory struct {
	journal *sqlite.Journal
	stop    context.CancelFunc
	tending sync.WaitGroup
}

func (f *proxyFlags) open() (*memory, error) {
	if f.journal == "" {
		return &memory{}, nil
	}
	j, err := sqlite.Open(f.journal, nil)
	if err != nil {
		return nil, fmt.Errorf("-journal %s: %w", f.journal, err)
	}
	return &memory{journal: j}, nil
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
	if m.journal == nil {
		return
	}
	if m.stop != nil {
		m.stop()
	}
	m.tending.Wait()
	_ = m.journal.Close()
}
