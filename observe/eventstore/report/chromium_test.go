package report_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// browser is the command of a headless Chromium; a test that needs one is
// skipped where there is none.
func browser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.Empty(t, os.Getenv("TOOLGUARD_TEST_MUST_RUN"), "no Chromium")
	t.Skip("no Chromium on this machine: the distribution's package chromium has it")
	return ""
}

// chrome runs the browser once. Nothing it opens leaves the machine: it reads
// files, or goes through a proxy of the test.
func chrome(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	nowhere := "--proxy-server=127.0.0.1:1"
	base := []string{
		nowhere, // unless the caller says otherwise: the last one counts
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--enable-logging=stderr", "--user-data-dir=" + t.TempDir(), "--timeout=20000",
	}
	command := exec.CommandContext(ctx, browser(t), append(base, args...)...)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	require.NoError(t, command.Run(), stderr.String())
	return stdout.String(), stderr.String()
}

// probe measures a page inside a frame of a width, as a phone or a screen shows it.
const probe = `<!DOCTYPE html><html><body><iframe id="f" width="%d" height="2400" style="border:0"></iframe><pre id="out"></pre><script>
const frame = document.getElementById("f");
frame.onload = () => {
  const d = frame.contentDocument, w = frame.contentWindow, root = d.documentElement;
  const channel = c => { c /= 255; return c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4 };
  const light = css => { const [r, g, b] = css.match(/[\d.]+/g).map(Number); return .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b) };
  const ground = light(w.getComputedStyle(d.body).backgroundColor);
  const contrast = css => { const a = light(css); return (Math.max(a, ground) + .05) / (Math.min(a, ground) + .05) };
  const texts = [...d.querySelectorAll("h1,h2,h3,p,td,th,span,small,li,b,.name")].filter(e => e.textContent.trim() && e.getClientRects().length);
  const shapes = [...d.querySelectorAll("rect,path")].filter(e => e.getBoundingClientRect().width > 0);
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  let collisions = 0;
  for (const group of d.querySelectorAll(".ticks,.flow")) {
    const boxes = [...group.querySelectorAll("span")].map(e => e.getBoundingClientRect()).filter(r => r.width > 0);
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => { if (overlap(a, b)) collisions++ }));
  }
  document.getElementById("out").textContent = JSON.stringify({
    overflow: root.scrollWidth - root.clientWidth, smallest: Math.min(...texts.map(e => parseFloat(w.getComputedStyle(e).fontSize))),
    contrast: Math.min(...texts.map(e => contrast(w.getComputedStyle(e).color))), shapes: shapes.length,
    shapeContrast: Math.min(...[...d.querySelectorAll("rect")].map(e => contrast(w.getComputedStyle(e).fill))),
    charts: [...d.querySelectorAll("svg")].filter(e => e.getBoundingClientRect().width > 200 && e.getBoundingClientRect().height >= 20 && e.querySelector("rect,path")).length,
    black: [...d.querySelectorAll("rect,path")].filter(e => w.getComputedStyle(e).fill === "rgb(0, 0, 0)").length,
    cut: [...d.querySelectorAll(".examples,.codes")].filter(e => e.getClientRects().length && e.parentElement.scrollWidth > e.parentElement.clientWidth).length,
    sentences: d.querySelectorAll(".said li").length, collisions, dark: ground < .2, scripts: d.scripts.length, height: root.scrollHeight,
  });
};
frame.srcdoc = %s;
</script></body></html>`

type measured struct {
	Overflow, Smallest, Contrast, ShapeContrast, Height float64
	Shapes, Charts, Black, Collisions, Scripts          int
	Cut, Sentences                                      int
	Dark                                                bool
}

func measure(t *testing.T, page string, width int, scheme string) measured {
	t.Helper()
	text, err := json.Marshal(page)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "probe.html")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, probe, width, text), 0o600))
	out, errs := chrome(t, "--blink-settings=preferredColorScheme="+scheme, "--virtual-time-budget=5000", "--dump-dom", "file://"+file)
	found := regexp.MustCompile(`(?s)<pre id="out">(.+?)</pre>`).FindStringSubmatch(out)
	require.NotNil(t, found, "the page did not load: %s", errs)
	var m measured
	require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(found[1])), &m))
	return m
}

