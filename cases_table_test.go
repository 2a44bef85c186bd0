package toolguard_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reportedCases is how many reports there are.
const reportedCases = 120

var (
	caseRow  = regexp.MustCompile(`(?m)^\| ([a-p][0-9]{2}) \| (.+?) \|`)
	caseTest = regexp.MustCompile("`([^`]+)`")
	caseEdge = regexp.MustCompile(`\(\.\./docs/rough_edges\.md#([a-z0-9-]+)\)`)
)

// TestCases checks testdata/cases.md: every case is there once, and leads to a
// test that is there and names the case, or to a limit that is described.
func TestCases(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("testdata/cases.md")
	require.NoError(t, err)
	edges := roughEdges(t)
	rows := caseRow.FindAllStringSubmatch(string(table), -1)
	seen := map[string]bool{}
	for _, row := range rows {
		id, where := row[1], row[2]
		assert.False(t, seen[id], "%s is listed twice", id)
		seen[id] = true
		tests, limits := caseTest.FindAllStringSubmatch(where, -1), caseEdge.FindAllStringSubmatch(where, -1)
		assert.True(t, len(tests)+len(limits) > 0, "%s went nowhere", id)
		for _, name := range tests {
			assertCaseTest(t, id, name[1])
		}
		for _, edge := range limits {
			assert.Contains(t, edges, edge[1], "%s", id)
		}
	}
	assert.Len(t, seen, reportedCases)
	assertReported(t, seen)
}

// assertCaseTest looks for a test, and for the case in the file it is in.
func assertCaseTest(t *testing.T, id, name string) {
	t.Helper()
	var files []string
	if transcript, ok := strings.CutPrefix(name, "TestTranscripts/"); ok {
		files = []string{filepath.Join("testdata", "cases", transcript+".txtar")}
	} else if conversation, ok := strings.CutPrefix(name, "TestConversations/"); ok {
		files = []string{filepath.Join("testdata", "conversations", conversation+".txtar")}
	} else {
		dir, function := ".", name
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			dir, function = name[:i], name[i+1:]
		}
		files = filesWithTest(t, dir, function)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if assert.NoError(t, err, "%s leads to %s", id, name) {
			assert.True(t, regexp.MustCompile(`\bcases? (\w\d\d, )*`+id+`\b`).Match(text), "%s says nothing of case %s", file, id)
		}
	}
	assert.Len(t, files, 1, "%s leads to %s", id, name)
}

func filesWithTest(t *testing.T, dir, function string) (found []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == function {
				found = append(found, file)
			}
		}
	}
	return found
}

// roughEdges returns the headings of docs/rough_edges.md as anchors.
func roughEdges(t *testing.T) (anchors []string) {
	t.Helper()
	text, err := os.ReadFile("docs/rough_edges.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			anchors = append(anchors, strings.ReplaceAll(strings.ToLower(title), " ", "-"))
		}
	}
	return anchors
}

// assertReported compares the table with the collected reports, where a folder
// beside the repository has them.
func assertReported(t *testing.T, listed map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("../shared/cases/cases.jsonl")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		var report struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(line), &report))
		assert.True(t, listed[report.ID], "%s is not listed", report.ID)
	}
}
