package toolguardtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/agentloop"
)

// UpdateFlag declares the flag -update, unless the test package has one, and
// returns true:
//
//	var _ = toolguardtest.UpdateFlag()
//
// This package does not declare it by itself: a test package that has its own would
// then not start. The variable TOOLGUARDTEST_UPDATE=1 does the same without a flag.
func UpdateFlag() bool {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write golden files anew")
	}
	return true
}

// updating reports whether golden files are to be written.
func updating() bool {
	if os.Getenv("TOOLGUARDTEST_UPDATE") == "1" {
		return true
	}
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// Section is a named part of a golden file.
type Section struct{ Name, Text string }

// Golden compares sections with those of a file in txtar form: each begins with a
// line "-- name --". With -update it writes the file and keeps what stands before the
// first section, which is for remarks. Incident IDs and random keys differ each time:
// they are compared as "(incident)" and "(key)".
func Golden(t testing.TB, path string, sections ...Section) {
	t.Helper()
	if len(sections) == 0 {
		t.Fatalf("toolguardtest: Golden %s has nothing to compare: give it at least one section", path)
	}
	old, err := os.ReadFile(path)
	remark, _, _ := strings.Cut("\n"+string(old), "\n-- ")
	got := archive(strings.TrimPrefix(remark, "\n"), sections)
	switch {
	case updating():
		write(t, path, got)
	case errors.Is(err, fs.ErrNotExist):
		t.Fatalf("toolguardtest: the golden file %s is missing: run this test once with -update (see UpdateFlag) or TOOLGUARDTEST_UPDATE=1, and read what it wrote", path)
	case err != nil:
		t.Fatalf("toolguardtest: golden file: %v", err)
	case string(old) != got:
		t.Errorf("toolguardtest: not as in %s (- the file, + now; -update or TOOLGUARDTEST_UPDATE=1 writes it anew):\n%s", path, diff(string(old), got))
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatalf("toolguardtest: golden file: %v", err)
	}
}

// archive writes sections as txtar does.
func archive(remark string, sections []Section) string {
	var b strings.Builder
	if remark = strings.TrimRight(remark, "\n"); remark != "" {
		b.WriteString(remark + "\n\n")
	}
	for _, s := range sections {
		text := steady(s.Text)
		fmt.Fprintf(&b, "-- %s --\n%s", s.Name, text)
		if !strings.HasSuffix(text, "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// What is another one each time.
var (
	incident = regexp.MustCompile(`("incident": ?")[^"]*"`)
	named    = regexp.MustCompile(`(?m)(Incident |incident |编号 ?|编号：)[0-9a-z]{8}\b`)
	key      = regexp.MustCompile(`\b[0-9a-f]{32}(?:[0-9a-f]{32})?\b`)
)

func steady(text string) string {
	text = incident.ReplaceAllString(text, `$1(incident)"`)
	text = named.ReplaceAllString(text, `$1(incident)`)
	return key.ReplaceAllString(text, "(key)")
}

// EnvelopeSection is an answer as the model reads it, JSON laid out over lines.
func EnvelopeSection(name string, env toolguard.Envelope) Section {
	return Section{name, laidOut(env.ForModel())}
}

// DescriptionSection is all that is in force for a guard, defaults included.
func DescriptionSection(guard *toolguard.Guard) Section {
	d := guard.Describe()
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		text = []byte(err.Error())
	}
	return Section{"description of " + d.Tool, string(text)}
}

// TranscriptSections are a conversation, one message a section.
func TranscriptSections(messages []agentloop.Message) []Section {
	var sections []Section
	for i, m := range messages {
		sections = append(sections, Section{fmt.Sprintf("%d %s", i+1, m.Role), messageText(&m)})
	}
	return sections
}

func messageText(m *agentloop.Message) string {
	var b strings.Builder
	if m.Text != "" {
		b.WriteString(m.Text + "\n")
	}
	for _, c := range m.Calls {
		fmt.Fprintf(&b, "call %s %s %s\n", c.ID, c.Tool, c.Args)
		if c.Answer == nil {
			b.WriteString("no answer\n")
			continue
		}
		fmt.Fprintf(&b, "answer %s\n", strings.TrimRight(laidOut(c.Answer.Text), "\n"))
	}
	if m.Hint != "" {
		b.WriteString("hint " + m.Hint + "\n")
	}
	return b.String()
}

// laidOut puts JSON over several lines, and leaves other text as it is.
func laidOut(text string) string {
	if !json.Valid([]byte(text)) {
		return text
	}
	out, err := json.MarshalIndent(json.RawMessage(text), "", "  ")
	if err != nil {
		return text
	}
	return string(out)
}
