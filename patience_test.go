package toolguard

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unmoved is an observer of nothing.
type unmoved struct{}

func (unmoved) Observe(context.Context, Event) {}

// Do may lose its patience before the events are even begun with.
func TestPatienceIsLostBeforeTheEventsAreTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy ObservePolicy
		stuck  int32 // by another event
		lost   uint64
	}{
		"at once":                    {lost: 1}, // it is itself in the way
		"by a queue":                 {policy: ObservePolicy{Queue: 8}},
		"while another one is stuck": {stuck: 1, lost: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := New(Action(Info{Name: "tool"}, func(context.Context, struct{}) error { return nil }), &Options{Observer: unmoved{}, Observe: tt.policy})
				require.NoError(t, err)
				e := g.events
				e.stuck.Store(tt.stuck)
				c := g.open(t.Context(), Call{}, nil, nil)
				c.refuse(CodeShuttingDown, 0)
				c.current.Store(&attempt{call: c})
				var events telling
				c.telling(&events)
				c.owe(&events)
				e.overdue(&c.state)
				e.tell(c, &events)
				synctest.Wait()
				assert.Equal(t, tt.stuck, e.stuck.Load())
				assert.Equal(t, tt.lost, e.lost.Load())
			})
		})
	}
}
