package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/observe/otelguard"
)

// A few seconds of it show all there is to see.
func TestRun(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	page := filepath.Join(t.TempDir(), "report.html")
	kept := filepath.Join(t.TempDir(), "events.db")
	require.NoError(t, run(t.Context(), []string{"-listen", "127.0.0.1:0", "-for", "3s", "-html", page, "-store", kept}, &out, &errs), errs.String())
	assert.FileExists(t, kept)
	for _, want := range []string{"metrics on http://127.0.0.1:", "calls failed: ", "TOOL ", "all tools", "refund", "newest failures", "Where did it fail?"} {
		assert.Contains(t, out.String(), want)
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "</svg>")
	assert.Error(t, run(t.Context(), []string{"-listen", "nowhere"}, &out, io.Discard))
}

// exposed is what Prometheus calls an instrument's series.
func exposed(i otelguard.Instrument) []string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	name += map[string]string{"s": "_seconds", "By": "_bytes"}[i.Unit]
	switch i.Kind {
	case "counter":
		return []string{name + "_total"}
	case "histogram":
		return []string{name + "_bucket", name + "_count", name + "_sum"}
	default:
		return []string{name}
	}
}

func labels(i otelguard.Instrument) []string {
	names := []string{"le"}
	for _, a := range i.Attributes {
		names = append(names, strings.ReplaceAll(a, ".", "_"))
	}
	return names
}

var series = regexp.MustCompile(`\b(toolguard_[a-z_]+)(?:\{([^}]*)\})?`)

// The dashboard and the alerts ask for metrics and labels that exist.
func TestDashboardAndRulesAskForWhatExists(t *testing.T) {
	t.Parallel()
	known := map[string]otelguard.Instrument{}
	allLabels := []string{"le"}
	for _, i := range otelguard.Instruments() {
		for _, name := range exposed(i) {
			known[name] = i
		}
		allLabels = append(allLabels, labels(i)...)
	}
	used := map[string]bool{}
	for _, file := range []string{"grafana/dashboard.json", "prometheus/rules.yaml", "prometheus/rules_test.yaml"} {
		text, err := os.ReadFile("../../deploy/" + file)
		require.NoError(t, err)
		for _, m := range series.FindAllStringSubmatch(string(text), -1) {
			name := m[1]
			if slices.Contains(allLabels, name) {
				continue // a label, or a template of one
			}
			i, ok := known[name]
			if !assert.True(t, ok, "%s asks for %s, which does not exist", file, name) {
				continue
			}
			used[i.Name] = true
			for _, l := range regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`).FindAllStringSubmatch(m[2], -1) {
				assert.Contains(t, labels(i), l[1], "%s: %s has no such label", file, name)
			}
		}
	}
	for _, i := range otelguard.Instruments() {
		assert.True(t, used[i.Name], "nothing shows %s", i.Name)
	}
}

// What the exporter serves has the names that the test above takes for granted.
func TestExporterNames(t *testing.T) {
	t.Parallel()
	o, err := start(t.Context(), config{listen: "127.0.0.1:0", store: filepath.Join(t.TempDir(), "events.db"), spans: io.Discard})
	require.NoError(t, err)
	o.service.misbehave(true)
	ctx, cancel := contextOf(t, "2s")
	defer cancel()
	o.load(ctx)
	served := map[string]bool{}
	for line := range strings.Lines(scrape(t, o.url)) {
		if name, _, ok := strings.Cut(line, "{"); ok && strings.HasPrefix(name, "toolguard_") {
			served[name] = true
		}
	}
	require.NoError(t, o.stop(t.Context()))
	want := map[string]bool{}
	for _, i := range otelguard.Instruments() {
		for _, name := range exposed(i) {
			want[name] = true
		}
	}
	assert.Greater(t, len(served), 15)
	for name := range served {
		assert.True(t, want[name], "%s is served under a name of its own", name)
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}
