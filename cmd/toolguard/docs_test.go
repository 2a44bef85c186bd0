package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/config"
)

var update = flag.Bool("update", false, "write the generated parts of docs/cli.md anew")

const (
	cliPaper = "../../docs/cli.md"
	mcpPaper = "../../docs/mcp.md"

	effectsPaper = "../../docs/side-effects.md"
)

var helpBlock = regexp.MustCompile("(?ms)^<!-- help: ([a-z ]*) -->\n```text\n(.*?)^```$")

// docs/cli.md shows the help of every command as it is.
func TestCLIPaperIsTrue(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(cliPaper)
	require.NoError(t, err)
	shown := make(map[string]bool)
	fresh := helpBlock.ReplaceAllStringFunc(string(raw), func(block string) string {
		m := helpBlock.FindStringSubmatch(block)
		shown[m[1]] = true
		_, out, _ := invoke(t, "", append(strings.Fields(m[1]), "-h")...)
		if !*update {
			assert.Equal(t, out, m[2], "run: go test -run TestCLIPaperIsTrue . -update")
		}
		return "<!-- help: " + m[1] + " -->\n```text\n" + out + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(cliPaper, []byte(fresh), 0o644))
	}
	for _, cmd := range append(commands(), journalCommands()...) {
		if cmd.name != "journal" {
			assert.True(t, shown[cmd.name], "docs/cli.md does not show the help of %s", cmd.name)
		}
	}
}

var jsonBlock = regexp.MustCompile("(?ms)^<!-- config: guard -->\n```json\n(.*?)^```$")

// The configurations that papers show are ones.
func TestPapersShowConfigurationsThatRead(t *testing.T) {
	t.Parallel()
	n := 0
	for _, path := range []string{cliPaper, mcpPaper} {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range jsonBlock.FindAllStringSubmatch(string(raw), -1) {
			_, err := config.Parse([]byte(m[1]))
			assert.NoError(t, err, m[1])
			n++
		}
	}
	assert.Positive(t, n)
}

var flagInHost = regexp.MustCompile(`"(-[a-z-]+)"`)

// The snippets for hosts use flags that there are.
func TestHostSnippetsUseFlagsThatThereAre(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(mcpPaper)
	require.NoError(t, err)
	_, help, _ := invoke(t, "", "proxy", "-h")
	for _, m := range flagInHost.FindAllStringSubmatch(string(raw), -1) {
		if m[1] != "-y" && m[1] != "--" { // npx's, and the end of flags
			assert.Contains(t, help, "\n  "+m[1], m[1])
		}
	}
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// The commands of docs/side-effects.md do what they are there for, one after the other.
func TestSideEffectsPaperRuns(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(effectsPaper)
	require.NoError(t, err)
	path := journalFile(t)
	key := listed(t, path)["awaiting_approval"]
	ran := 0
	for _, m := range shellBlock.FindAllStringSubmatch(string(raw), -1) {
		for line := range strings.Lines(m[1]) {
			line = strings.NewReplacer("journal.db", path, "KEY", key, `"the parcel came back"`, "returned").Replace(line)
			words := strings.Fields(line)
			require.Equal(t, "toolguard", words[0], line)
			code, out, errs := invoke(t, "", words[1:]...)
			assert.Equal(t, exitOK, code, "%s: %s", line, errs)
			assert.NotEmpty(t, out, line)
			ran++
		}
	}
	assert.Positive(t, ran)
	assert.NotContains(t, listed(t, path, "-state", "approved"), "awaiting_approval")
	assert.Equal(t, key, listed(t, path, "-state", "approved")["approved"])
}
