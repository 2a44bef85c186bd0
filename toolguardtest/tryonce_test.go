package toolguardtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

// deafJournal takes nothing.
type deafJournal struct{ toolguard.Journal }

func (deafJournal) Write(context.Context, toolguard.Version, toolguard.Entry, ...toolguard.Record) (toolguard.Entry, bool, error) {
	return toolguard.Entry{}, false, errors.New("no network here")
}

// A subject that refuses its own call is one mistake, and is said once, with what to
// mend, before 150 faults say it each in its own way.
func TestSubjectsThatCannotWork(t *testing.T) {
	t.Parallel()
	guarded := func(opts *toolguard.Options, change func(*toolguard.Typed[order])) func(t testing.TB) tgt.Subject {
		return func(t testing.TB) tgt.Subject {
			tool := toolguard.Func(infoOf(toolguard.NonIdempotent), func(context.Context, order) (string, error) { return "refunded", nil })
			if change != nil {
				change(tool)
			}
			return tgt.Guarded(guardOf(t, tool, opts), orderArgs)
		}
	}
	refuses := func(context.Context, order) error { return toolguard.Permission("Not you.") }
	subjects := map[string]func(t testing.TB) tgt.Subject{
		"the tool's schema refuses the subject's Args: give arguments": func(t testing.TB) tgt.Subject {
			return tgt.Guarded(guardOf(t, refund(infoOf(0)), nil), `{"order":7}`)
		},
		"its Authorize refuses": guarded(nil, func(tool *toolguard.Typed[order]) { tool.Authorize = refuses }),
		"its Check refuses": guarded(nil, func(tool *toolguard.Typed[order]) {
			tool.Check = func(context.Context, order) error { return toolguard.Business("Closed.") }
		}),
		"nobody decides here: give the guard NewApprover": guarded(&toolguard.Options{Approver: tgt.NewApprover(toolguard.ApprovalPending)}, nil),
		"its Approver does not approve":                   guarded(&toolguard.Options{Approver: tgt.NewApprover(toolguard.ApprovalDenied)}, nil),
		"give the guard JournalFor(info)":                 guarded(&toolguard.Options{Journal: deafJournal{toolguard.NewMemoryJournal()}}, nil),
		"its toolbox does not let the call through": func(t testing.TB) tgt.Subject {
			box, _ := toolguard.NewToolbox(nil, refund(infoOf(toolguard.NonIdempotent)))
			box.SetReadOnlyMode(true)
			return tgt.Boxed(box, "refund", orderArgs)
		},
		"the loop was not made": func(t testing.TB) tgt.Subject {
			box, _ := toolguard.NewToolbox(nil, refund(infoOf(0)))
			return tgt.Looped(box, "refund", orderArgs, func(agentloop.Model) (*agentloop.Loop, error) { return nil, errors.New("the loop was not made") })
		},
	}
	for want, newSubject := range subjects {
		synctest.Test(t, func(t *testing.T) {
			assertSays(t, tgt.Unreached(t, newSubject), "nothing was tried", want)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		box, _ := toolguard.NewToolbox(nil, refund(infoOf(toolguard.NonIdempotent)))
		shared := func(testing.TB) tgt.Subject { return tgt.Boxed(box, "refund", orderArgs) }
		assert.Empty(t, tgt.Unreached(t, shared))
		assertSays(t, tgt.Unreached(t, shared), "make them in the function that makes the subject")
	})
}
