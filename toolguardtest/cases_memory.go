package toolguardtest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard"
)

var repeatCases = []Case{
	{"h01", KindRepeats, "the model plans again after a timeout", "stripe/ai#402", func(x *trial) {
		x.remembers()
		tool := x.put(Commit(Obey()))
		for range 4 {
			x.call(x.s.Args) // each with an ID of its own
		}
		if n := tool.Ledger().Effects(); n > 1 && !x.repeatable() {
			x.bad("the same call in one turn has acted %d times", n)
		}
	}},
	{"h05", KindRepeats, "work that was done although fetching failed", "Abilityai/trinity#914", func(x *trial) {
		tool := x.put(LoseAnswer())
		env := x.call(x.s.Args)
		if outcome := OutcomeOf(env); x.s.Guard.Info().Effect != toolguard.ReadOnly && outcome != toolguard.OutcomeUnknown && outcome != toolguard.OutcomeSucceeded {
			x.bad("the tool has acted (%d runs) and lost its answer, but the outcome is %v", tool.Runs(), outcome)
		}
	}},
	{"h11", KindRepeats, "the same slow call again while it runs", "google/adk-python#3940", func(x *trial) {
		x.remembers()
		tool := x.put(Slow(time.Second, OK("done")))
		var wg sync.WaitGroup
		for i := range 5 {
			call := x.s.call("call_" + ordinal(i))
			wg.Go(func() { x.s.Do(scope(x.Context(), "1"), call) })
		}
		wg.Wait()
		if tool.Ledger().Effects() > 1 {
			x.bad("five identical calls at once have acted %d times", tool.Ledger().Effects())
		}
	}},
	{"i01", KindLoops, "the same call until a limit ends the run", "bytedance/deer-flow#1055", func(x *trial) {
		x.remembers()
		if x.s.Guard.Describe().Loop.Off {
			x.Skip("Loop.Off is set")
		}
		tool := x.put(OK("the same"))
		const calls = 40
		for range calls {
			x.call(x.s.Args)
			time.Sleep(time.Minute)
		}
		if tool.Runs() == calls {
			x.bad("%d identical calls with the same answer all ran", calls)
		}
	}},
	{"i03", KindLoops, "the order of members makes it another call", "BaseIntelligence/bounty-challenge#52101", func(x *trial) {
		x.remembers()
		if x.repeatable() {
			x.Skip("the tool may run again")
		}
		var list []string
		for name, value := range x.members() {
			key, _ := json.Marshal(name)
			list = append(list, string(key)+" : "+string(value))
		}
		slices.Sort(list)
		tool := x.put(OK("done"))
		x.call("{" + strings.Join(list, " , ") + "}")
		slices.Reverse(list)
		x.call("{" + strings.Join(list, ",") + "}")
		if tool.Ledger().Effects() > 1 && !x.s.Guard.Info().RepeatsNormal {
			x.bad("one call, its members in another order, has acted %d times in one turn", tool.Ledger().Effects())
		}
	}},
	{"i11", KindLoops, "a failure is answered from memory", "nibor1896/Crow#93", func(x *trial) {
		tool := x.put(Flaky(1, Fail(toolguard.Business("The file was not read yet.")), OK("done")))
		x.call(x.s.Args)
		if env := x.call(x.s.Args); !env.OK || tool.Runs() != 2 {
			x.bad("what forbade the call is mended, but the tool ran %d times, and the answer is %s", tool.Runs(), shown(env))
		}
	}},
}

var siblingCases = []Case{
	{"j02", KindSiblings, "a failed call takes the others with it", "openai/openai-agents-python#2580", func(x *trial) {
		box := x.boxed()
		x.put(func(r *Run) (toolguard.Result, error) {
			if r.N == 2 {
				panic("odd")
			}
			return OK("done")(r)
		})
		one, two, three := x.s.call("one"), x.s.call("two"), x.s.call("three")
		batch := box.DoAll(x.Context(), []toolguard.Call{one, two, three}) // without a conversation each one runs
		ok := 0
		for i, env := range batch.Envelopes {
			if env.OK {
				ok++
			}
			if want := []string{"one", "two", "three"}[i]; env.CallID != want {
				x.bad("answer %d is for call %q, want %q", i+1, env.CallID, want)
			}
		}
		if len(batch.Envelopes) != 3 || ok != 2 {
			x.bad("three calls, of which one panics, have %d answers, %d of them good", len(batch.Envelopes), ok)
		}
	}},
	{"j04", KindSiblings, "two calls of one ID", "NorthlandPositronics/Cogtrix#2278", func(x *trial) {
		box, tool := x.boxed(), x.put(OK("done"))
		batch := box.DoAll(x.Context(), []toolguard.Call{x.s.call("same"), x.s.call("same")})
		if len(batch.Envelopes) != 2 || tool.Runs() != 1 {
			x.bad("two calls of one ID have %d answers and ran %d times, want 2 and 1", len(batch.Envelopes), tool.Runs())
		}
	}},
}
