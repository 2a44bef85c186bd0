package otelguard

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/toolguard-go/toolguard"
)

// Instrument is one of the metrics, for documentation and tests of dashboards.
type Instrument struct {
	Name, Unit, Help string
	// Attributes are those a measurement may have.
	Attributes []string
	// Kind is counter, histogram or gauge.
	Kind string
}

// The names of the instruments.
const (
	metricCalls       = "toolguard.calls"
	metricDuration    = "toolguard.call.duration"
	metricSize        = "toolguard.envelope.size"
	metricAttempts    = "toolguard.attempts"
	metricRetries     = "toolguard.retries"
	metricWait        = "toolguard.wait.duration"
	metricTransitions = "toolguard.breaker.transitions"
	metricUnknown     = "toolguard.unknown_outcomes"
	metricReplays     = "toolguard.replays"
	metricJoins       = "toolguard.joins"
	metricReuses      = "toolguard.reuses"
	metricFallbacks   = "toolguard.fallbacks"
	metricConfirms    = "toolguard.confirmations"
	metricLoops       = "toolguard.loop_refusals"
	metricAbandoned   = "toolguard.abandoned"
	metricLate        = "toolguard.late_answers"
	metricApprovals   = "toolguard.approvals"
	metricApproval    = "toolguard.approval.duration"

	metricBreaker = "toolguard.breaker.state"
	metricRunning = "toolguard.abandoned.running"
	metricLost    = "toolguard.events.lost"
	metricStuck   = "toolguard.callbacks.stuck"
	metricEntries = "toolguard.journal.entries"
	metricOldest  = "toolguard.journal.oldest"
)

var (
	byTool    = []string{string(attrTool)}
	byCode    = []string{string(attrTool), string(attrCategory), string(attrCode)}
	byOutcome = []string{string(attrTool), string(attrOutcome)}
)

// eventInstruments are filled by events, in the order of the fields of instruments.
var eventInstruments = []Instrument{
	{metricCalls, "{call}", "Calls that were answered.", []string{string(attrTool), string(attrCategory), string(attrCode), string(attrOutcome), string(attrDecision)}, "counter"},
	{metricAttempts, "{attempt}", "Attempts that ended or were abandoned.", byCode, "counter"},
	{metricRetries, "{retry}", "Attempts that another one followed, by what went wrong.", byCode, "counter"},
	{metricTransitions, "{transition}", "Changes of state of breakers.", []string{string(attrTool), string(attrFrom), string(attrTo)}, "counter"},
	{metricUnknown, "{call}", "Calls that ended with an unknown outcome.", byTool, "counter"},
	{metricReplays, "{call}", "Calls answered by an earlier one's effect.", byTool, "counter"},
	{metricJoins, "{call}", "Calls answered by an identical one in flight.", byTool, "counter"},
	{metricReuses, "{call}", "Calls answered by a recent result.", byTool, "counter"},
	{metricFallbacks, "{call}", "Calls answered from elsewhere.", byTool, "counter"},
	{metricConfirms, "{call}", "Calls whose outcome a status query settled.", byOutcome, "counter"},
	{metricLoops, "{call}", "Calls refused as loops, over a limit or too soon.", byCode, "counter"},
	{metricAbandoned, "{attempt}", "Attempts that did not stop when told to.", byTool, "counter"},
	{metricLate, "{attempt}", "Abandoned attempts that ended after all.", byOutcome, "counter"},
	{metricApprovals, "{call}", "Calls that needed an approval, by what became of that: granted, pending, denied, stale, expired.", []string{string(attrTool), string(attrApproval)}, "counter"},
	{metricDuration, "s", "How long calls took.", []string{string(attrTool), string(attrCategory)}, "histogram"},
	{metricWait, "s", "How long calls waited between attempts.", byTool, "histogram"},
	{metricApproval, "s", "How long approvals that were granted took.", byTool, "histogram"},
	{metricSize, "By", "Size of what models read.", byTool, "histogram"},
}

// watchedInstruments are read from what is watched.
var watchedInstruments = []Instrument{
	{metricBreaker, "{state}", "State of the tool's or dependency's breakers, the worst of all tenants: 0 closed, 1 half-open, 2 open.", []string{string(attrTool)}, "gauge"},
	{metricRunning, "{attempt}", "Abandoned attempts that still run.", byTool, "gauge"},
	{metricLost, "{event}", "Events that observers missed.", byTool, "counter"},
	{metricStuck, "{callback}", "Host code that was given up on and has not returned.", byTool, "gauge"},
}

// journalInstruments are read from a journal.
var journalInstruments = []Instrument{
	{metricEntries, "{entry}", "Entries that are not settled: pending, unknown, parked, awaiting_approval. Up to 1000 of each state are counted.", byState, "gauge"},
	{metricOldest, "s", "How long ago the entry changed that has been in the state for longest, of those counted.", byState, "gauge"},
}

var byState = []string{string(attrState)}

// Instruments returns all there are, those of Watch and WatchJournal included.
func Instruments() []Instrument {
	return slices.Concat(eventInstruments, watchedInstruments, journalInstruments)
}

type instruments struct {
	calls, attempts, retries, transitions, unknown                                      metric.Int64Counter
	replays, joins, reuses, fallbacks, confirmations, loops, abandoned, late, approvals metric.Int64Counter
	duration, wait, approval                                                            metric.Float64Histogram
	size                                                                                metric.Int64Histogram
	byDecision                                                                          [16]metric.Int64Counter
}

// seconds are the bounds of the buckets: tools answer from memory, or take minutes.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}

var sizes = []float64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}

