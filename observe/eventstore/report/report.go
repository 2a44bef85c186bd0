// Package report reads an event store: how tools fare, and what happened in one
// call. Its commands are those of cmd/toolguard.
package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/internal/histogram"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// Options say what a report is about.
type Options struct {
	// From and To bound it; From is before To. The period before, as long, is what
	// it is compared with.
	From, To time.Time
	// Tool is the only one to report on. If "", all.
	Tool string
	// Journal, if not nil, says what became of unknown outcomes, and what waits.
	Journal toolguard.Journal
	// Examples is how many of the slowest calls and of the newest failures each tool has.
	// If zero, 5.
	Examples int
}

// Report is how tools fared in a period. It marshals to JSON.
type Report struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// All is what holds for all tools together, Tools for each, those with the most
	// failures first.
	All   Tool   `json:"all"`
	Tools []Tool `json:"tools"`
	// Unknowns are the calls whose outcome was unknown, by what became of it.
	Unknowns map[Fate]int `json:"unknowns"`
	// Waiting are the entries of the journal that wait for somebody, whenever they
	// were made: one for each action, however many calls asked for it. Nil if no
	// journal was asked. Pending ones are those whose lease is over.
	Waiting map[toolguard.State]int `json:"waiting,omitempty"`
	// Summary says the most important of it in sentences.
	Summary []string `json:"summary"`
	// Records is how many records the examples come from. If the period has more
	// than were read, Cut is true: then examples, breakers and unknowns are of the
	// newest only.
	Records int  `json:"records"`
	Cut     bool `json:"cut,omitempty"`
	// Only is the tool the report is about, if not all.
	Only string `json:"only,omitempty"`

	series   []slot
	breakers []lane
	flow     flow
}

// Tool is how one tool fared. All numbers are of all calls. A failure is a timeout,
// an unavailable service or an unknown error. Calls whose caller gave up count as
// neither success nor failure: the rate is that among the others. Every other call
// that did not succeed was refused or answered no.
type Tool struct {
	Tool     string  `json:"tool"`
	Calls    int64   `json:"calls"`
	Failures int64   `json:"failures"`
	Rate     float64 `json:"failure_rate"`
	Refused  int64   `json:"refused"`
	GaveUp   int64   `json:"caller_gave_up"`

	ByCategory map[string]int64 `json:"by_category,omitempty"`
	ByCode     []CodeCount      `json:"by_code,omitempty"`

	P50 time.Duration `json:"p50_ns"`
	P95 time.Duration `json:"p95_ns"`
	P99 time.Duration `json:"p99_ns"`

	Attempts int64 `json:"attempts"`
	Retries  int64 `json:"retries"`
	// Unknown counts calls that ended with an unknown outcome, UnknownNow those of
	// which that is still all that is known.
	Unknown    int64 `json:"unknown"`
	UnknownNow int   `json:"unknown_now"`

	// Before is the period before: calls and failure rate; Trend what that means.
	CallsBefore int64   `json:"calls_before"`
	RateBefore  float64 `json:"failure_rate_before"`
	Trend       Trend   `json:"trend"`

	// Kept is how many of the calls have a record of their own. Slowest are the
	// slowest of those: of plain successes a store keeps a sample.
	Kept    int       `json:"kept"`
	Slowest []Example `json:"slowest_kept,omitempty"`
	// Newest are failures, the newest of each code first, then other new ones; those
	// that only followed from others, as refusals by an open breaker do, come last.
	Newest []Example `json:"newest_failures,omitempty"`

	took           histogram.Durations
	failuresBefore int64
	judgedBefore   int64
}

// CodeCount says how often calls ended with a code.
type CodeCount struct {
	Code     toolguard.Code `json:"code"`
	Category string         `json:"category"`
	Calls    int64          `json:"calls"`
	failure  bool
}

// maxRecords bounds what one report reads of records; counts are all read.
const maxRecords = 50_000

// Build makes a report.
func Build(ctx context.Context, store eventstore.Store, o Options) (*Report, error) {
	if !o.From.Before(o.To) {
		return nil, fmt.Errorf("report: the period ends %s, before it begins", o.To.Format(time.RFC3339))
	}
	if o.Examples <= 0 {
		o.Examples = 5
	}
	before := o.From.Add(-o.To.Sub(o.From))
	now, err := store.Rollups(ctx, o.From, o.To)
	if err != nil {
		return nil, err
	}
	earlier, err := store.Rollups(ctx, before, o.From.Truncate(eventstore.Period))
	if err != nil {
		return nil, err
	}
	records, err := store.Records(ctx, eventstore.Query{From: o.From, To: o.To, Limit: maxRecords})
	if err != nil {
		return nil, err
	}
	b := builder{Report: &Report{From: o.From, To: o.To, Only: o.Tool, Records: len(records), Cut: len(records) == maxRecords}, opts: o, tools: map[string]*Tool{}}
	b.All.Tool = "all tools"
	b.countAll(b.only(now))
	b.compare(b.only(earlier))
	records = b.onlyRecords(records)
	b.examples(records)
	if err := b.unknowns(ctx, records); err != nil {
		return nil, err
	}
	if b.Waiting, err = waiting(ctx, o.Journal, o.Tool); err != nil {
		return nil, err
	}
	b.finish()
	b.series = seriesOf(b.only(now), o.From, o.To)
	b.breakers = lanesOf(records, o.From, o.To)
	b.flow = flowOf(b.only(now))
	b.Summary = b.summary()
	return b.Report, nil
}

