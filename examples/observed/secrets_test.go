package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
	"github.com/toolguard-go/toolguard/observe/eventstore/report"
	"github.com/toolguard-go/toolguard/observe/otelguard"
)

// secret is a text of the redactor's corpus and what of it must not be seen.
type secret struct {
	text  string
	parts []string
}

var marker = regexp.MustCompile(`\[redacted(?::\w+)?\]`)

// secrets reads the corpus that the redactor is held against.
func secrets(t *testing.T) []secret {
	t.Helper()
	data, err := os.ReadFile("../../internal/redact/testdata/findings.txt")
	require.NoError(t, err)
	_, body, _ := strings.Cut(strings.ReplaceAll(string(data), "¦", ""), "\n## ")
	var all []secret
	for c := range strings.SplitSeq(body, "\n## ") {
		_, c, _ = strings.Cut(strings.TrimRight(c, "\n"), "\n")
		text, want, ok := strings.Cut(c, "\n=>\n")
		if !ok {
			continue
		}
		if s := (secret{text: text, parts: removed(text, want)}); len(s.parts) > 0 {
			all = append(all, s)
		}
	}
	require.Greater(t, len(all), 60)
	return all
}

// removed are the parts of text that want has markers in place of. Parts of a few
// letters would be found anywhere.
func removed(text, want string) (parts []string) {
	kept := marker.Split(want, -1)
	at := len(kept[0])
	for _, next := range kept[1:] {
		if at > len(text) {
			return parts
		}
		end := len(text) - at
		if next != "" {
			if end = strings.Index(text[at:], next); end < 0 {
				return parts
			}
		}
		for line := range strings.Lines(text[at : at+end]) {
			if line = strings.TrimSpace(line); len(line) >= 10 {
				parts = append(parts, line)
			}
		}
		at += end + len(next)
	}
	return parts
}

// forms are what a text looks like in the sinks: as it is, in JSON of either kind,
// twice so, and in HTML.
func forms(t *testing.T, text string) []string {
	var strict bytes.Buffer
	e := json.NewEncoder(&strict)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(text))
	once := strings.Trim(strict.String(), "\"\n")
	safe, err := json.Marshal(text)
	require.NoError(t, err)
	twice, err := json.Marshal(once)
	require.NoError(t, err)
	return []string{text, once, strings.Trim(string(safe), `"`), strings.Trim(string(twice), `"`), template.HTMLEscapeString(text)}
}

// leaky says what it should not in every way a tool can.
func leaky(name, text string, way int) toolguard.Tool {
	return toolguard.Func(toolguard.Info{Name: name, Effect: toolguard.NonIdempotent}, func(ctx context.Context, in question) (string, error) {
		switch way {
		case 0:
			return "", errors.New(text)
		case 1:
			return "", &os.PathError{Op: "open", Path: "x", Err: errors.New("\n" + text)}
		case 2:
			panic(text)
		case 3:
			return "", toolguard.Unavailable("%s", text)
		default:
			return text, nil
		}
	})
}

// All that is known to be secret goes in as errors, panics, arguments, results and
// names, with every switch on that records more; nothing of it comes out of the
// logs, spans, metrics, store, reports or traces.
func TestNoSecretLeavesBySinks(t *testing.T) {
	t.Parallel()
	var logs, spans bytes.Buffer
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(&spans))
	require.NoError(t, err)
	tele, err := newTelemetry("127.0.0.1:0", &spans)
	require.NoError(t, err)
	tele.traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	tele.observer, err = otelguard.New(&otelguard.Options{TracerProvider: tele.traces, MeterProvider: tele.meters, Arguments: true, Results: true})
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "events.db")
	store, err := dial.Open(t.Context(), name)
	require.NoError(t, err)
	recorder, err := eventstore.NewRecorder(store, &eventstore.Options{Successes: 1, Payloads: true, Queue: 1 << 20})
	require.NoError(t, err)
	observer := toolguard.Observers(toolguard.LogObserver(slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))), tele.observer, recorder)

	all := secrets(t)
	var ids []string
	for i, s := range all {
		for way := range 5 {
			box, err := toolguard.NewToolbox(&toolguard.ToolboxOptions{Options: toolguard.Options{
				Observer: observer, Observe: toolguard.ObservePolicy{Arguments: true, Results: true},
			}}, leaky(fmt.Sprintf("tool_%d", way), s.text, way))
			require.NoError(t, err)
			args, err := json.Marshal(question{ID: s.text})
			require.NoError(t, err)
			id := fmt.Sprintf("c%d_%d", i, way)
			box.Do(t.Context(), toolguard.Call{Tool: fmt.Sprintf("tool_%d", way), ID: id, Args: args})
			box.Do(t.Context(), toolguard.Call{Tool: s.text, ID: id, Args: args})
			ids = append(ids, id)
		}
	}
	require.NoError(t, recorder.Close(t.Context()))
	require.Zero(t, recorder.Stats().Dropped)
	sinks := map[string]string{"logs": logs.String(), "spans": spans.String(), "metrics": scrape(t, tele.url)}
	require.NoError(t, tele.stop(t.Context()))
	records, err := store.Records(t.Context(), eventstore.Query{Limit: 1 << 20})
	require.NoError(t, err)
	require.Greater(t, len(records), 2*len(ids))
	kept, err := json.Marshal(records)
	require.NoError(t, err)
	sinks["store"] = string(kept)
	html := filepath.Join(t.TempDir(), "report.html")
	for sink, args := range map[string][]string{"report": {"-html", html}, "report -json": {"-json"}} {
		var out, errs bytes.Buffer
		require.Zero(t, report.Run(t.Context(), append(args, "-store", name), &out, &errs, nil), errs.String())
		sinks[sink] = out.String()
	}
	page, err := os.ReadFile(html)
	require.NoError(t, err)
	sinks["report -html"] = string(page)
	var traces bytes.Buffer
	for _, id := range ids {
		found, err := report.Find(t.Context(), store, nil, id)
		require.NoError(t, err)
		for i := range found {
			require.NoError(t, found[i].WriteText(&traces))
		}
	}
	sinks["trace"] = traces.String()
	for sink, text := range sinks {
		assert.Greater(t, len(text), 1000, "%s recorded nothing", sink)
		for _, s := range all {
			for _, part := range s.parts {
				for _, form := range forms(t, part) {
					if at := strings.Index(text, form); at >= 0 {
						t.Errorf("%q is in %s:\n%s\nfrom\n%s", part, sink, text[max(0, at-200):min(len(text), at+200)], s.text)
					}
				}
			}
		}
	}
}
