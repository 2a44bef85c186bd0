package otelguard_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/toolguard-go/toolguard/observe/otelguard"
)

const paper = "../../docs/observability.md"

// told say when an event of a span happens, and what it has.
var told = map[string]string{
	"toolguard.retry":    "another attempt follows: number and code of the one before",
	"toolguard.wait":     "the wait before it",
	"toolguard.stop":     "no other attempt follows, and why",
	"toolguard.abandon":  "an attempt did not stop when told to, and was given up",
	"toolguard.breaker":  "a breaker changed its state, from and to",
	"toolguard.refuse":   "the tool did not run: the code",
	"toolguard.join":     "the answer is that of an identical call in flight: its ID",
	"toolguard.reuse":    "the answer is a recent result",
	"toolguard.replay":   "an identical call had had its effect",
	"toolguard.fallback": "the answer comes from elsewhere: from where",
	"toolguard.confirm":  "a status query settled the outcome: which",
	"toolguard.approval": "somebody was asked: granted, pending, denied, stale or expired; by whom, and after how long",
}

// constants are the names in a source file.
func constants(t *testing.T, file, pattern string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	require.NotEmpty(t, names)
	return names
}

// The paper has every attribute, event and instrument, and no others.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(paper)
	require.NoError(t, err)
	var events, metrics strings.Builder
	events.WriteString("| event | when, and what it says |\n|---|---|\n")
	for _, name := range constants(t, "decisions.go", `event\w+\s+= "(toolguard\.\w+)"`) {
		require.NotEmpty(t, told[name], name)
		fmt.Fprintf(&events, "| `%s` | %s |\n", name, told[name])
	}
	metrics.WriteString("| metric | kind, unit | what | attributes |\n|---|---|---|---|\n")
	for _, i := range otelguard.Instruments() {
		fmt.Fprintf(&metrics, "| `%s` | %s, %s | %s | `%s` |\n", i.Name, i.Kind, i.Unit, i.Help, strings.Join(i.Attributes, "` `"))
	}
	fresh := between(t, between(t, string(text), "events", events.String()), "metrics", metrics.String())
	if *update {
		require.NoError(t, os.WriteFile(paper, []byte(fresh), 0o644))
	} else {
		assert.Equal(t, fresh, string(text), "run: go test -run TestDocumentation . -update")
	}
	_, rest, _ := strings.Cut(fresh, "## Every field\n")
	fields, _, _ := strings.Cut(rest, "## Spans\n")
	var documented []string
	for _, m := range regexp.MustCompile("`((?:toolguard|gen_ai|error)\\.[a-z._]+)`").FindAllStringSubmatch(fields, -1) {
		documented = append(documented, m[1])
	}
	assert.ElementsMatch(t, constants(t, "attributes.go", `attribute\.Key\("([^"]+)"\)`), documented)
}

// between replaces what stands between the marks of a name.
func between(t *testing.T, text, name, fresh string) string {
	t.Helper()
	begin := fmt.Sprintf("<!-- %s: go test -run TestDocumentation ./observe/otelguard -update -->\n", name)
	end := fmt.Sprintf("<!-- end of %s -->\n", name)
	before, rest, ok := strings.Cut(text, begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	return before + begin + fresh + end + after
}

// Names of the semantic conventions are theirs.
func TestNamesAreThoseOfTheConventions(t *testing.T) {
	t.Parallel()
	theirs := []string{
		string(semconv.GenAIOperationNameKey), string(semconv.GenAIToolNameKey), string(semconv.GenAIToolCallIDKey),
		string(semconv.GenAIToolDescriptionKey), string(semconv.GenAIToolTypeKey), string(semconv.ErrorTypeKey),
		string(semconv.GenAIToolCallArgumentsKey), string(semconv.GenAIToolCallResultKey),
	}
	assert.Equal(t, "execute_tool", semconv.GenAIOperationNameExecuteTool.Value.AsString())
	for _, name := range constants(t, "attributes.go", `attribute\.Key\("((?:gen_ai|error)\.[^"]+)"\)`) {
		assert.Contains(t, theirs, name)
	}
}
