package toolguard_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/internal/schema"
)

// The flag may be another test's as well: this runs after those are declared.
func init() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write generated parts of the papers and golden files anew")
	}
}

func updating() bool {
	f, ok := flag.Lookup("update").Value.(flag.Getter)
	return ok && f.Get() == true
}

// papers are the Markdown files of the repository.
func papers(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, walk(func(p string) error {
		if path.Ext(p) != ".md" {
			return nil
		}
		text, err := os.ReadFile(p)
		texts[p] = string(text)
		return err
	}))
	return texts
}

// block is a fenced block of a paper, with the marker in the line before it.
type block struct {
	language, text string
	kind, name     string // of the marker <!-- kind: name -->
}

var (
	fence  = regexp.MustCompile("(?ms)^(?:<!-- (\\w+): ([\\w.]+) -->\n)?```(\\w*)\n(.*?)^```$")
	region = regexp.MustCompile(`(?ms)^[\t ]*// snippet: (\w+)\n(.*?)^[\t ]*// end snippet$`)
)

func blocks(text string) []block {
	var all []block
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		all = append(all, block{kind: m[1], name: m[2], language: m[3], text: m[4]})
	}
	return all
}

// snippets are the marked regions of compiled files, by name.
func snippets(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, s := range goFiles(t) {
		for _, m := range region.FindAllSubmatch(s.text, -1) {
			name := string(m[1])
			assert.NotContains(t, found, name, "%s: a second snippet of this name", s.path)
			found[name] = dedent(string(m[2]))
		}
	}
	return found
}

// dedent takes off the tabs that all lines begin with.
func dedent(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for {
		for _, l := range lines {
			if strings.TrimSpace(l) != "" && l[0] != '\t' {
				return strings.TrimSpace(strings.Join(lines, "")) + "\n"
			}
		}
		for i, l := range lines {
			lines[i] = strings.TrimPrefix(l, "\t")
		}
	}
}

// outputs are what the Example functions print, by their names.
func outputs(t *testing.T) map[string]string {
	t.Helper()
	var files []*ast.File
	for _, s := range goFiles(t) {
		if s.test && s.dir == "." {
			files = append(files, s.file)
		}
	}
	found := map[string]string{}
	for _, e := range doc.Examples(files...) {
		found["Example"+e.Name] = e.Output
	}
	return found
}

// Go code in a paper is cut from a compiled file, and what it prints from the
// output of an Example, which go test compares.
func TestPapersShowCompiledCode(t *testing.T) {
	t.Parallel()
	code, printed := snippets(t), outputs(t)
	used := map[string]bool{}
	for p, text := range papers(t) {
		for _, b := range blocks(text) {
			switch {
			case b.kind == "snippet":
				used[b.name] = true
				assert.Equal(t, code[b.name], b.text, "%s shows the snippet %q", p, b.name)
			case b.kind == "output":
				assert.Equal(t, compact(printed[b.name]), compact(b.text), "%s shows what %s prints", p, b.name)
			case b.language == "go" || p == "README.md" && b.language != "sh":
				t.Errorf("%s: a %s block without a marker:\n%s", p, b.language, b.text)
			}
		}
	}
	for name := range code {
		assert.True(t, used[name], "no paper shows the snippet %q", name)
	}
}

// compact makes JSON comparable, however it is laid out.
func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return strings.TrimSpace(text)
	}
	return b.String()
}

var testName = regexp.MustCompile("`((?:Test|Fuzz|Example)[A-Z]\\w*)`")

// A guarantee is as good as the test it names.
func TestPapersNameTestsThatExist(t *testing.T) {
	t.Parallel()
	exist := map[string]bool{}
	for _, s := range goFiles(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && (s.test || within(s.dir, "toolguardtest")) {
				exist[f.Name.Name] = true
			}
		}
	}
	for p, text := range papers(t) {
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			assert.True(t, exist[m[1]], "%s names %s, which does not exist", p, m[1])
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for p, text := range papers(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(p), m[1]))
			assert.NoError(t, err, "link in %s", p)
		}
	}
}

const maxArchitectureLines = 150

func architecture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	return string(text)
}

func TestArchitectureStaysShort(t *testing.T) {
	t.Parallel()
	assert.LessOrEqual(t, strings.Count(architecture(t), "\n"), maxArchitectureLines)
}

var mapped = regexp.MustCompile("`([a-z0-9_/]+(?:\\.go|/))`")

// The code map lists every package, and every file of the root, exactly once.
func TestArchitectureCodeMap(t *testing.T) {
	t.Parallel()
	_, section, ok := strings.Cut(architecture(t), "\n## Code map\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, m := range mapped.FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	assert.ElementsMatch(t, toBeMapped(t), listed)
}

func toBeMapped(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, s := range goFiles(t) {
		switch {
		case s.dir == "." && !s.test:
			names = append(names, s.path)
		case s.dir != ".":
			names = append(names, s.dir+"/")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const (
	tableBegin = "<!-- code table: go test -run TestArchitectureCodeTable . -update -->\n"
	tableEnd   = "<!-- end of code table -->\n"
)

// The table in ARCHITECTURE.md is the one in code.go.
func TestArchitectureCodeTable(t *testing.T) {
	printed(t, "ARCHITECTURE.md", tableBegin, tableEnd, toolguard.CodeTable())
}

const (
	rewritesBegin = "<!-- rewrites: go test -run TestRewritesAreDocumented . -update -->\n"
	rewritesEnd   = "<!-- end of rewrites -->\n"
)

// What lenient mode makes of a schema from elsewhere is no secret.
func TestRewritesAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("| rewrite | of | becomes |\n|---|---|---|\n")
	for _, r := range schema.Rewrites() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Matches, r.Becomes)
	}
	printed(t, "docs/writing-tools.md", rewritesBegin, rewritesEnd, b.String())
}

// printed holds a table in a paper against the one in the code, or puts it there.
func printed(t *testing.T, file, begin, end, table string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	old, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if updating() {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+table+end+after), 0o644))
		return
	}
	assert.Equal(t, table, old, "run: go test -run %s . -update", t.Name())
}
