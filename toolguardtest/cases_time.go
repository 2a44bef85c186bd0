package toolguardtest

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard"
)

// inTime makes a call and expects its answer within the guard's own limit.
func (x *trial) inTime() toolguard.Envelope {
	x.Helper()
	ctx, cancel := context.WithTimeout(scope(x.Context(), "1"), hour)
	defer cancel()
	var env toolguard.Envelope
	if d := took(func() { env = x.in(ctx, x.s.Args) }); d > x.s.limit() {
		x.bad("the answer took %v; the limit is %v", d, x.s.limit())
	}
	return env
}

// canceled makes calls that their caller gives up.
func (x *trial) canceled(n int) (last toolguard.Envelope) {
	for range n {
		ctx, cancel := context.WithCancel(scope(x.Context(), "1"))
		timer := time.AfterFunc(time.Millisecond, cancel)
		last = x.in(ctx, x.s.Args)
		timer.Stop()
		cancel()
	}
	return last
}

var hangCases = []Case{
	{"e01", KindHangs, "a call that never returns", "strands-agents/harness-sdk#4403", func(x *trial) {
		defer x.put(Ignore(OK("late"))).Release()
		if env := x.inTime(); env.OK && env.Degraded == nil {
			x.bad("a tool that never answers is answered with %s", shown(env))
		}
	}},
	{"e04", KindHangs, "the caller's deadline is not the tool's", "kubernetes-sigs/agent-sandbox#1428", func(x *trial) {
		tool := x.put(Obey())
		ctx, cancel := context.WithTimeout(scope(x.Context(), "1"), 50*time.Millisecond)
		defer cancel()
		env := x.in(ctx, x.s.Args)
		if tool.Runs() > 1 {
			x.bad("the caller's deadline was retried: %d runs", tool.Runs())
		}
		if !env.OK && env.Error.Category != toolguard.CategoryTimeout && env.Error.Category != toolguard.CategoryUnknown {
			x.bad("the caller's deadline is told as %s", shown(env))
		}
	}},
	{"e08", KindHangs, "a tool starts after its cancellation", "microsoft/agent-framework-go#1076", func(x *trial) {
		tool := x.put(OK("done"))
		ctx, cancel := context.WithCancel(scope(x.Context(), "1"))
		cancel()
		answers := x.s.Do(ctx, x.s.call("call_1"))
		if tool.Runs() > 0 {
			x.bad("the tool ran although its caller had given up: %v", answers)
		}
	}},
	{"e11", KindHangs, "one stuck call withholds the others", "arcee-ai/nac#105", func(x *trial) {
		defer x.put(Flaky(1, Ignore(OK("late")), OK("done"))).Release()
		batch := x.boxed().DoAll(x.Context(), []toolguard.Call{x.s.call("one"), x.s.call("two"), x.s.call("three")})
		for i, id := range []string{"one", "two", "three"} {
			if len(batch.Envelopes) <= i || batch.Envelopes[i].CallID != id || !answeredBeside(&batch.Envelopes[i]) {
				x.bad("beside a stuck call %q has no answer of its own: %v", id, batch.Envelopes)
			}
		}
	}},
}

// answeredBeside: a call beside one that is stuck may run, or be refused in time; it
// is not taken for a mistake of the model.
func answeredBeside(env *toolguard.Envelope) bool {
	return env.OK || env.Error.Category != toolguard.CategoryParam
}

