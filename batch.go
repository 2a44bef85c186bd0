package toolguard

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// BatchPolicy says how the calls of one message of a model run together.
type BatchPolicy struct {
	// Off sets no deadline, and no bound on how many calls there are or run at
	// once. Order and IDs are looked after all the same.
	Off bool
	// Parallel is how many calls of a batch run at once. If zero, 8.
	Parallel int
	// Timeout bounds the batch. When it is over, calls in progress are stopped as
	// by their own timeout and the others are refused, so that all are answered
	// within one more grace period. If zero, 30 s.
	Timeout time.Duration
	// MaxCalls is how many calls a batch may have. Those beyond it are refused
	// before any runs. If zero, 256.
	MaxCalls int
	// StopTools are tools whose failure stops the batch: what has not begun is
	// refused, what has begun is awaited.
	StopTools []string
	// StopCodes are codes and categories that stop the batch, whatever the tool.
	StopCodes []string
}

func (p BatchPolicy) withDefaults() BatchPolicy {
	setDefault(&p.Parallel, 8)
	setDefault(&p.Timeout, 30*time.Second)
	setDefault(&p.MaxCalls, 256)
	return p
}

func (p BatchPolicy) check() error {
	errs := []error{
		notNegative("Batch.Parallel", p.Parallel), notNegative("Batch.Timeout", p.Timeout), notNegative("Batch.MaxCalls", p.MaxCalls),
	}
	for i, name := range p.StopCodes {
		if !isCodeOrCategory(name) {
			errs = append(errs, badOption(fmt.Sprintf("Batch.StopCodes[%d]", i), fmt.Sprintf("%q", name), "a code or a category"))
		}
	}
	return errors.Join(errs...)
}

// checkTools refuses names that lead to no tool.
func (p BatchPolicy) checkTools(d *directory) error {
	var errs []error
	for i, name := range p.StopTools {
		if t := d.exact[name]; t == nil || t.guard.info.Name != name {
			errs = append(errs, badOption(fmt.Sprintf("Batch.StopTools[%d]", i), fmt.Sprintf("%q", name), "a tool of the toolbox"))
		}
	}
	return errors.Join(errs...)
}

// DoAll answers calls together and returns when all are answered: one envelope
// for each, in their order, whatever happens.
//
// [ReadOnly] calls run in parallel. A call of any other tool begins when all
// before it are answered, and none after it begins before it is: what a model
// writes and then reads in one message comes in that order.
//
// The first of several calls with one ID is taken, the others are refused.
// Empty IDs do not count. Calls are independent unless BatchPolicy.StopTools or
// StopCodes say otherwise.
func (b *Toolbox) DoAll(ctx context.Context, calls []Call) Batch {
	envelopes := make([]Envelope, len(calls))
	b.newBatch(ctx, calls, func(i int, env Envelope) { envelopes[i] = env }).run()
	return Batch{Envelopes: envelopes}
}

// DoEach is DoAll that yields each answer, with the index of its call, as soon as
// it is there: a call that hangs holds up only those that have to come after it.
//
// Leaving the loop early lets no more calls begin: they are refused as canceled,
// each with its event. Those in progress are awaited before the loop is left;
// cancel ctx to make them stop sooner.
func (b *Toolbox) DoEach(ctx context.Context, calls []Call) iter.Seq2[int, Envelope] {
	return func(yield func(int, Envelope) bool) {
		type answer struct {
			index    int
			envelope Envelope
		}
		answers := make(chan answer, len(calls)) // room for all: nobody waits for the loop
		batch := b.newBatch(ctx, calls, func(i int, env Envelope) { answers <- answer{i, env} })
		go func() {
			defer close(answers)
			batch.run()
		}()
		defer func() {
			batch.stop(CodeCanceled)
			for range answers { // until the last one is there
			}
		}()
		for a := range answers {
			if !yield(a.index, a.envelope) {
				return
			}
		}
	}
}

