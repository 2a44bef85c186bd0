package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// loaded is the package under test.
type loaded struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	targets []*target
	mutants []*mutant
	// function is the one that find is in.
	function string
}

// target is a file that is changed.
type target struct {
	name  string
	text  []byte
	file  *ast.File
	wraps []*wrap
}

// load parses and type-checks the package in the current directory, and finds
// what can be changed in files.
func load(files []string) (*loaded, error) {
	p := &loaded{fset: token.NewFileSet(), info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
	}}
	all, err := filepath.Glob("*.go")
	if err != nil {
		return nil, err
	}
	var parsed []*ast.File
	for _, name := range all {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(p.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
		if slices.Contains(files, name) {
			p.targets = append(p.targets, &target{name: name, text: text, file: f})
		}
	}
	if err := p.check(parsed); err != nil {
		return nil, err
	}
	for _, t := range p.targets {
		p.find(t)
	}
	return p, nil
}

// check finds the types, with the export data the go command has.
func (p *loaded) check(files []*ast.File) error {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(p.fset, "gc", open)}
	p.pkg, err = config.Check(files[0].Name.Name, p.fset, files, p.info)
	return err
}

// source is the text of a node.
func (p *loaded) source(t *target, n ast.Node) string {
	return string(t.text[p.offset(n.Pos()):p.offset(n.End())])
}

func (p *loaded) offset(pos token.Pos) int { return p.fset.Position(pos).Offset }

// typeName writes a type as the file would, or "" if the file cannot name it.
func (p *loaded) typeName(t *target, typ types.Type) string {
	ok := true
	name := types.TypeString(types.Default(typ), func(pkg *types.Package) string {
		if pkg == p.pkg {
			return ""
		}
		for _, i := range t.file.Imports {
			if i.Name == nil && strings.Trim(i.Path.Value, `"`) == pkg.Path() {
				return pkg.Name()
			}
		}
		ok = false
		return ""
	})
	if !ok {
		return ""
	}
	return name
}

// oneLine is a text on one line, shortened.
func oneLine(text string) string {
	text = string(bytes.Join(bytes.Fields([]byte(text)), []byte(" ")))
	if r := []rune(text); len(r) > 90 {
		text = string(r[:90]) + "…"
	}
	return text
}
