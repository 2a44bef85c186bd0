package toolguardtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

// wide has a member of every type.
type wide struct {
	OrderID string `json:"order_id"`
	Cents   int    `json:"cents"`
	Urgent  bool   `json:"urgent"`
}

const wideArgs = `{"order_id":"A-17","cents":8000,"urgent":true}`

func wideTool(effect toolguard.Effect) toolguard.Tool {
	info := infoOf(effect)
	info.Name = "make_refund"
	return toolguard.Func(info, func(context.Context, wide) (string, error) { return "refunded", nil })
}

func wideBox(t testing.TB, effect toolguard.Effect) *toolguard.Toolbox {
	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Aliases: true}, wideTool(effect))
	require.NoError(t, err)
	return box
}

func TestCasesOfToolboxes(t *testing.T) {
	t.Parallel()
	for _, effect := range effects {
		t.Run(effect.String(), func(t *testing.T) {
			t.Parallel()
			tgt.Cases(t, func(t testing.TB) tgt.Subject { return tgt.Boxed(wideBox(t, effect), "make_refund", wideArgs) })
		})
	}
}

func TestCasesOfGuardsAndLoops(t *testing.T) {
	t.Parallel()
	t.Run("guard", func(t *testing.T) {
		t.Parallel()
		tgt.Cases(t, func(t testing.TB) tgt.Subject {
			return tgt.Guarded(guardOf(t, wideTool(toolguard.NonIdempotent), nil), wideArgs)
		})
	})
	t.Run("with approvals and a journal", func(t *testing.T) {
		t.Parallel()
		for _, effect := range effects[1:] {
			t.Run(effect.String(), func(t *testing.T) {
				tgt.Cases(t, func(t testing.TB) tgt.Subject { return approved(t, effect) })
			})
		}
	})
	t.Run("loop", func(t *testing.T) {
		t.Parallel()
		tgt.Cases(t, func(t testing.TB) tgt.Subject {
			box := wideBox(t, toolguard.NonIdempotent)
			return tgt.Looped(box, "make_refund", wideArgs, func(m agentloop.Model) (*agentloop.Loop, error) { return agentloop.New(m, box, nil) })
		})
	})
}

// approved is a subject whose calls somebody has to approve, of a tool that wants a
// journal.
func approved(t testing.TB, effect toolguard.Effect) tgt.Subject {
	tool := wideTool(effect)
	info := tool.Info()
	info.Durability = toolguard.DurabilityReplicated
	approver, journal := tgt.NewApprover(toolguard.ApprovalGranted), tgt.JournalFor(info)
	box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Aliases: true, Options: toolguard.Options{Approver: approver, Journal: journal}},
		toolguard.Func(info, func(context.Context, wide) (string, error) { return "refunded", nil }))
	require.NoError(t, err)
	s := tgt.Boxed(box, "make_refund", wideArgs)
	s.Approver, s.Journal = approver, journal
	return s
}