// batch is a batch at work.
type batch struct {
	box      *Toolbox
	ctx      context.Context
	calls    []Call
	answer   func(int, Envelope) // may be called concurrently
	deadline time.Time
	number   uint16               // tells batches apart, mostly
	stopped  atomic.Pointer[Code] // why no more calls begin
}

var batches atomic.Uint64

// tellApart gives the calls of a resumable step steps of their own, by their
// place: two different calls of one tool must not have one [Key].
func (b *batch) tellApart() {
	if b.ctx == nil {
		return
	}
	scope := scopeFrom(b.ctx)
	if scope.Run == "" || scope.Step == "" {
		return
	}
	for i := range b.calls {
		setDefault(&b.calls[i].Step, scope.Step+"."+strconv.Itoa(i))
	}
}

func (b *Toolbox) newBatch(ctx context.Context, calls []Call, answer func(int, Envelope)) *batch {
	if b == nil {
		b = new(Toolbox) // which answers that nobody made it
	}
	run := &batch{box: b, ctx: ctx, calls: slices.Clone(calls), answer: answer, number: uint16(batches.Add(1)%math.MaxUint16) + 1}
	run.tellApart()
	if !b.batch.Off {
		run.deadline = time.Now().Add(b.batch.Timeout)
	}
	return run
}

// run answers every call.
func (b *batch) run() {
	var together []int // read-only calls without another one between them
	for _, i := range b.refuseSome() {
		if !b.changes(i) {
			together = append(together, i)
			continue
		}
		b.together(together)
		b.call(i)
		together = together[:0]
	}
	b.together(together)
}

// refuseSome answers the calls that must not run and returns the others.
func (b *batch) refuseSome() (rest []int) {
	taken := make(map[string]bool, len(b.calls))
	for i := range b.calls {
		id := b.calls[i].ID
		switch {
		case !b.box.batch.Off && i >= b.box.batch.MaxCalls:
			b.refuse(i, CodeLimitReached)
		case id != "" && taken[id]:
			b.refuse(i, CodeDuplicateCallID)
		default:
			taken[id] = true
			rest = append(rest, i)
		}
	}
	return rest
}

func (b *batch) refuse(i int, code Code) {
	b.answer(i, b.box.do(b.ctx, b.calls[i], via{refusal: code}))
}

// changes says whether a call may change something.
func (b *batch) changes(i int) bool {
	t, _ := b.box.directory.find(b.calls[i].Tool, b.box.aliases)
	return t != nil && t.guard.info.Effect != ReadOnly
}

// together runs calls in parallel and returns when all are answered.
func (b *batch) together(indices []int) {
	var next atomic.Int64
	work := func() {
		for n := next.Add(1); n <= int64(len(indices)); n = next.Add(1) {
			b.call(indices[n-1])
		}
	}
	workers := len(indices)
	if !b.box.batch.Off {
		workers = min(workers, b.box.batch.Parallel)
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// call runs one call, unless the batch has stopped.
func (b *batch) call(i int) {
	if why := b.stopped.Load(); why != nil {
		b.refuse(i, *why)
		return
	}
	env := b.box.do(b.ctx, b.calls[i], via{deadline: b.deadline, batch: b.number})
	if b.critical(i, &env) {
		b.stop(CodeBatchStopped)
	}
	b.answer(i, env)
}

// stop lets no more calls begin. The first reason stays.
func (b *batch) stop(why Code) { b.stopped.CompareAndSwap(nil, &why) }

// critical says whether a failure stops the batch.
func (b *batch) critical(i int, env *Envelope) bool {
	p := &b.box.batch
	if env.OK || len(p.StopTools)+len(p.StopCodes) == 0 {
		return false
	}
	t, _ := b.box.directory.find(b.calls[i].Tool, b.box.aliases)
	return slices.Contains(p.StopCodes, string(env.Error.Code)) || slices.Contains(p.StopCodes, env.Error.Category.String()) ||
		t != nil && slices.Contains(p.StopTools, t.guard.info.Name)
}
