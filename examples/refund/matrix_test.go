package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

var chances = flag.Int("chances", 8, "how many scenes TestScenesOfChance plays on each journal")

// The crash matrix: every point at which a process can die, with every kind of
// tool. Whatever dies, there is one refund, never a second one before a person has
// decided, no answer that is not so, and nothing left open.
func TestCrashMatrixInSQLite(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	began := time.Now()
	played, err := show(t.Context(), &out, false)
	require.NoError(t, err, "%s", &out)
	assert.Less(t, time.Since(began), time.Minute, "it is meant to be watched")
	for _, s := range scenes {
		assert.Contains(t, out.String(), s.title)
	}
	for _, story := range played[:len(kinds)] {
		assert.Equal(t, everydayStory.title, story.scene.title)
		assert.Greater(t, len(story.unguarded.refunds), 1, "the story: the model plans anew, and the bank pays again")
		assert.Len(t, story.guard.refunds, 1)
	}
	assert.Contains(t, out.String(), storyText)
	twice := 0
	for _, x := range played {
		if len(x.unguarded.refunds) > 1 {
			twice++
		}
	}
	assert.GreaterOrEqual(t, twice, 20, "the scenes are such that an agent without toolguard refunds twice")
}

func TestCrashMatrixInPostgreSQL(t *testing.T) {
	t.Parallel()
	p := newPlayer(t, inPostgres(t))
	atOnce(t, len(scenes), func(t *testing.T, i int) {
		for _, tool := range kinds {
			if scenes[i].suits(tool) {
				r, err := p.guarded(t.Context(), scenes[i], tool, fmt.Sprintf("%d-%s", i, tool))
				assert.NoError(t, err, "%s, %s", scenes[i].title, tool)
				assert.NoError(t, r.check(), "%s, %s", scenes[i].title, tool)
			}
		}
	})
}

// Processes die wherever chance has it, several times, while the bank loses what
// it is told and what it answers. `make crash` plays many.
func TestScenesOfChance(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]func(*testing.T) func(string) store{"sqlite": inSQLite, "postgres": inPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t, stores(t))
			p.mayMiss = true
			seed := rand.Uint64()
			atOnce(t, *chances, func(t *testing.T, i int) {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				s, tool := sceneOfChance(r), kinds[i%len(kinds)]
				got, err := p.guarded(t.Context(), s, tool, fmt.Sprintf("chance-%d", i))
				assert.NoError(t, err, "seed %d, %d: %s %+v", seed, i, tool, s)
				assert.NoError(t, got.check(), "seed %d, %d: %s %+v, answered %v", seed, i, tool, s, got.answers)
			})
		})
	}
}

var (
	agentMoments = []moment{
		beforeIntent, afterIntent, requestLeft, afterEffect, beforeSettle, afterSettle,
		beforeDoubt, afterDoubt, bankAsked, afterRecovery,
	}
	allTroubles = []trouble{"", loseRequest, loseAnswer, silence, late}
)

func sceneOfChance(r *rand.Rand) scene {
	s := scene{approve: r.IntN(3) == 0, calls: 1 + r.IntN(3)}
	for range r.IntN(4) {
		s.troubles = append(s.troubles, allTroubles[r.IntN(len(allTroubles))])
	}
	for range 1 + r.IntN(4) {
		s.kills = append(s.kills, agentMoments[r.IntN(len(agentMoments))])
	}
	for range r.IntN(3) {
		s.resumed = append(s.resumed, agentMoments[r.IntN(len(agentMoments))])
	}
	s.decision = []moment{"", beforeDecision, afterDecision}[r.IntN(3)]
	return s
}

// atOnce runs f n times, several at a time: processes mostly wait for each other.
func atOnce(t *testing.T, n int, f func(t *testing.T, i int)) {
	t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, scenesAtOnce)
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			f(t, i)
		})
	}
	wg.Wait()
}

// What is checked can fail.
func TestResultsThatAreWrong(t *testing.T) {
	t.Parallel()
	made := receipt{ID: "R-1"}
	succeeded := toolguard.Entry{State: toolguard.StateSucceeded}
	right := result{
		refunds: []receipt{made}, undecided: 1, answers: []answer{{OK: true}}, entries: []toolguard.Entry{succeeded},
	}
	require.NoError(t, right.check())
	for want, change := range map[string]func(*result){
		"2 refunds, want 1":                 func(r *result) { r.refunds = []receipt{made, made} },
		"2 refunds before a person":         func(r *result) { r.undecided = 2 },
		"does not learn":                    func(r *result) { r.answers = append(r.answers, answer{}) },
		"an entry that is pending":          func(r *result) { r.entries = []toolguard.Entry{{State: toolguard.StatePending}} },
		"2 entries":                         func(r *result) { r.entries = append(r.entries, succeeded) },
		"although a success was recorded":   func(r *result) { r.judge([]answer{{}}, true) },
		"says failed, and there is":         func(r *result) { r.judge([]answer{{Outcome: toolguard.OutcomeFailed}}, false) },
		"is done, and there is no refund":   func(r *result) { r.refunds = nil; r.judge([]answer{{OK: true}}, false) },
		"says not_started, and there is a ": func(r *result) { r.judge([]answer{{Outcome: toolguard.OutcomeNotStarted}}, false) },
	} {
		r := right
		change(&r)
		assert.ErrorContains(t, r.check(), want)
	}
	w := printer{io.Discard}
	w.details([]*pair{{guard: right}})
}