// brokenSubjects are what cases have to find, each in what it is about.
var brokenSubjects = map[string]func(t testing.TB, s *tgt.Subject){
	"nothing is guarded": bare(unguarded),
	"everything is refused": func(_ testing.TB, s *tgt.Subject) {
		s.Do = func(_ context.Context, c toolguard.Call) []toolguard.Envelope {
			return []toolguard.Envelope{{CallID: c.ID, Tool: c.Tool, Error: &toolguard.Failure{Category: toolguard.CategoryUnavailable, Code: toolguard.CodeBreakerOpen, Outcome: toolguard.OutcomeNotStarted, Message: "No."}}}
		}
	},
	"everything is claimed": bare(func(ctx context.Context, tool toolguard.Tool, c toolguard.Call) []toolguard.Envelope {
		r, _ := tool.Call(ctx, c.Args)
		return success(c, r)
	}),
	"every failure is final": breaking(func(e *toolguard.Envelope) {
		if !e.OK {
			e.Error.Outcome, e.Suggestion, e.Error.Category = toolguard.OutcomeFailed, "", toolguard.CategoryBusiness
		}
	}),
	"it retries at once": bare(func(ctx context.Context, tool toolguard.Tool, c toolguard.Call) (envs []toolguard.Envelope) {
		for range 5 {
			envs = unguarded(context.WithoutCancel(ctx), tool, c)
			if envs[0].OK {
				break
			}
		}
		return envs
	}),
	"everything is done five times": func(_ testing.TB, s *tgt.Subject) {
		sound := s.Do
		s.Do = func(ctx context.Context, c toolguard.Call) (envs []toolguard.Envelope) {
			for range 5 {
				envs = sound(ctx, c)
			}
			return envs
		}
	},
	"everything takes a day": func(_ testing.TB, s *tgt.Subject) {
		sound := s.Do
		s.Do = func(ctx context.Context, c toolguard.Call) []toolguard.Envelope {
			time.Sleep(24 * time.Hour)
			return sound(ctx, c)
		}
	},
	"it waits as long as it is told": otherGuard(toolguard.Idempotent, &toolguard.Options{
		Retry:   toolguard.RetryPolicy{MaxRetryAfter: 24 * time.Hour},
		Timeout: toolguard.TimeoutPolicy{Off: true},
	}),
	"a schema that checks nothing": func(t testing.TB, s *tgt.Subject) {
		info := infoOf(toolguard.NonIdempotent)
		info.Schema = []byte(`{"cents":{"type":"number"},"note":{"type":"string","format":"no-such-format"},"x":{"$ref":"https://example.com/x.json"}}`)
		lenient := &toolguard.Options{Arguments: toolguard.ArgumentPolicy{Schema: toolguard.SchemaLenient}}
		*s = tgt.Guarded(guardOf(t, tgt.NewTool(t, info), lenient), wideArgs)
	},
	"a schema that is enforced in part": func(t testing.TB, s *tgt.Subject) {
		info := infoOf(toolguard.NonIdempotent)
		info.Schema = []byte(`{"type":"object","properties":{"cents":{"$ref":"https://example.com/x.json"}}}`)
		lenient := &toolguard.Options{Arguments: toolguard.ArgumentPolicy{Schema: toolguard.SchemaLenient}}
		*s = tgt.Guarded(guardOf(t, tgt.NewTool(t, info), lenient), wideArgs)
	},
	"a breaker that opens at once": func(t testing.TB, s *tgt.Subject) {
		sound := s.Do
		var failed atomic.Bool
		s.Do = func(ctx context.Context, c toolguard.Call) []toolguard.Envelope {
			if failed.Load() {
				return []toolguard.Envelope{{CallID: c.ID, Error: &toolguard.Failure{Code: toolguard.CodeBreakerOpen, Outcome: toolguard.OutcomeNotStarted}}}
			}
			envs := sound(ctx, c)
			if !envs[0].OK {
				failed.Store(true)
			}
			return envs
		}
	},
	"failures are kept": func(t testing.TB, s *tgt.Subject) {
		sound := s.Do
		var kept atomic.Pointer[[]toolguard.Envelope]
		s.Do = func(ctx context.Context, c toolguard.Call) []toolguard.Envelope {
			if kept.Load() == nil {
				envs := sound(ctx, c)
				kept.Store(&envs)
			}
			return *kept.Load()
		}
	},
	"the outcome is forgotten":      otherGuard(toolguard.NonIdempotent, nil),
	"a box that has lost its tools": func(t testing.TB, s *tgt.Subject) { s.Box, _ = toolguard.NewToolbox(nil) },
}

// Each case finds something in at least one subject that is broken.
func TestEachCaseCanFail(t *testing.T) {
	t.Parallel()
	for _, c := range tgt.Corpus() {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			said := map[string]string{}
			for name, breaks := range brokenSubjects {
				synctest.Test(t, func(t *testing.T) {
					if text := failing(t, func(t testing.TB) {
						c.Try(t, func(t testing.TB) tgt.Subject {
							s := approved(t, toolguard.NonIdempotent)
							breaks(t, &s)
							return s
						})
					}); text != "" {
						said[name] = text
					}
					time.Sleep(48 * time.Hour) // until all that is slow is over
				})
			}
			assert.NotEmpty(t, said)
			for _, text := range said {
				assert.Contains(t, text, "case "+c.ID+" (")
			}
		})
	}
}

func TestCorpusIsInOrder(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, c := range tgt.Corpus() {
		assert.False(t, ids[c.ID], "two cases are %s", c.ID)
		ids[c.ID] = true
		assert.NotEmpty(t, c.Title)
		assert.Contains(t, c.Source, "/", "%s names no report", c.ID)
	}
	assert.Len(t, tgt.Corpus(tgt.KindNames), 3)
	assert.Less(t, len(tgt.Corpus(tgt.KindNames, tgt.KindLeaks)), len(ids))
}

// testdata/cases.md lists what the kit has.
func TestCorpusIsInTheTable(t *testing.T) {
	t.Parallel()
	rows := []string{"| kind | cases |", "|---|---|"}
	for kind := 'a'; kind <= 'p'; kind++ {
		var ids []string
		for _, c := range tgt.Corpus(tgt.Kind(kind)) {
			if id, _, _ := strings.Cut(c.ID, " "); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		assert.NotEmpty(t, ids, "no case of kind %c", kind)
		rows = append(rows, fmt.Sprintf("| %c | %s |", kind, strings.Join(ids, " ")))
	}
	compare(t, "../testdata/cases.md", "kit", rows)
}

func TestCasesNeedSomethingToTry(t *testing.T) {
	t.Parallel()
	assertSays(t, failing(t, func(t testing.TB) { tgt.Corpus()[0].Try(t, func(testing.TB) tgt.Subject { return tgt.Subject{} }) }), "the subject has no tool")
}
