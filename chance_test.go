package toolguard_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolguard-go/toolguard"
)

var (
	programs  = flag.Int("programs", 300, "how many programs TestProgramsOfChance plays")
	firstSeed = flag.Uint64("seed", 1, "the first of them")
)

// Whole programs that chance has made, held against what really happened. Play one
// again with -run TestProgramsOfChance -seed N -programs 1 -v.
func TestProgramsOfChance(t *testing.T) {
	t.Parallel()
	for seed := *firstSeed; seed < *firstSeed+uint64(*programs); seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if wrong := play(programOf(seed)); wrong != "" {
					t.Error(wrong)
				}
			})
		})
	}
}

// play runs a program to its end and says what was wrong, with all that happened.
func play(p *program) string {
	w := &world{program: p, journal: toolguard.NewMemoryJournal(), began: time.Now()}
	for _, a := range p.acts {
		pass(a.wait)
		if a.aside {
			w.running.Go(func() { w.do(a) })
		} else {
			w.do(a)
		}
	}
	w.running.Wait()
	w.clearUp()
	wrong := w.judge()
	if len(wrong) == 0 {
		return ""
	}
	return w.report(wrong)
}

// clearUp is what a recoverer does in the long run, when all that is under way has come
// to an end.
func (w *world) clearUp() {
	pass(10 * minute)
	p := w.newProcess()
	for range 50 {
		_, _ = p.recoverer.Once(context.Background())
		pass(time.Hour)
	}
}

func (w *world) report(wrong []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%v happened\n%s entries\n", strings.Join(wrong, "\n"), w.program, w.history.String())
	for _, e := range slices.Backward(w.entries()) {
		fmt.Fprintf(&b, "  %.6s %v %s by %q in %s, generation %d, approval %+v, code %q, linked %.6s\n", e.Key, e.State, e.Args, e.Scope.Principal, where(e.Scope), e.Generation, e.Approval, e.Code, e.Linked)
		for _, r := range w.records(e.Key) {
			fmt.Fprintf(&b, "    %v %v: %v → %v by %s (%s) in %q, attempt %d %v %s\n", r.At.Sub(w.began), r.Kind, r.From, r.To, r.Actor, r.Why, r.CallID, r.Attempt, r.Outcome, r.Code)
		}
	}
	b.WriteString(" effects\n")
	for _, d := range w.truth.deeds {
		fmt.Fprintf(&b, "  %v %s by %s for #%d under %.6s\n", d.at.Sub(w.began), d.receipt(), d.service, d.by.n, d.key)
	}
	return b.String()
}

func (w *world) entries() []toolguard.Entry { return w.query(toolguard.Query{}) }

func (w *world) records(key string) []toolguard.Record {
	return must(w.journal.Records(context.Background(), toolguard.RecordQuery{Key: key}))
}
