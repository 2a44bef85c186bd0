package redact

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const fakeToken = "ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake1234"

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		limit      int
		want       string
		cut        bool
	}{
		{"short", "all of it", 20, "all of it", false},
		{"exact", "12345", 5, "12345", false},
		{"long", "123456", 5, "1234…", true},
		{"runes, not bytes", "ééééééé", 5, "éééé…", true},
		{"redacted first", "key " + fakeToken, 20, "key [redacted:token]", false},
		{"inside a marker", "key " + fakeToken, 19, "key …", true},
		{"behind a marker", "key " + fakeToken + " is old", 21, "key [redacted:token]…", true},
		{"a bracket is no marker", "[red, green and blue]", 8, "[red, g…", true},
		{"nothing fits", "abc", 0, "", true},
		{"nothing to fit", "", 0, "", false},
		{"negative", "abc", -3, "", true},
		{"one", "abc", 1, "…", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := New(Options{})
			got, cut := r.Cut(c.text, c.limit)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.cut, cut)
		})
	}
}

// A cut can leave what is a finding where the whole was none.
func TestCutMakesAFinding(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	const text = "see 10.0.0.5.6.7 there"
	require.Equal(t, text, r.Redact(text))
	got, _ := r.Cut(text, 13)
	assert.NotContains(t, got, "10.0")
	assert.LessOrEqual(t, utf8.RuneCountInString(got), 13)
}

// case l05: the limit falls into a secret.
func TestCutRedactsFirst(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	for start := 1900; start < 2001; start += 7 {
		got, _ := r.Cut(strings.Repeat("x", start)+" "+fakeToken, 2000)
		assert.NotContains(t, got, "FAKE")
		assert.NotContains(t, got, "ghp_")
	}
}

// A secret on the edge of what is read at all leaves no part of itself, be it
// after a space or in one endless word.
func TestCutWindowEdge(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	const limit = 300
	size := limit*2*utf8.UTFMax + slack
	for _, pad := range []string{"/etc/passwd-and-more/xxxxxxxx ", "aaaa.bbb-"} {
		for _, edge := range []int{size, size - undecided} {
			for shift := -60; shift < 60; shift += 3 {
				head := strings.Repeat(pad, size/len(pad)+20)[:edge-len(fakeToken)/2+shift]
				text := head + "=" + fakeToken + strings.Repeat(" tail", 1000)
				require.NotContains(t, decided(r.Redact(text[:size])), "ghp_")
				got, cut := r.Cut(text, limit)
				require.True(t, cut)
				require.LessOrEqual(t, utf8.RuneCountInString(got), limit)
			}
		}
	}
}

// Markers are shorter than what they replace, so the far end of the window
// can move into what is kept.
func TestCutShrinkingWindow(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	got, cut := r.Cut(strings.Repeat("password="+strings.Repeat("p4", 300)+" ", 20), 300)
	assert.True(t, cut)
	assert.Equal(t, strings.Repeat("password=[redacted:secret] ", 10)[:269]+ellipsis, got)
}

// The same with a token on the edge of the window and no space anywhere.
func TestCutShrinkingWord(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	size := 300*2*utf8.UTFMax + slack
	filler := strings.Repeat("password="+strings.Repeat("p4", 300)+"&", 20)
	for _, edge := range []int{size, size - undecided} {
		for shift := range 40 {
			head := filler[:edge-shift-3] + "&x=" + fakeToken
			got, _ := r.Cut(head+filler, 300)
			require.NotContains(t, got, "ghp_")
			require.NotContains(t, got, "p4")
		}
	}
}

func TestCutOfHugeTextReadsAWindow(t *testing.T) {
	r := New(Options{})
	huge := strings.Repeat("plain words, ", 4<<20)
	allocs := testing.AllocsPerRun(3, func() { r.Cut(huge, 300) })
	assert.LessOrEqual(t, allocs, 4.0)
}

func TestCutProperties(t *testing.T) {
	t.Parallel()
	r := New(Options{Emails: true})
	rapid.Check(t, func(t *rapid.T) {
		text, limit := drawText(t), rapid.IntRange(0, 60).Draw(t, "limit")
		got, cut := r.Cut(text, limit)
		require.LessOrEqual(t, utf8.RuneCountInString(got), limit)
		require.Equal(t, got, r.Redact(got), "a cut text mentions nothing")
		if !cut {
			require.Equal(t, r.Redact(text), got)
		}
		again, _ := r.Cut(got, limit)
		require.Equal(t, got, again)
	})
}
