package redact

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An example is a case of the corpus.
type example struct{ title, text, want string }

// loadCorpus reads a file of testdata; its head says what the format is.
func loadCorpus(t testing.TB, name string) (out []example) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	_, body, _ := strings.Cut(strings.ReplaceAll(string(data), "¦", ""), "\n## ")
	for c := range strings.SplitSeq(body, "\n## ") {
		title, text, _ := strings.Cut(strings.TrimRight(c, "\n"), "\n")
		text, want, ok := strings.Cut(text, "\n=>\n")
		if !ok {
			want = text
		}
		out = append(out, example{title, text, want})
	}
	return out
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	for _, file := range []struct{ name, measure string }{
		{"findings.txt", "recall"}, {"ordinary.txt", "precision"},
	} {
		cases, hits := loadCorpus(t, file.name), 0
		for _, c := range cases {
			got := r.Redact(c.text)
			if assert.Equal(t, c.want, got, "%s: %s", file.name, c.title) {
				hits++
			}
			assert.Equal(t, got, r.Redact(got), "%s: %s: not stable", file.name, c.title)
		}
		t.Logf("%s %d/%d", file.measure, hits, len(cases))
	}
}
