package prompts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// declared returns the strings that file gives to constants of a type, or to
// the elements of a variable, called name. It reads source text, because this
// package may import nothing of what it names.
func declared(t *testing.T, file, name string) (texts []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		typed, _ := spec.Type.(*ast.Ident)
		if spec.Names[0].Name != name && (typed == nil || typed.Name != name) {
			return false
		}
		for _, value := range spec.Values {
			ast.Inspect(value, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					require.NoError(t, err)
					texts = append(texts, text)
				}
				return true
			})
		}
		return false
	})
	require.NotEmpty(t, texts, "%s declares no %s", file, name)
	return texts
}

func keys(c *Catalogue, s section) []string { return slices.Sorted(maps.Keys(c.phrases[s])) }

// Every code, rule, parse reason and kind of normalisation has its words.
func TestOthersHaveWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file, name string
		section    section
	}{
		{"../code.go", "Code", messages},
		{"../internal/schema/violation.go", "Rule", violations},
		{"../internal/strictjson/error.go", "reasonNames", violations},
		{"../internal/normalize/change.go", "kindNames", notes},
	} {
		for _, c := range []*Catalogue{English(), Chinese()} {
			assert.Subset(t, keys(c, tc.section), declared(t, tc.file, tc.name), "%s %s", c.Locale(), tc.name)
		}
	}
}

// The constants and the ids of the documents are the same sets.
func TestConstantsAreIDs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file, name string
		section    section
	}{
		{"ids.go", "Label", labels},
		{"ids.go", "Outcome", outcomes},
		{"ids.go", "Frame", frames},
		{"steps.go", "Step", steps},
		{"violations.go", "Violation", violations},
		{"notes.go", "Note", notes},
	} {
		want := declared(t, tc.file, tc.name)
		slices.Sort(want)
		assert.Equal(t, want, keys(English(), tc.section), tc.name)
		assert.Equal(t, want, keys(Chinese(), tc.section), tc.name)
	}
}

func TestLanguagesUseTheSamePlaceholders(t *testing.T) {
	t.Parallel()
	for s := range sectionCount {
		require.Equal(t, keys(English(), s), keys(Chinese(), s), sectionNames[s])
		for key, p := range English().phrases[s] {
			assert.Equal(t, p.uses, Chinese().phrases[s][key].uses, s.id(key))
		}
	}
	assert.Len(t, Chinese().system, len(English().system))
}

func TestFor(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"zh", "ZH", "zh-CN", "zh_Hans", "zh-TW", "zh_CN.UTF-8"} {
		assert.Same(t, Chinese(), For(locale), locale)
	}
	for _, locale := range []string{"", "en", "en-GB", "fr", "zhx", "z", "-zh", "C"} {
		assert.Same(t, English(), For(locale), locale)
	}
}

func TestVarNamesMatchTheirConstants(t *testing.T) {
	t.Parallel()
	assert.Len(t, varIndex, varSlots)
	for id := range varID(varSlots) {
		assert.NotEmpty(t, varNames[id])
		assert.True(t, sample.has(id), "the sample has no %s", varNames[id])
		assert.False(t, noVars.has(id), varNames[id])
	}
	assert.Equal(t, "offset", varNames[varOffset])
	assert.Equal(t, "text", varNames[varText])
	assert.Equal(t, "age", varNames[varAge])
	assert.Equal(t, "missing", varNames[varMissing])
}
