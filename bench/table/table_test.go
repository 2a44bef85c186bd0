package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/bench"
)

func TestVerdictMarksEachTerm(t *testing.T) {
	t.Parallel()
	c := bench.Case{Name: "x"}
	peer := &row{c: c, v: bench.Variant{Name: "peer"}, procs: 1, nanos: []float64{100, 900}, allocs: 10}
	own := &row{c: c, v: bench.Variant{Name: "own"}, procs: 1, nanos: []float64{150}, allocs: 8, bytes: 65}
	elsewhere := &row{c: c, v: bench.Variant{Name: "peer"}, procs: 2, nanos: []float64{1}, allocs: 1}
	rows := []*row{elsewhere, peer, own}

	kept := own.judge(rows, bench.Bound{Beside: "peer", Time: 1.5, Share: .8, Allocs: 8, Bytes: 65, Nanos: 150, More: 50, Extra: 1})
	assert.Equal(t, "≤ 1.50× ok, ≤ 150 ns ok, ≤ 8 allocs ok, ≤ 65 B ok, ≤ 0.80× allocs ok, + ≤ 50 ns ok, + ≤ 1 allocs ok", kept.String())
	assert.InDelta(t, 1.5, kept.ratio, 1e-9)

	broken := own.judge(rows, bench.Bound{Beside: "peer", Time: 1.4, Share: .7, Allocs: 7, Bytes: 64, Nanos: 149, Stretch: true})
	assert.Equal(t, 5, strings.Count(broken.String(), "over"))
	assert.Equal(t, "stretch: ", broken.String()[:9])

	costly := (&row{c: c, procs: 1, nanos: []float64{151}, allocs: 12}).judge(rows, bench.Bound{Beside: "peer", More: 50, Extra: 1})
	assert.Equal(t, "+ ≤ 50 ns over, + ≤ 1 allocs over", costly.String())
}

// What is added is compared without what both stand on.
func TestVerdictOnWhatIsAdded(t *testing.T) {
	t.Parallel()
	at := func(name string, nanos float64, allocs int64) *row {
		return &row{c: bench.Case{Name: "x"}, v: bench.Variant{Name: name}, procs: 1, nanos: []float64{nanos}, allocs: allocs}
	}
	own := at("own", 190, 9)
	rows := []*row{at("base", 100, 5), at("hand", 150, 7), own}
	v := own.judge(rows, bench.Bound{Beside: "hand", Over: "base", Time: 1.5, Share: 1.5})
	assert.InDelta(t, 1.8, v.ratio, 1e-9)
	assert.Equal(t, "≤ 1.50× over, ≤ 1.50× allocs over", v.String())
}

func TestReplaceTouchesOnlyTheTable(t *testing.T) {
	t.Parallel()
	text := "above\n" + openMark + "old\n" + closeMark + "below\n"
	got, err := replace([]byte(text), []byte("new\n"))
	require.NoError(t, err)
	assert.Equal(t, "above\n"+openMark+"new\n"+closeMark+"below\n", string(got))

	for _, bad := range []string{"", openMark, closeMark, closeMark + openMark} {
		_, err := replace([]byte(bad), nil)
		assert.Error(t, err, "%q", bad)
	}
}

func TestTableHasAllRows(t *testing.T) {
	rows := rowsOf(bench.Cases()[:1])
	for _, r := range rows {
		r.nanos = []float64{1}
	}
	var b bytes.Buffer
	writeTable(&b, rows)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for _, line := range lines {
		assert.Equal(t, strings.Count(lines[0], "|"), strings.Count(line, "|"), line)
	}
	assert.GreaterOrEqual(t, len(lines), 2+len(rows))
}
