package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command finds a program of the prometheus package, or skips the test.
func command(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		require.Empty(t, os.Getenv("TOOLGUARD_TEST_MUST_RUN"), "no %s", name)
		t.Skipf("no %s on this machine: the distribution's package prometheus has it", name)
	}
	return path
}

func contextOf(t *testing.T, limit string) (context.Context, context.CancelFunc) {
	d, err := time.ParseDuration(limit)
	require.NoError(t, err)
	return context.WithTimeout(t.Context(), d)
}

// Rules load, and each fires in a story where it should and not in another.
func TestRulesAreSound(t *testing.T) {
	t.Parallel()
	promtool := command(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		c := exec.Command(promtool, args...)
		c.Dir = "../../deploy/prometheus"
		out, err := c.CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}

// A real Prometheus scrapes the example: the alert on failures fires while the
// service misbehaves, and ends when it does no more. The rules are those of
// deploy, with windows of seconds in place of minutes.
func TestPrometheusAlertsAndClears(t *testing.T) {
	t.Parallel()
	prometheus := command(t, "prometheus")
	o, err := start(t.Context(), config{listen: "127.0.0.1:0", store: filepath.Join(t.TempDir(), "events.db"), spans: io.Discard})
	require.NoError(t, err)
	defer func() { assert.NoError(t, o.stop(context.Background())) }()
	ctx, cancel := contextOf(t, "4m")
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		o.load(ctx)
	}()
	defer func() { cancel(); <-loaded }()
	api := serve(t, prometheus, strings.TrimSuffix(strings.TrimPrefix(o.url, "http://"), "/metrics"))

	require.Eventually(t, func() bool { return len(query(t, api, `sum(toolguard_calls_total) > 50`)) > 0 }, 30*time.Second, 200*time.Millisecond, "nothing is scraped")
	require.Eventually(t, func() bool { return len(firing(t, api, "ToolFailureRate")) == 0 }, 30*time.Second, 200*time.Millisecond, "it fires without a reason")
	o.service.misbehave(true)
	require.Eventually(t, func() bool { return len(firing(t, api, "ToolFailureRate")) > 0 }, 40*time.Second, 200*time.Millisecond, "the alert does not fire")
	o.service.misbehave(false)
	require.Eventually(t, func() bool { return len(firing(t, api, "ToolFailureRate")) == 0 }, 60*time.Second, 200*time.Millisecond, "the alert does not end")
}

// serve starts Prometheus on target and returns the address of its API.
func serve(t *testing.T, prometheus, target string) string {
	t.Helper()
	dir := t.TempDir()
	rules, err := os.ReadFile("../../deploy/prometheus/rules.yaml")
	require.NoError(t, err)
	short := strings.NewReplacer("[1m]", "[8s]", "[5m]", "[20s]").Replace(string(rules))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(short), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yaml"), fmt.Appendf(nil, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs: [{job_name: observed, static_configs: [{targets: [%q]}]}]
`, target), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	l.Close()
	var log strings.Builder
	c := exec.Command(prometheus, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	c.Stdout, c.Stderr = &log, &log
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill() // it has nothing to save
		_ = c.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	api := "http://" + address + "/api/v1/"
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, 20*time.Second, 100*time.Millisecond, "Prometheus does not start")
	return api
}

func query(t *testing.T, api, expr string) []json.RawMessage {
	t.Helper()
	var answer struct {
		Data struct{ Result []json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(scrape(t, api+"query?query="+strings.ReplaceAll(strings.ReplaceAll(expr, " ", "%20"), ">", "%3E"))), &answer))
	return answer.Data.Result
}

func firing(t *testing.T, api, alert string) (labels []map[string]string) {
	t.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(scrape(t, api+"alerts")), &answer))
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" && a.Labels["alertname"] == alert {
			labels = append(labels, a.Labels)
		}
	}
	return labels
}
