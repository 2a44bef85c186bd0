package toolguard

import (
	"context"
	"log/slog"
	"slices"
)

// LogObserver returns an [Observer] that writes each event to a logger: failures
// of the system, late answers and breakers that open at Warn; refused arguments,
// business and permission refusals, retried attempts and answers from elsewhere
// at Info; the rest at Debug. A nil logger means [slog.Default]. Arguments and results are written
// only if ObservePolicy asks for them. What comes from outside is redacted and
// bounded, see [Redactor]; of the stack of a panic there are functions and lines.
func LogObserver(logger *slog.Logger) Observer {
	return &logObserver{logger: logger, redactor: NewRedactor(nil)}
}

type logObserver struct {
	logger   *slog.Logger
	redactor *Redactor
}

// Bounds of logged texts, in characters.
const (
	maxLoggedError   = 2 << 10
	maxLoggedPayload = 16 << 10
)

// Observe implements [Observer].
func (o *logObserver) Observe(ctx context.Context, e Event) {
	logger, level := o.to(), e.level()
	if !logger.Enabled(ctx, level) {
		return
	}
	logger.LogAttrs(ctx, level, "tool "+e.Kind.String(), e.attrs(o.redactor)...)
}

// WantsSuccess implements [SelectiveObserver]: successes are logged at Debug.
func (o *logObserver) WantsSuccess(ctx context.Context) bool {
	return o.to().Enabled(ctx, slog.LevelDebug)
}

func (o *logObserver) to() *slog.Logger {
	if o.logger == nil {
		return slog.Default()
	}
	return o.logger
}

func (e *Event) level() slog.Level {
	opens := slices.ContainsFunc(e.Transitions, func(t Transition) bool { return t.To == BreakerOpen })
	switch {
	case e.Kind == EventLate, opens:
		return slog.LevelWarn
	case e.Kind == EventCall && !e.OK:
		return e.failureLevel()
	case e.Decision == DecisionRetry, e.Decision == DecisionFallback, len(e.Transitions) > 0:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// failureLevel tells what somebody on call should see from what is an answer.
func (e *Event) failureLevel() slog.Level {
	switch e.Category {
	case CategoryParam, CategoryBusiness, CategoryPermission:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// attrs are the facts of the event that are there.
func (e *Event) attrs(r *Redactor) []slog.Attr {
	a := make([]slog.Attr, 0, 24)
	a = append(a,
		slog.String("tool", e.Tool), slog.Bool("ok", e.OK), slog.Duration("duration", e.Duration),
		slog.String("stage", e.Stage.String()), slog.String("decision", e.Decision.String()),
		slog.String("outcome", e.Outcome.String()), slog.Int("attempts", e.Attempts),
	)
	a = e.appendTexts(a, r)
	if e.Kind != EventCall {
		a = append(a, slog.Int("attempt", e.Attempt), slog.Int("requests", e.Requests))
	}
	if e.Wait > 0 {
		a = append(a, slog.Duration("wait", e.Wait))
	}
	if e.Digest != (Digest{}) {
		a = append(a, slog.String("digest", e.Digest.String()))
	}
	if n := len(e.Transitions); n > 0 {
		a = append(a, slog.String("breaker", e.Transitions[n-1].To.String()))
	}
	if len(e.NotEnforced) > 0 {
		a = append(a, slog.Any("not_enforced", e.NotEnforced))
	}
	if e.Lost > 0 {
		a = append(a, slog.Uint64("lost_events", e.Lost))
	}
	return a
}

// appendTexts appends the texts that are not empty. The error's own methods are
// not trusted here either.
func (e *Event) appendTexts(a []slog.Attr, r *Redactor) []slog.Attr {
	texts := []struct{ name, value string }{
		{"call_id", e.CallID}, {"code", string(e.Code)}, {"why", e.Why}, {"incident", e.Incident},
		{"detail", e.Detail}, {"version", e.ToolVersion}, {"source", e.Source},
		{"tenant", e.Scope.Tenant}, {"principal", e.Scope.Principal}, {"session", e.Scope.Session},
		{"turn", e.Scope.Turn}, {"run", e.Scope.Run}, {"step", e.Scope.Step},
		{"key", e.Key}, {"arguments", r.Text(string(e.Arguments), maxLoggedPayload)}, {"result", r.Text(e.Result, maxLoggedPayload)},
	}
	for _, t := range texts {
		if t.value != "" {
			a = append(a, slog.String(t.name, t.value))
		}
	}
	if e.Err != nil {
		a = append(a, slog.String("error", r.Error(e.Err, maxLoggedError)))
	}
	if p, ok := e.Err.(*PanicError); ok {
		a = append(a, slog.String("stack", frames(p.Stack)))
	}
	return a
}
