package toolguardtest

import (
	"fmt"
	"sync"

	"github.com/toolguard-go/toolguard"
)

// Ledger counts what a [Tool] has done to the world. The zero value is empty.
// Safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	commits int
	effects map[string]int // commits of each distinct effect
}

// commit enters one. What repeats without harm is one effect, however often: an
// idempotent tool reaches the same state, one with a key is the same request to
// its downstream. A read-only tool changes nothing.
func (l *Ledger) commit(effect toolguard.Effect, key, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if effect == toolguard.ReadOnly {
		return
	}
	l.commits++
	id := fmt.Sprint("run ", l.commits)
	switch {
	case effect == toolguard.Idempotent:
		id = "args " + args
	case effect == toolguard.IdempotentByKey && key != "":
		id = "key " + key
	}
	if l.effects == nil {
		l.effects = make(map[string]int)
	}
	l.effects[id]++
}

// Effects is how many distinct effects there were. Of an [toolguard.Idempotent] tool all
// commits with the same arguments are one effect, of an
// [toolguard.IdempotentByKey] tool all with the same key, of a [toolguard.ReadOnly] tool
// none is.
func (l *Ledger) Effects() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.effects)
}

// Commits is how often the tool acted, repeated effects included.
func (l *Ledger) Commits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commits
}
