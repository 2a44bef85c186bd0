package toolguard

import (
	"strings"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/internal/lru"
	"github.com/toolguard-go/toolguard/prompts"
)

// lastGood keeps good results as they were handed on, so that each is no larger
// than an answer.
type lastGood struct {
	keepFor time.Duration
	most    int // bytes of all together

	mu    sync.Mutex
	kept  *lru.Cache[goodKey, good]
	bytes int
}

// goodKey keeps the answers of different customers and persons apart.
type goodKey struct {
	tenant, principal string
	digest            digest.Sum
}

type good struct {
	result Result
	notes  []Note // of what was taken out of it
	size   int
	at     time.Time
}

func newLastGood(f *Fallback) lastGood {
	number, most := f.LastGoodMax, f.LastGoodBytes
	setDefault(&number, 64)
	setDefault(&most, 8<<20)
	return lastGood{keepFor: f.LastGood, most: most, kept: lru.New[goodKey, good](number)}
}

// put keeps a result in place of older ones. One that is too large takes its
// predecessor's place all the same: that is no longer the last.
func (l *lastGood) put(key goodKey, g good) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.size > l.most {
		g = good{}
	}
	former, _ := l.kept.Put(key, g)
	l.bytes += g.size - former.size
	for old, g := range l.kept.OldestFirst {
		if l.bytes <= l.most {
			return
		}
		l.kept.Delete(old)
		l.bytes -= g.size
	}
}

// get returns the result at key and its age, if it is young enough.
func (l *lastGood) get(key goodKey) (g good, age time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, ok = l.kept.Get(key)
	age = time.Since(g.at)
	return g, age, ok && age < l.keepFor
}

// cached is how many results are kept, and their bytes.
func (f *fallback) cached() (n, bytes int) {
	if f == nil {
		return 0, 0
	}
	f.last.mu.Lock()
	defer f.last.mu.Unlock()
	return f.last.kept.Len(), f.last.bytes
}

// remember keeps a good result of the tool's own. The notes from said on are of
// what was taken out of it.
func (c *call) remember(said int) {
	f := c.guard.fallback
	if f == nil || f.last.keepFor == 0 || c.failure != nil || c.attempts == 0 || c.source() != nil {
		return
	}
	g := good{result: c.result.clone(), size: c.result.size(), at: time.Now()}
	g.result.Text = strings.Clone(g.result.Text) // it may be a piece of something large
	for _, n := range c.notes[said:] {
		if n.Kind != prompts.NoteWrappedAsData && n.Kind != prompts.NoteEmptySuccess { // seen afresh
			n.Text = "" // another call may have another locale
			g.notes = append(g.notes, n)
		}
	}
	f.last.put(c.goodKey(), g)
}

func (c *call) tryLastGood(f *fallback) bool {
	if f.last.keepFor == 0 {
		return false
	}
	g, age, ok := f.last.get(c.goodKey())
	if ok {
		c.degrade(g.result.clone(), &Degraded{Source: LastKnownGood, Age: age})
		c.outcome = OutcomeSucceeded
		c.notes = append(c.notes, g.notes...)
	}
	return ok
}

func (c *call) goodKey() goodKey {
	return goodKey{c.scope.Tenant, c.scope.Principal, c.digest}
}
