package toolguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// A transcript is a text file of named sections, each begun by a line
// "-- name --". What stands before the first one says which rule the file pins
// and which public report it comes from. The sections, in order:
//
//	tool          name, effect and settings, one "key: value" a line; all optional
//	schema        the schema of the tool above; without one, anything goes
//	described     what Guard.Describe says of the schema: rewrites, not enforced,
//	              constrains nothing; "refused: …" is part of the error of New
//	arguments     one call. "quoted arguments" is a Go string literal
//	returns text, returns json, returns error
//	              what the tool does; without one, it echoes its arguments.
//	              "quoted" may precede text and error
//	want          the facts of the answer, as listed at transcript.want. It ends the call
//
// A new tool section starts over with another guard.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cases/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			rule, parts := readTranscript(t, string(text))
			assert.Contains(t, rule, "Report: ", "a transcript names the report it comes from")
			s := &transcript{t: t, file: file}
			for _, part := range parts {
				s.play(part)
			}
			assert.NotZero(t, s.settled, "%s wants nothing", file)
		})
	}
}

// transcriptPart is one part of a transcript, with the line it begins at.
type transcriptPart struct {
	name, text string
	line       int
}

func readTranscript(t *testing.T, text string) (rule string, parts []transcriptPart) {
	t.Helper()
	var b strings.Builder
	end := func() {
		if n := len(parts); n > 0 {
			parts[n-1].text = b.String()
		} else {
			rule = b.String()
		}
		b.Reset()
	}
	for i, line := range strings.SplitAfter(text, "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, " --\n"), "-- "); ok && strings.HasSuffix(line, " --\n") {
			end()
			parts = append(parts, transcriptPart{name: name, line: i + 1})
			continue
		}
		b.WriteString(line)
	}
	end()
	return rule, parts
}

// transcript plays one transcript.
type transcript struct {
	t       *testing.T
	file    string
	settled int

	info   toolguard.Info
	opts   toolguard.Options
	guard  *toolguard.Guard
	args   string
	answer func(args json.RawMessage) (toolguard.Result, error)
	ran    json.RawMessage // what the tool got; nil if it did not run
}

func (s *transcript) play(part transcriptPart) {
	where := fmt.Sprintf("%s:%d", s.file, part.line)
	text := strings.TrimSuffix(part.text, "\n")
	if name, ok := strings.CutPrefix(part.name, "quoted "); ok {
		unquoted, err := strconv.Unquote(text)
		require.NoError(s.t, err, where)
		part.name, text = name, unquoted
	}
	switch part.name {
	case "tool":
		s.tool(where, text)
	case "schema":
		s.info.Schema, s.guard = json.RawMessage(text), nil
	case "described":
		s.described(where, text)
	case "arguments":
		s.args, s.answer = text, nil
	case "returns text":
		s.answer = func(json.RawMessage) (toolguard.Result, error) { return toolguard.Result{Text: text}, nil }
	case "returns json":
		s.answer = func(json.RawMessage) (toolguard.Result, error) {
			return toolguard.Result{JSON: json.RawMessage(text)}, nil
		}
	case "returns error":
		s.answer = func(json.RawMessage) (toolguard.Result, error) { return toolguard.Result{}, errors.New(text) }
	case "want":
		s.want(where, text)
	default:
		require.Fail(s.t, "unknown section "+part.name, where)
	}
}

func (s *transcript) tool(where, text string) {
	s.info, s.opts, s.guard = toolguard.Info{Name: "echo", Effect: toolguard.ReadOnly}, toolguard.Options{}, nil
	for _, f := range transcriptFacts(s.t, where, text) {
		switch f.key {
		case "name":
			s.info.Name = f.value
		case "effect":
			require.NoError(s.t, s.info.Effect.UnmarshalText([]byte(f.value)), where)
		case "schemas":
			require.NoError(s.t, s.opts.Arguments.Schema.UnmarshalText([]byte(f.value)), where)
		case "repairs":
			s.opts.Arguments.Off = f.value == "off"
		case "causes":
			s.opts.Render.QuoteCauses, s.opts.Render.HideCauses = f.value == "quoted", f.value == "hidden"
		default:
			require.Fail(s.t, "unknown setting "+f.key, where)
		}
	}
}

// Info and Call make a transcript the tool of its own guard.
func (s *transcript) Info() toolguard.Info { return s.info }

func (s *transcript) Call(_ context.Context, args json.RawMessage) (toolguard.Result, error) {
	s.ran = args
	if s.answer != nil {
		return s.answer(args)
	}
	return toolguard.Result{JSON: args}, nil
}

func (s *transcript) build(where string) {
	if s.guard != nil {
		return
	}
	var err error
	s.guard, err = toolguard.New(s, &s.opts)
	require.NoError(s.t, err, where)
}

