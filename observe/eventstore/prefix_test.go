package eventstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// The beginning of a key or of a call ID finds both, as it is written and no
// pattern, in either database.
func TestRecordsByTheBeginningOfAName(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, name string) {
		s := open(t, name)
		r := recorder(t, s, eventstore.Options{})
		for i, names := range [][2]string{{"key-äb-1", "call-1"}, {"key-äb-2", "call-2"}, {"k%y", "CALL-3"}} {
			e := call(noon, "pay", toolguard.CodeAttemptTimeout, uint64(i+1))
			e.Key, e.CallID = names[0], names[1]
			r.Observe(t.Context(), e)
		}
		require.NoError(t, r.Close(t.Context()))
		for prefix, want := range map[string]int{"key-ä": 2, "key-äb-1": 1, "call": 2, "CALL": 1, "k%": 1, "%": 0, "key_": 0, "x": 0} {
			found, err := s.Records(t.Context(), eventstore.Query{Prefix: prefix})
			require.NoError(t, err)
			assert.Len(t, found, want, prefix)
		}
	})
}