type builder struct {
	*Report
	opts  Options
	tools map[string]*Tool
}

func (b *builder) only(all []eventstore.Rollup) []eventstore.Rollup {
	if b.opts.Tool == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(r eventstore.Rollup) bool { return r.Tool != b.opts.Tool })
}

func (b *builder) onlyRecords(all []eventstore.Record) []eventstore.Record {
	if b.opts.Tool == "" {
		return all
	}
	return slices.DeleteFunc(all, func(r eventstore.Record) bool { return r.Tool != b.opts.Tool })
}

func (b *builder) tool(name string) *Tool {
	t := b.tools[name]
	if t == nil {
		t = &Tool{Tool: name}
		b.tools[name] = t
	}
	return t
}

// gaveUp says whether it was the caller who ended calls that came to this.
func gaveUp(ok bool, code toolguard.Code) bool {
	return !ok && (code == toolguard.CodeCanceled || code == toolguard.CodeCallerDeadline)
}

// failed says whether calls that came to this are failures.
func failed(ok bool, category toolguard.Category, code toolguard.Code) bool {
	if ok || gaveUp(ok, code) {
		return false
	}
	switch category {
	case toolguard.CategoryTimeout, toolguard.CategoryUnavailable, toolguard.CategoryUnknown:
		return true
	}
	return false
}

func (b *builder) countAll(all []eventstore.Rollup) {
	for i := range all {
		r := &all[i]
		b.All.count(r)
		b.tool(r.Tool).count(r)
	}
}

func (t *Tool) count(r *eventstore.Rollup) {
	t.Calls += r.Calls
	t.Attempts += r.Attempts
	t.Retries += r.Retries
	t.took.Merge(&r.Took)
	if r.OK {
		return
	}
	switch {
	case failed(r.OK, r.Category, r.Code):
		t.Failures += r.Calls
	case gaveUp(r.OK, r.Code):
		t.GaveUp += r.Calls
	default:
		t.Refused += r.Calls
	}
	if r.Outcome == toolguard.OutcomeUnknown {
		t.Unknown += r.Calls
	}
	if t.ByCategory == nil {
		t.ByCategory = map[string]int64{}
	}
	t.ByCategory[r.Category.String()] += r.Calls
	i := slices.IndexFunc(t.ByCode, func(c CodeCount) bool { return c.Code == r.Code })
	if i < 0 {
		t.ByCode = append(t.ByCode, CodeCount{Code: r.Code, Category: r.Category.String(), failure: failed(r.OK, r.Category, r.Code)})
		i = len(t.ByCode) - 1
	}
	t.ByCode[i].Calls += r.Calls
}

func (b *builder) compare(earlier []eventstore.Rollup) {
	for i := range earlier {
		r := &earlier[i]
		for _, t := range []*Tool{&b.All, b.tool(r.Tool)} {
			t.CallsBefore += r.Calls
			if !gaveUp(r.OK, r.Code) {
				t.judgedBefore += r.Calls
			}
			if failed(r.OK, r.Category, r.Code) {
				t.failuresBefore += r.Calls
			}
		}
	}
}

// finish works out rates and the order.
func (b *builder) finish() {
	b.All.finish()
	for _, t := range b.tools {
		t.finish()
		b.Tools = append(b.Tools, *t)
	}
	slices.SortFunc(b.Tools, func(x, y Tool) int {
		return cmp.Or(cmp.Compare(y.Failures, x.Failures), cmp.Compare(y.Calls, x.Calls), strings.Compare(x.Tool, y.Tool))
	})
}

func (t *Tool) finish() {
	judged := t.Calls - t.GaveUp
	t.Rate, t.RateBefore = share(t.Failures, judged), share(t.failuresBefore, t.judgedBefore)
	t.Trend = trendOf(t.failuresBefore, t.judgedBefore, t.Failures, judged)
	t.P50, t.P95, t.P99 = t.took.At(.5), t.took.At(.95), t.took.At(.99)
	slices.SortFunc(t.ByCode, func(a, b CodeCount) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), strings.Compare(string(a.Code), string(b.Code)))
	})
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
