package toolguard

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The table for patient agents is what its documentation says.
func TestRetryTable(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{Rules: RetryTable()}.withDefaults()
	for code, want := range map[Code]int{
		CodeAttemptTimeout: 4, CodeServiceUnavailable: 4, CodeRateLimited: 3, CodeUnknownError: 2, CodeBusinessRule: 1, CodePanic: 1,
	} {
		assert.Equal(t, want, p.scheduleFor(code.row()).attempts, "%s", code)
	}
}
