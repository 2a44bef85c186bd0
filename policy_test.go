package toolguard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/toolguard-go/toolguard"

// source is one Go file of the repository.
type source struct {
	path, dir string // with slashes, from the root; dir is "." for the root
	text      []byte
	file      *ast.File
	fset      *token.FileSet
	test      bool
	nested    bool // it belongs to a module of its own
}

// sources returns every Go file of the repository, nested modules included.
var sources = sync.OnceValues(func() ([]*source, error) {
	var all []*source
	nested := map[string]bool{}
	err := walk(func(p string) error {
		switch dir := path.Dir(p); {
		case path.Base(p) == "go.mod" && dir != ".":
			nested[dir] = true
		case strings.HasSuffix(p, ".go"):
			s, err := parse(p)
			all = append(all, s)
			return err
		}
		return nil
	})
	for _, s := range all {
		for d := s.dir; d != "."; d = path.Dir(d) {
			s.nested = s.nested || nested[d]
		}
	}
	return all, err
})

// walk calls f for every file that belongs to the project, testdata aside.
func walk(f func(path string) error) error {
	return filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		return f(filepath.ToSlash(p))
	})
}

func parse(p string) (*source, error) {
	text, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	s := &source{path: p, dir: path.Dir(p), text: text, fset: token.NewFileSet(), test: strings.HasSuffix(p, "_test.go")}
	s.file, err = parser.ParseFile(s.fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

func goFiles(t *testing.T) []*source {
	t.Helper()
	all, err := sources()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

func (s *source) imports() []string {
	var paths []string
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// layer says what packages of this module the code of some packages may import.
// The first layer whose name is the directory, or a parent of it, applies.
type layer struct {
	dir     string
	imports []string
	why     string
}

var layers = []layer{
	{".", []string{"internal", "prompts"}, "the core stays light: whoever needs HTTP, policies as JSON or a framework imports that beside it"},
	{"internal", []string{"internal"}, "a mechanism that knows the guard cannot be tested or understood without it"},
	{"prompts", nil, "words know nothing of what chooses them"},
	{"httpguard", []string{"internal"}, "a tool may use it without a guard; the two meet in internal/evidence"},
	{"policies", []string{".", "httpguard", "internal"}, "it only reads a document and fills in options"},
	{"agentloop", []string{".", "prompts"}, "it can do nothing that a host's own loop could not do"},
	{"toolguardtest", []string{".", "agentloop", "prompts"}, "users' test binaries stay light: the standard library and toolguard, and nothing of either that a user could not reach"},
	{"journal", []string{"."}, "what the journals' tests share is about journals, and about no store of them"},
	{"examples", []string{".", "agentloop", "httpguard", "policies", "prompts", "toolguardtest", "examples"}, "examples show what a user of the module can write"},
}

func layerOf(dir string) (layer, bool) {
	for _, l := range layers {
		if within(dir, l.dir) {
			return l, true
		}
	}
	return layer{}, false
}

// within reports whether dir is parent or below it. Nothing is below ".".
func within(dir, parent string) bool {
	return dir == parent || parent != "." && strings.HasPrefix(dir, parent+"/")
}

func TestImportDirections(t *testing.T) {
	t.Parallel()
	for _, s := range goFiles(t) {
		if s.test || s.nested {
			continue
		}
		l, ok := layerOf(s.dir)
		if !assert.True(t, ok, "%s: package %s has no layer in policy_test.go", s.path, s.dir) {
			continue
		}
		for _, imported := range s.imports() {
			dir, own := ownPackage(imported)
			allowed := slices.ContainsFunc(l.imports, func(p string) bool { return within(dir, p) })
			assert.True(t, !own || allowed, "%s imports %s: %s", s.path, imported, l.why)
		}
	}
}

func ownPackage(imported string) (dir string, own bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// dependencies are the modules that code outside tests may import, and where.
// The default answer to a further one is no.
var dependencies = map[string][]string{
	"github.com/santhosh-tekuri/jsonschema/v5": {"internal/schema", "internal/schema/schematest"}, // the general validator
	"github.com/sony/gobreaker/v2":             {"."},                                             // the breaker's state machine
	"golang.org/x/sync":                        {".", "internal/schema"},                          // the semaphore
}

// testDependencies may be imported by any test.
var testDependencies = []string{"github.com/stretchr/testify", "pgregory.net/rapid"}

func TestDependencies(t *testing.T) {
	t.Parallel()
	for _, s := range goFiles(t) {
		if s.nested {
			continue
		}
		for _, imported := range s.imports() {
			if _, own := ownPackage(imported); own || standard(imported) {
				continue
			}
			assert.True(t, s.mayImport(imported), "%s imports %s, which is not in the list of policy_test.go", s.path, imported)
		}
	}
}

func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func (s *source) mayImport(imported string) bool {
	of := func(m string) bool { return within(imported, m) }
	if s.test && slices.ContainsFunc(testDependencies, of) {
		return true
	}
	for m, dirs := range dependencies {
		if of(m) {
			return s.test || slices.Contains(dirs, s.dir)
		}
	}
	return false
}

// A dependency whose types are in the API cannot be replaced any more.
func TestNoForeignTypesInTheAPI(t *testing.T) {
	t.Parallel()
	for _, s := range goFiles(t) {
		if s.test || s.nested || within(s.dir, "internal") || within(s.dir, "examples") {
			continue
		}
		foreign := map[string]string{}
		for _, i := range s.imports() {
			if _, own := ownPackage(i); !own && !standard(i) {
				foreign[packageName(i)] = i
			}
		}
		for _, d := range s.file.Decls {
			for _, name := range qualifiers(d) {
				assert.Empty(t, foreign[name], "%s:%d: an exported declaration shows a type of a dependency", s.path, s.line(d.Pos()))
			}
		}
	}
}

// packageName guesses the name a path is imported under.
func packageName(imported string) string {
	base := path.Base(imported)
	if strings.HasPrefix(base, "v") && len(base) == 2 {
		base = path.Base(path.Dir(imported))
	}
	return base
}

// qualifiers returns the package names in what an exported declaration shows.
func qualifiers(d ast.Decl) []string {
	var names []string
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				return len(n.Names) == 0 || slices.ContainsFunc(n.Names, (*ast.Ident).IsExported)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					names = append(names, x.Name)
				}
			}
			return true
		})
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			for _, list := range []*ast.FieldList{d.Type.Params, d.Type.Results} {
				for f := range fields(list) {
					look(f.Type)
				}
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() {
				look(ts.Type)
			}
		}
	}
	return names
}

func fields(l *ast.FieldList) func(func(*ast.Field) bool) {
	return func(yield func(*ast.Field) bool) {
		if l == nil {
			return
		}
		for _, f := range l.List {
			if !yield(f) {
				return
			}
		}
	}
}

// The kit is for tests: code that runs in production has no scripted faults in it.
func TestTheTestKitStaysInTests(t *testing.T) {
	t.Parallel()
	for _, s := range goFiles(t) {
		if s.test || within(s.dir, "toolguardtest") {
			continue
		}
		assert.NotContains(t, s.imports(), module+"/toolguardtest", "%s: only tests may import it", s.path)
	}
}