var errorCases = []Case{
	{"f01", KindErrors, "a panic in a tool", "modelcontextprotocol/go-sdk#958", func(x *trial) {
		x.put(Panic("assignment to entry in nil map"))
		if env := x.inTime(); env.OK && env.Degraded == nil {
			x.bad("a panic is answered with %s", shown(env))
		}
	}},
	{"f04", KindErrors, "a nil pointer as error", "liushuangls/go-anthropic#119", func(x *trial) {
		x.put(NilError("done"))
		if env := x.inTime(); !env.OK && OutcomeOf(env) != toolguard.OutcomeUnknown {
			x.bad("the tool has acted and returned a nil pointer; the answer is %s", shown(env))
		}
	}},
	{"f05", KindErrors, "an error that panics when it is read", "gotestyourself/gotest.tools#185", func(x *trial) {
		x.put(Fail(panickingError{}))
		if env := x.inTime(); env.OK && env.Degraded == nil {
			x.bad("an error is answered with %s", shown(env))
		}
	}},
	{"f06", KindErrors, "a result that cannot be written", "rilldata/rill#8521", func(x *trial) {
		x.put(JSON(`{"ratio":NaN}`))
		if env := x.inTime(); OutcomeOf(env) == toolguard.OutcomeFailed || OutcomeOf(env) == toolguard.OutcomeNotStarted {
			if x.s.Guard.Info().Effect != toolguard.ReadOnly {
				x.bad("the tool has acted, its result is broken JSON, and the answer says that nothing was done: %s", shown(env))
			}
		}
	}},
}

// durably are the options of one more guard of a tool, which may insist on a journal.
func durably(info toolguard.Info) *toolguard.Options {
	if info.Durability == toolguard.DurabilityVolatile {
		return nil
	}
	return &toolguard.Options{Journal: JournalFor(info)}
}

// waits makes a call of a tool that is told to wait, and returns how long it took.
func (x *trial) waits(value string) (env toolguard.Envelope, d time.Duration) {
	f := Status("429", toolguard.CodeRateLimited, 429, "Retry-After", value)
	x.put(f.Step)
	d = took(func() { env = x.inTime() })
	return env, d
}

var retryCases = []Case{
	{"g01", KindRetry, "a wait below zero", "pydantic/pydantic-ai#7065", func(x *trial) { x.waits("-1") }},
	{"g02", KindRetry, "a wait as a date", "NousResearch/hermes-agent#84738", func(x *trial) {
		x.put(retryAfterDate("date", 20*time.Second).Step)
		began := time.Now()
		x.inTime()
		if x.tool.Runs() > 1 && time.Since(began) < 19*time.Second {
			x.bad("the tool was run again after %v, although the service asked for 20 s", time.Since(began))
		}
	}},
	{"g04", KindRetry, "a wait of hours", "earendil-works/pi#4991", func(x *trial) {
		env, d := x.waits("36000")
		if d > 5*time.Minute {
			x.bad("the call waits %v for a service that asks for 10 h", d)
		}
		if !env.OK && env.Error.RetryAfter != 0 && env.Error.RetryAfter < 10*time.Hour {
			x.bad("the service asks for 10 h, the answer for %v", env.Error.RetryAfter)
		}
	}},
	{"g08", KindRetry, "sleeping past the deadline", "hashicorp/go-retryablehttp#272", func(x *trial) {
		x.put(Status("503", toolguard.CodeServiceUnavailable, 503, "Retry-After", "20").Step)
		ctx, cancel := context.WithTimeout(scope(x.Context(), "1"), 5*time.Second)
		defer cancel()
		if d := took(func() { x.in(ctx, x.s.Args) }); d >= 5*time.Second {
			x.bad("with 5 s left and 20 s to wait the call ends after %v, want at once", d)
		}
	}},
	{"g06", KindRetry, "retries of two layers multiply", "HKUDS/nanobot#2760", func(x *trial) {
		tool := x.put(FaultError(toolguard.CodeServiceUnavailable))
		inner, err := toolguard.New(tool, durably(tool.Info()))
		if err != nil || x.s.Replace(inner) != nil {
			x.Skip("the tool cannot be guarded twice")
		}
		x.inTime()
		if most := max(provenAttempts, x.s.Guard.Describe().MaxAttempts); tool.Runs() > most {
			x.bad("two guards of one tool ran it %d times, want %d at most", tool.Runs(), most)
		}
	}},
	{"g15", KindRetry, "a write that is repeated after a timeout", "go-resty/resty#777", func(x *trial) {
		tool := x.put(Commit(Obey()))
		x.inTime()
		if n := tool.Ledger().Effects(); n > 1 {
			x.bad("the tool has acted %d times", n)
		}
	}},
}
