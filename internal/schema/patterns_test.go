package schema

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// A large pattern on a long text would take many seconds that nothing can
// interrupt; both alone are fine.
func TestPatternsTakeBoundedWork(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`((a{0,100}){0,10}b){0,1}c`, `.{900}x`} {
		raw, err := json.Marshal(map[string]any{"properties": map[string]any{"s": map[string]any{"type": "string", "pattern": pattern}}})
		require.NoError(t, err)
		s, err := Compile(raw, Strict)
		require.NoError(t, err)
		judge := func(n int) []Violation {
			doc, err := strictjson.Parse([]byte(`{"s":"`+strings.Repeat("a", n)+`"}`), strictjson.Limits{})
			require.NoError(t, err)
			found, _ := s.Validate(&doc)
			return found
		}
		began := time.Now()
		found := judge(1_000_000)
		require.Len(t, found, 1, pattern)
		assert.Equal(t, RuleInternal, found[0].Rule)
		assert.Less(t, time.Since(began), 2*time.Second, "it was not matched")
		found = judge(10)
		require.Len(t, found, 1)
		assert.Equal(t, RulePattern, found[0].Rule, "a short text is")
	}
}