// The page draws its charts and stays readable on a screen and on a phone, in
// light and dark.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.html")
	status, _, errs := run(t, reporting, append(until, "-store", day(t), "-html", file)...)
	require.Zero(t, status, errs)
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	browser(t)
	for scheme, name := range map[string]string{"0": "dark", "1": "light"} {
		for _, width := range []int{1280, 400} {
			t.Run(fmt.Sprint(name, width), func(t *testing.T) {
				m := measure(t, string(page), width, scheme)
				t.Logf("%+v", m)
				assert.Equal(t, name == "dark", m.Dark)
				assert.Zero(t, m.Overflow, "wider than the screen")
				assert.GreaterOrEqual(t, m.Smallest, 13.0, "font size in pixels")
				assert.GreaterOrEqual(t, m.Contrast, 4.5, "contrast of words, by WCAG AA")
				assert.GreaterOrEqual(t, m.ShapeContrast, 3.0, "contrast of shapes")
				assert.GreaterOrEqual(t, m.Charts, 7, "series, four tools, a breaker, the flow")
				assert.Greater(t, m.Shapes, 60)
				assert.Zero(t, m.Black, "shapes without a colour")
				assert.Zero(t, m.Collisions, "labels over each other")
				assert.Zero(t, m.Cut, "examples that have to be pulled sideways")
				assert.Equal(t, 5, m.Sentences, "of the summary")
				assert.Zero(t, m.Scripts)
				shot := filepath.Join(t.ArtifactDir(), fmt.Sprintf("report-%s-%d.png", name, width))
				chrome(t, "--blink-settings=preferredColorScheme="+scheme, fmt.Sprintf("--window-size=%d,%d", width, int(m.Height)), "--screenshot="+shot, "file://"+file)
				assert.FileExists(t, shot)
			})
		}
	}
}

// visited opens a page through a proxy of the test's own, and returns who was
// asked for anything else, the DOM, and what the console said.
func visited(t *testing.T, page string) (asked []string, dom, console string) {
	t.Helper()
	var mu sync.Mutex
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "report.test" && r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, page)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Host+r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer proxy.Close()
	dom, errs := chrome(t, "--proxy-server="+proxy.URL, "--virtual-time-budget=3000", "--dump-dom", "http://report.test/")
	for line := range strings.Lines(errs) {
		if strings.Contains(line, ":CONSOLE") {
			console += line
		}
	}
	mu.Lock()
	defer mu.Unlock()
	own := func(to string) bool { // the browser's own business
		host, _, _ := strings.Cut(to, "/")
		host, _, _ = strings.Cut(host, ":")
		return strings.HasSuffix(host, ".google.com") || strings.HasSuffix(host, ".googleapis.com") || strings.HasSuffix(host, ".gvt1.com")
	}
	return slices.DeleteFunc(slices.Clone(asked), own), dom, console
}

// Opening the page asks nobody for anything, and has nothing to complain about;
// hostile names make no difference. The first page shows that the test would see it.
func TestThePageIsAlone(t *testing.T) {
	t.Parallel()
	browser(t)
	asked, _, console := visited(t, `<html><img src="http://tracker.test/x.png"><script>undefinedFunction()</script></html>`)
	assert.Contains(t, asked, "tracker.test/x.png")
	assert.Contains(t, console, "undefinedFunction")
	for name, store := range map[string]string{"a day": day(t), "hostile names": hostileStore(t)} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.html")
			status, _, errs := run(t, reporting, append(until, "-period", "48h", "-store", store, "-html", file)...)
			require.Zero(t, status, errs)
			page, err := os.ReadFile(file)
			require.NoError(t, err)
			asked, dom, console := visited(t, string(page))
			assert.Empty(t, asked)
			assert.Empty(t, console)
			assert.Contains(t, dom, "</svg>")
			assert.NotContains(t, dom, "<script")
			assert.NotContains(t, dom, "<img")
		})
	}
}
