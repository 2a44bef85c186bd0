package toolguard_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A guard inside answers for its tool also when the one around it has given up: a
// failure with a nil error is a failure still.
func TestALateAnswerOfAnInnerGuardIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does  func(*bank) error
		state toolguard.State
		again string
	}{
		"nobody knows": {func(*bank) error { return toolguard.MaybeDone(errLost) }, toolguard.StateUnknown, "in_doubt/unknown"},
		"nothing done": {func(*bank) error { return toolguard.NoEffect(errLost) }, toolguard.StateFailed, "ok"},
		"done":         {func(b *bank) error { _, err := b.refund(context.Background(), refundIn{}); return err }, toolguard.StateSucceeded, "ok"},
	} {
		for which, of := range map[string]string{"its own": "refund", "another tool": "pay"} {
			c := c
			inBubble(t, name+", "+which, func(t *testing.T) {
				b, j, log := new(bank), toolguard.NewMemoryJournal(), new(eventLog)
				var runs atomic.Int32
				inner := guardOf(t, toolguard.Action(toolguard.Info{Name: of}, func(context.Context, struct{}) error {
					if runs.Add(1) > 1 {
						_, err := b.refund(context.Background(), refundIn{})
						return err
					}
					time.Sleep(time.Minute)
					return c.does(b)
				}), &toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: time.Hour, Grace: time.Hour}})
				g := guardOf(t, plain{toolguard.Info{Name: "refund"}, inner.Call}, &toolguard.Options{Journal: j, Observer: log, Timeout: toolguard.TimeoutPolicy{Attempt: time.Second}})
				assert.Equal(t, "abandoned/unknown", verdict(doIn(inTurn("1"), g)))
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				e := entry(t, j)
				if of != "refund" && c.state == toolguard.StateFailed { // what it did beside is open
					c.state, c.again = toolguard.StateUnknown, "in_doubt/unknown"
				}
				assert.Equal(t, c.state, e.State)
				late := log.of(toolguard.EventLate)
				require.Len(t, late, 1)
				assert.Equal(t, c.state == toolguard.StateSucceeded, late[0].OK)
				assert.Equal(t, c.again, verdict(doIn(inTurn("1"), g)))
				assert.LessOrEqual(t, b.count(), 1)
			})
		}
	}
}
