package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	sampleCode = `package sample

type Code string

const (
	CodeOther        Code = "other"
	CodePanic        Code = "panic"
	CodeUnknownError Code = "unknown"
)

var limit = 2 + 1

func Sign(n int) int {
	if n > 0 {
		return 1
	}
	return -1
}

func What(ok bool) Code {
	if ok {
		return CodeOther
	}
	return CodeUnknownError
}

func Below(n int) bool { return n < limit }

func Untested(n int) int {
	n++
	return n
}
`
	sampleTest = `package sample

import "testing"

func TestSign(t *testing.T) {
	if Sign(5) != 1 || Sign(-5) != -1 {
		t.Fatal()
	}
}

func TestWhat(t *testing.T) {
	if What(true) != CodeOther {
		t.Fatal()
	}
}

func TestBelow(t *testing.T) {
	if !Below(2) || Below(3) {
		t.Fatal()
	}
}

func TestThatNeverPasses(t *testing.T) { t.Fatal() }
`
	samplePaper = "before\n" + begin + "| `other.go` | `00ff00ff` | 9 | 9 | 8 | 88 % |\n| `other.go Other: a → b` | x |\n" + end + "after\n"
)

// sample is a small module, in which the test then is.
func sample(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	all := map[string]string{"go.mod": "module sample\n\ngo 1.26\n", "sample.go": sampleCode, "sample_test.go": sampleTest, paper: samplePaper}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

func printedPaper(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(paper)
	require.NoError(t, err)
	return string(text)
}

// What tests notice is killed, what they do not is named, what they do not even reach
// as well, and what the paper has of other files stays.
func TestChangesOfASample(t *testing.T) {
	sample(t, nil)
	require.NoError(t, run(options{update: true}, []string{"sample.go"}))
	s, err := readScores(true)
	require.NoError(t, err)
	one := s.files["sample.go"]
	require.NotNil(t, one)
	assert.Equal(t, []string{
		"sample.go Sign: n > 0 → n >= 0",
		"sample.go Untested: n++ → (left out)",
		"sample.go What: CodeUnknownError → CodePanic",
	}, one.alive)
	assert.Equal(t, one.changes, one.tried)
	assert.Equal(t, one.tried-len(one.alive), one.killed)
	assert.Equal(t, &score{file: "other.go", text: "00ff00ff", changes: 9, tried: 9, killed: 8, alive: []string{"other.go Other: a → b"}}, s.files["other.go"])
	text := printedPaper(t)
	assert.True(t, strings.HasPrefix(text, "before\n") && strings.HasSuffix(text, "after\n"))
	assert.Contains(t, text, "no reason yet")

	assert.True(t, s.current("sample.go"))
	require.NoError(t, os.WriteFile("sample_test.go", []byte("no Go at all"), 0o600))
	require.NoError(t, run(options{update: true, resume: true}, []string{"sample.go"}), "there is nothing left to do")
	assert.Equal(t, text, printedPaper(t))
	require.NoError(t, os.WriteFile("sample.go", []byte(sampleCode+"\n// more\n"), 0o600))
	assert.False(t, s.current("sample.go"))
	assert.Error(t, run(options{update: true, resume: true}, []string{"sample.go"}))
}

// A sample of the changes says that it is one, and is not taken for all of them.
func TestEveryNthChange(t *testing.T) {
	sample(t, nil)
	require.NoError(t, run(options{update: true, every: 2}, []string{"sample.go"}))
	s, err := readScores(true)
	require.NoError(t, err)
	one := s.files["sample.go"]
	assert.Equal(t, (one.changes+1)/2, one.tried)
	assert.False(t, s.current("sample.go"))
}

// When the time is over, what was begun is not half written down.
func TestNoTime(t *testing.T) {
	sample(t, nil)
	require.NoError(t, run(options{update: true, within: 1}, []string{"sample.go"}))
	s, err := readScores(true)
	require.NoError(t, err)
	assert.NotContains(t, s.files, "sample.go")
	assert.Contains(t, s.files, "other.go")
}

// What cannot be done is said before anything is built.
func TestMistakes(t *testing.T) {
	sample(t, map[string]string{paper: "nothing\n"})
	assert.ErrorContains(t, run(options{}, []string{"missing.go"}), "no file matches")
	assert.ErrorContains(t, run(options{update: true}, []string{"sample.go"}), "has no place for the scores")
	require.NoError(t, os.WriteFile("sample_test.go", []byte("package sample\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Fatal() }\n"), 0o600))
	assert.ErrorContains(t, run(options{}, []string{"sample.go"}), "no test that passes")
}

// The text inside of a change stays, whatever is put around it.
func TestNestedWraps(t *testing.T) {
	m := func(dropped bool) *mutant { return &mutant{dropped: dropped} }
	target := &target{text: []byte("a + b > c"), wraps: []*wrap{
		{mutant: m(false), start: 0, end: 9, before: "[", after: "]"},
		{mutant: m(false), start: 0, end: 5, before: "(", after: ")"},
		{mutant: m(true), start: 8, end: 9, before: "{", after: "}"},
		{mutant: m(false), start: 8, end: 9, before: "<", after: ">"},
	}}
	assert.Equal(t, "[(a + b) > <c>]", string(target.instrumented()))
	at := strings.Index("[(a + b) > <c>]", "b")
	assert.Same(t, target.wraps[1], target.smallest(at), "the compiler's complaint is about the innermost")
}

// Those that have noticed most come first, then the fast ones; those that do not come
// by the place are left alone.
func TestWhoIsAsked(t *testing.T) {
	reach := map[string]bool{"7": true}
	s := &suite{tests: []*test{{name: "far"}, {name: "near", reaches: reach}, {name: "blind", reaches: map[string]bool{"8": true}}}}
	var names []string
	for _, test := range s.reaching(&mutant{id: 7}) {
		names = append(names, test.name)
	}
	assert.Equal(t, []string{"near"}, names)
}

var totalRow = regexp.MustCompile(`(?m)^\| all \| \| (\d+) \| (\d+) \| (\d+) \|`)

// The paper of this repository: a survivor has a reason, and there are few.
func TestThePaper(t *testing.T) {
	t.Chdir("../..")
	text := printedPaper(t)
	assert.NotContains(t, text, "no reason yet")
	total := totalRow.FindStringSubmatch(text)
	require.NotNil(t, total)
	tried, _ := strconv.Atoi(total[2])
	killed, _ := strconv.Atoi(total[3])
	assert.GreaterOrEqual(t, 100*killed, 85*tried)
}