func newInstruments(m metric.Meter) (i instruments, err error) {
	var errs []error
	counters := []*metric.Int64Counter{
		&i.calls, &i.attempts, &i.retries, &i.transitions, &i.unknown, &i.replays, &i.joins, &i.reuses,
		&i.fallbacks, &i.confirmations, &i.loops, &i.abandoned, &i.late, &i.approvals,
	}
	for n, c := range counters {
		d := eventInstruments[n]
		*c, err = m.Int64Counter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help))
		errs = append(errs, err)
	}
	for n, h := range []*metric.Float64Histogram{&i.duration, &i.wait, &i.approval} {
		d := eventInstruments[len(counters)+n]
		*h, err = m.Float64Histogram(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help), metric.WithExplicitBucketBoundaries(seconds...))
		errs = append(errs, err)
	}
	d := eventInstruments[len(eventInstruments)-1]
	i.size, err = m.Int64Histogram(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Help), metric.WithExplicitBucketBoundaries(sizes...))
	i.byDecision = [16]metric.Int64Counter{
		toolguard.DecisionReplay: i.replays, toolguard.DecisionJoin: i.joins,
		toolguard.DecisionReuse: i.reuses, toolguard.DecisionFallback: i.fallbacks,
	}
	return i, errors.Join(append(errs, err)...)
}

func (o *Observer) countCall(ctx context.Context, t *tool, e *toolguard.Event) {
	m := &o.metrics
	m.calls.Add(ctx, 1, t.set(setKey{whole: true, failed: !e.OK, code: e.Code, outcome: e.Outcome, decision: e.Decision}).add...)
	m.duration.Record(ctx, e.Duration.Seconds(), t.set(setKey{failed: !e.OK, category: e.Category}).record...)
	m.size.Record(ctx, int64(e.Bytes), t.set(setKey{}).record...)
	if d := int(e.Decision); d < len(m.byDecision) && m.byDecision[d] != nil {
		m.byDecision[d].Add(ctx, 1, t.set(setKey{}).add...)
	}
	if e.Decision == toolguard.DecisionConfirm {
		m.confirmations.Add(ctx, 1, t.set(setKey{outcome: e.Outcome, hasOutcome: true}).add...)
	}
	if verdict := approval(e); verdict != "" {
		m.approvals.Add(ctx, 1, t.set(setKey{approval: verdict}).add...)
	}
	if e.Approval != nil {
		m.approval.Record(ctx, e.ApprovalWait.Seconds(), t.set(setKey{}).record...)
	}
	if e.OK {
		return
	}
	if e.Outcome == toolguard.OutcomeUnknown {
		m.unknown.Add(ctx, 1, t.set(setKey{}).add...)
	}
	switch e.Code {
	case toolguard.CodeLoopDetected, toolguard.CodeLimitReached, toolguard.CodePolledTooSoon:
		m.loops.Add(ctx, 1, t.set(setKey{failed: true, code: e.Code}).add...)
	}
}

func (o *Observer) countAttempt(ctx context.Context, t *tool, e *toolguard.Event) {
	m := &o.metrics
	by := t.set(setKey{failed: !e.OK, code: e.Code})
	m.attempts.Add(ctx, 1, by.add...)
	if e.Decision == toolguard.DecisionRetry {
		m.retries.Add(ctx, 1, by.add...)
		m.wait.Record(ctx, e.Wait.Seconds(), t.set(setKey{}).record...)
	}
	if abandoned(e) {
		m.abandoned.Add(ctx, 1, t.set(setKey{}).add...)
	}
	for _, c := range e.Transitions {
		m.transitions.Add(ctx, 1, metric.WithAttributes(attrTool.String(t.metric), attrFrom.String(c.From.String()), attrTo.String(c.To.String())))
	}
}

func (o *Observer) countLate(ctx context.Context, t *tool, e *toolguard.Event) {
	o.metrics.late.Add(ctx, 1, t.set(setKey{outcome: e.Outcome, hasOutcome: true}).add...)
}

// setKey says which attributes a measurement has, beside the tool.
type setKey struct {
	whole, failed, hasOutcome bool
	code                      toolguard.Code
	category                  toolguard.Category
	outcome                   toolguard.Outcome
	decision                  toolguard.Decision
	approval                  string
}

// set is made once, so that a measurement allocates nothing.
type set struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

// maxSets bounds the combinations kept for a tool. The table of codes allows some
// hundreds; a classifier might invent more.
const maxSets = 1000

func (t *tool) set(k setKey) set {
	if k.code != "" {
		k.code, k.category = codeOf(k.code), 0
	}
	t.mu.RLock()
	s, ok := t.sets[k]
	t.mu.RUnlock()
	if ok {
		return s
	}
	option := metric.WithAttributeSet(attribute.NewSet(t.attributes(k)...))
	s = set{[]metric.AddOption{option}, []metric.RecordOption{option}}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sets == nil {
		t.sets = make(map[setKey]set)
	}
	if len(t.sets) < maxSets {
		t.sets[k] = s
	}
	return s
}

// codeOf keeps codes to those of the table.
func codeOf(c toolguard.Code) toolguard.Code {
	for known := range toolguard.Codes() {
		if known == c {
			return c
		}
	}
	return toolguard.Code(other)
}

func (t *tool) attributes(k setKey) []attribute.KeyValue {
	a := []attribute.KeyValue{attrTool.String(t.metric)}
	if k.whole || k.hasOutcome {
		a = append(a, attrOutcome.String(k.outcome.String()))
	}
	if k.whole {
		a = append(a, attrDecision.String(k.decision.String()))
	}
	if k.approval != "" {
		a = append(a, attrApproval.String(k.approval))
	}
	if !k.failed {
		return a
	}
	if k.code != "" {
		a = append(a, attrCode.String(string(k.code)))
		k.category = k.code.Category()
	}
	return append(a, attrCategory.String(k.category.String()))
}