func (s *transcript) described(where, text string) {
	s.settled++
	for _, f := range transcriptFacts(s.t, where, text) {
		if f.key == "refused" {
			_, err := toolguard.New(s, &s.opts)
			assert.ErrorContains(s.t, err, f.value, where)
			continue
		}
		s.build(where)
		d := s.guard.Describe()
		switch f.key {
		case "rewrites":
			assert.Contains(s.t, strings.Join(d.SchemaRewrites, "\n"), f.value, where)
		case "not enforced":
			assert.Contains(s.t, strings.Join(d.NotEnforced, "\n"), f.value, where)
		case "constrains nothing":
			assert.Equal(s.t, f.value, strconv.FormatBool(d.ConstrainsNothing), where)
		default:
			require.Fail(s.t, "unknown fact "+f.key, where)
		}
	}
}

// want makes the call and holds the answer against the facts:
//
//	answer:       ok, or the code of the failure
//	outcome:      of a failure
//	ran:          the arguments the tool got, byte for byte; absent: it did not run
//	notes:        kinds, in order; absent: none
//	violation:    path and rule, one a line, in order; absent: none
//	example:      the example that goes with the violations
//	reads:        part of what the model reads
//	never reads:  not part of it
func (s *transcript) want(where, text string) {
	s.settled++
	s.build(where)
	s.ran = nil
	env := s.guard.Do(s.t.Context(), toolguard.Call{ID: "call_7", Args: json.RawMessage(s.args)})
	assertAnswer(s.t, &env, where)
	got := transcriptWant{answer: "ok", ran: string(s.ran), reads: env.ForModel()}
	for _, n := range env.Notes {
		got.notes = append(got.notes, string(n.Kind))
	}
	if s.ran != nil {
		assert.Equal(s.t, string(s.ran), string(env.Args), "%s: the envelope tells what ran", where)
	}
	if f := env.Error; f != nil {
		got.answer, got.outcome, got.example = string(f.Code), f.Outcome.String(), string(f.Example)
		for _, v := range f.Violations {
			got.violations = append(got.violations, strings.TrimSpace(v.Path+" "+v.Rule))
		}
	}
	got.compare(s.t, where, transcriptFacts(s.t, where, text))
}

// transcriptWant holds the facts of an answer.
type transcriptWant struct {
	answer, outcome, ran, example, reads string
	notes, violations                    []string
}

func (got *transcriptWant) compare(t *testing.T, where string, want []transcriptFact) {
	t.Helper()
	var expected transcriptWant
	for _, f := range want {
		switch f.key {
		case "answer":
			expected.answer = f.value
		case "outcome":
			expected.outcome = f.value
		case "ran":
			expected.ran = f.value
		case "notes":
			expected.notes = strings.Fields(f.value)
		case "violation":
			expected.violations = append(expected.violations, f.value)
		case "example":
			assert.Equal(t, f.value, got.example, where)
		case "reads":
			assert.Contains(t, got.reads, f.value, where)
		case "never reads":
			assert.NotContains(t, got.reads, f.value, where)
		default:
			require.Fail(t, "unknown fact "+f.key, where)
		}
	}
	got.reads, got.example = "", ""
	assert.Equal(t, expected.String(), got.String(), where)
}

// String writes the facts as a transcript does.
func (w transcriptWant) String() string {
	text := "answer: " + w.answer
	for _, line := range [...]string{"outcome: " + w.outcome, "ran: " + w.ran, "notes: " + strings.Join(w.notes, " ")} {
		if !strings.HasSuffix(line, ": ") {
			text += "\n" + line
		}
	}
	for _, v := range w.violations {
		text += "\nviolation: " + v
	}
	return text
}

// transcriptFact is one "key: value" line.
type transcriptFact struct{ key, value string }

func transcriptFacts(t *testing.T, where, text string) (out []transcriptFact) {
	t.Helper()
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		require.True(t, ok, "%s: %q is no fact", where, line)
		out = append(out, transcriptFact{key, strings.TrimSpace(value)})
	}
	return out
}

// assertAnswer checks what is promised of every answer, whatever the case.
func assertAnswer(t *testing.T, env *toolguard.Envelope, where string) {
	t.Helper()
	assert.Equal(t, env.OK, env.Error == nil, where)
	rendered, err := json.Marshal(env)
	require.NoError(t, err, where)
	if env.OK {
		return
	}
	assert.NotEmpty(t, env.Suggestion, where)
	assert.True(t, json.Valid(rendered), "%s: %s", where, rendered)
	limit := 1 << 10
	if len(env.Error.Violations) > 0 {
		limit = 2 << 10
	}
	assert.LessOrEqual(t, len(rendered), limit, where)
	assert.False(t, bytes.ContainsFunc(rendered, func(r rune) bool { return r < ' ' }), where)
}
