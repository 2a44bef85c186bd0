package toolguard_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/prompts"
)

func TestExportedNamesAreDocumented(t *testing.T) {
	t.Parallel()
	comments := map[string]int{}
	for _, s := range goFiles(t) {
		if s.test {
			continue
		}
		comments[s.dir] += 0
		if s.file.Doc != nil {
			comments[s.dir]++
		}
		for _, d := range s.file.Decls {
			if within(s.dir, "internal") && enumeration(d) {
				continue
			}
			for _, name := range undocumented(d) {
				t.Errorf("%s:%d: %s is not documented", s.path, s.line(d.Pos()), name)
			}
		}
	}
	for dir, n := range comments {
		assert.Equal(t, 1, n, "package comments of %s", dir)
	}
}

// enumeration reports whether d lists the values of a type. Inside the module
// the type's own comment does for them.
func enumeration(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.CONST {
		return false
	}
	first, ok := g.Specs[0].(*ast.ValueSpec)
	return ok && first.Type != nil
}

// undocumented returns the exported names of d without a comment. Error needs
// none: the interface says it all.
func undocumented(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && d.Name.Name != "Error" && exportedReceiver(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Doc == nil && d.Tok != token.IMPORT {
			return undocumentedSpecs(d.Specs)
		}
		if d.Tok == token.TYPE && len(d.Specs) > 1 {
			return undocumentedSpecs(d.Specs)
		}
	}
	return nil
}

func undocumentedSpecs(specs []ast.Spec) []string {
	var names []string
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && s.Name.IsExported() {
				names = append(names, s.Name.Name)
			}
		case *ast.ValueSpec:
			if s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
				names = append(names, s.Names[0].Name)
			}
		}
	}
	return names
}

// exportedReceiver reports whether a function can be reached from outside: a
// method of an unexported type is documented by the interface it implements.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !exported {
			exported = id.IsExported()
			return false
		}
		return true
	})
	return exported
}

const (
	maxFileLines     = 400
	maxFunctionLines = 60
)

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	t.Parallel()
	for _, s := range goFiles(t) {
		if s.test {
			continue
		}
		assert.LessOrEqual(t, bytes.Count(s.text, []byte("\n")), maxFileLines, "lines of %s", s.path)
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				n := s.line(f.End()) - s.line(f.Pos()) + 1
				assert.LessOrEqual(t, n, maxFunctionLines, "lines of %s in %s", f.Name.Name, s.path)
			}
		}
	}
}

// Time in tests is synctest's: a real pause makes a suite slow and flaky.
func TestNoTestSleeps(t *testing.T) {
	t.Parallel()
	for _, s := range goFiles(t) {
		if !s.test || s.nested || slices.Contains(s.imports(), "testing/synctest") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
				x, ok := sel.X.(*ast.Ident)
				assert.False(t, ok && x.Name == "time", "%s:%d: time.Sleep outside of synctest", s.path, s.line(sel.Pos()))
			}
			return true
		})
	}
}

func TestFilesAreFormatted(t *testing.T) {
	t.Parallel()
	for _, s := range goFiles(t) {
		formatted, err := format.Source(s.text)
		require.NoError(t, err, s.path)
		assert.Equal(t, string(formatted), string(s.text), "gofmt -w %s", s.path)
	}
}

// Unfinished work belongs in an issue. The words are put together here so that
// this file does not contain them.
func TestNothingIsLeftForLater(t *testing.T) {
	t.Parallel()
	words := []string{"TO" + "DO", "FIX" + "ME", "X" + "XX:", "not implemented" + " yet"}
	require.NoError(t, walk(func(p string) error {
		if !slices.Contains([]string{".go", ".md", ".sh"}, path.Ext(p)) {
			return nil
		}
		text, err := os.ReadFile(p)
		for _, w := range words {
			assert.NotContains(t, string(text), w, p)
		}
		return err
	}))
}

// declaredCodes are the constants of type Code in code.go, by their values.
func declaredCodes(t *testing.T) []string {
	t.Helper()
	var codes []string
	s, err := parse("code.go")
	require.NoError(t, err)
	ast.Inspect(s.file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || fmt.Sprint(v.Type) != "Code" {
			return true
		}
		value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		codes = append(codes, value)
		return true
	})
	return codes
}

func TestCodeTableIsComplete(t *testing.T) {
	t.Parallel()
	var inTable []string
	for code, category := range toolguard.Codes() {
		inTable = append(inTable, string(code))
		assert.Equal(t, category, code.Category(), code)
	}
	assert.ElementsMatch(t, declaredCodes(t), inTable, "constants of type Code and rows of codeTable")
}

func TestEveryCodeHasWords(t *testing.T) {
	t.Parallel()
	for code, category := range toolguard.Codes() {
		for _, words := range []*prompts.Catalogue{prompts.English(), prompts.Chinese()} {
			assert.True(t, words.Has(string(code)), "%s has no message for %s", words.Locale(), code)
			label := string(words.AppendLabel(nil, prompts.Label(category.String())))
			unknown := string(words.AppendLabel(nil, prompts.LabelUnknown))
			assert.Equal(t, category == toolguard.CategoryUnknown, label == unknown, "label of %s in %s", category, words.Locale())
		}
	}
}
