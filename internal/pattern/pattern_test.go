package pattern_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/pattern"
)

// Patterns that become thousands of states end in time, and say so.
func TestCostlyPatternsAreGivenUp(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 1<<20)
	for _, source := range []string{`((a{0,100}){0,10}b){0,1}c`, `.{900}x`, `(\w{1,100}\s){1,9}end`} {
		p, err := pattern.Compile(source)
		require.NoError(t, err)
		budget := pattern.NewBudget(20 * time.Millisecond)
		began := time.Now()
		assert.False(t, p.MatchString(text, &budget), source)
		assert.True(t, budget.Exhausted(), source)
		assert.Less(t, time.Since(began), 2*time.Second, "far less than the %s unbounded", source)
		assert.False(t, p.Match([]byte(text), &budget), "nothing is left for another")
	}
}

// Many matches that are harmless one by one are not, together.
func TestManySmallMatchesAreCounted(t *testing.T) {
	t.Parallel()
	p, err := pattern.Compile(`(\w{1,100}\s){1,9}end`)
	require.NoError(t, err)
	budget := pattern.NewBudget(20 * time.Millisecond)
	began := time.Now()
	for range 1_000_000 {
		if p.MatchString("words that do not end in time", &budget); budget.Exhausted() {
			break
		}
	}
	assert.True(t, budget.Exhausted())
	assert.Less(t, time.Since(began), 2*time.Second)
}

func TestLargeTextsOfOrdinaryPatternsMatch(t *testing.T) {
	t.Parallel()
	budget := pattern.NewBudget(10 * time.Second)
	for source, want := range map[string]bool{`^a+$`: true, `^(a|b)*c$`: false, `\Aa{5}`: true, `a\z`: true, `\bb`: false, `^$`: false} {
		p, err := pattern.Compile(source)
		require.NoError(t, err)
		assert.Equal(t, want, p.MatchString(strings.Repeat("a", 100_000), &budget), source)
	}
	assert.False(t, budget.Exhausted())
}

// Fed piecewise, an expression finds what it finds in one go.
func TestPiecewiseIsTheSame(t *testing.T) {
	t.Parallel()
	sources := []string{`^[a-c]{2,9}b$`, `(?m)^b`, `\bc\B`, `(?i)ÄB`, `a.{3}c|c$`, `^(?:ab?)*$`}
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom(sources).Draw(t, "source")
		text := strings.Repeat(rapid.StringMatching(`[abcä\n ]{0,30}`).Draw(t, "text"), rapid.IntRange(1, 3000).Draw(t, "times"))
		p, err := pattern.Compile(source)
		require.NoError(t, err)
		budget := pattern.NewBudget(time.Minute)
		want := regexp.MustCompile(source).MatchString(text)
		assert.Equal(t, want, p.MatchString(text, &budget))
		assert.Equal(t, want, p.Match([]byte(text), &budget))
	})
}

func TestOrdinaryTextsAllocateNothing(t *testing.T) {
	p, err := pattern.Compile(`^[0-9a-f]{8}-[0-9a-f]{4}$`)
	require.NoError(t, err)
	text := []byte("01234567-89ab")
	budget := pattern.NewBudget(time.Second)
	assert.Zero(t, testing.AllocsPerRun(100, func() { p.Match(text, &budget) }))
}
