package toolguard_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/toolguardtest"
)

// The journal in memory owes what every journal owes.
func TestMemoryJournalMeetsItsObligations(t *testing.T) {
	toolguardtest.TestJournal(t, toolguardtest.JournalSuite{
		Open:   func(testing.TB) toolguard.Journal { return toolguard.NewMemoryJournal() },
		Again:  func(_ testing.TB, j toolguard.Journal) toolguard.Journal { return j },
		Bubble: true,
	})
}

// So does a sealed one: what is stored cannot be read, what comes back is what was.
func TestSealedJournalMeetsItsObligations(t *testing.T) {
	flip := func(text []byte) ([]byte, error) {
		sealed := slices.Clone(text)
		for i := range sealed {
			sealed[i] ^= 0x5a
		}
		return sealed, nil
	}
	toolguardtest.TestJournal(t, toolguardtest.JournalSuite{
		Open: func(t testing.TB) toolguard.Journal {
			j, err := toolguard.Sealed(toolguard.NewMemoryJournal(), flip, flip)
			require.NoError(t, err)
			return j
		},
		Again:  func(_ testing.TB, j toolguard.Journal) toolguard.Journal { return j },
		Bubble: true,
	})
}
