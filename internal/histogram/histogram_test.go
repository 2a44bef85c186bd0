package histogram

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestClassesFollowEachOther(t *testing.T) {
	t.Parallel()
	for class := range len(Durations{}) - 1 {
		assert.Equal(t, class, Class(Bound(class)))
		assert.Equal(t, class, Class(Bound(class+1)-1))
		assert.InEpsilon(t, Bound(class+1), Bound(class), .13)
	}
	assert.Zero(t, Class(-time.Hour))
	assert.Equal(t, len(Durations{})-1, Class(math.MaxInt64))
}

// Percentiles are those of the sorted durations, to within a sixteenth; what is
// written and read adds up.
func TestPercentilesAndForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Int64Range(1<<16, int64(time.Hour)), 1, 200).Draw(t, "took")
		var a, b, sum Durations
		for i, d := range took {
			if i%2 == 0 {
				a.Add(time.Duration(d))
			} else {
				b.Add(time.Duration(d))
			}
		}
		for _, h := range []*Durations{&a, &b} {
			text, err := h.AppendBinary(nil)
			require.NoError(t, err)
			require.NoError(t, sum.AddBinary(text))
		}
		a.Merge(&b)
		require.Equal(t, a, sum)
		require.EqualValues(t, len(took), sum.Count())
		slices.Sort(took)
		for _, q := range []float64{0, .5, .95, 1} {
			want := took[max(int(math.Ceil(q*float64(len(took)))), 1)-1]
			require.InEpsilon(t, want, sum.At(q), 1./16)
		}
	})
	assert.Zero(t, new(Durations).At(.5))
}

func TestForeignBytesAreRefused(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{{0x80}, {1}, {200, 1, 1, 200, 1, 1}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1}} {
		assert.Error(t, new(Durations).AddBinary(b))
	}
}

// Of few durations the high shares are the longest one, not the one before it.
func TestTheLongestIsSeen(t *testing.T) {
	t.Parallel()
	var d Durations
	d.Add(time.Millisecond)
	d.Add(time.Second)
	for q, want := range map[float64]time.Duration{0: time.Millisecond, 0.5: time.Millisecond, 0.95: time.Second, 0.99: time.Second, 1: time.Second} {
		assert.InEpsilon(t, want, d.At(q), 0.2, q)
	}
}
