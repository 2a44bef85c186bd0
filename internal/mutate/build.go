package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The environment of a test binary: which change is in force, or the file that gets
// the numbers of the changes that were come by.
const (
	variable      = "TOOLGUARD_MUTANT"
	reachVariable = "TOOLGUARD_MUTANT_REACHED"
)

// chooser is the file that goes with the changed ones, %[1]s the package, %[2]d one
// more than there are changes.
const chooser = `package %[1]s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantChosen, _ = strconv.Atoi(os.Getenv("` + variable + `"))
	mutantReachFile = os.Getenv("` + reachVariable + `")
	mutantsReached  [%[2]d]atomic.Bool
)

func mutating(id int) bool {
	if mutantReachFile != "" {
		mutantsReached[id].Store(true)
	}
	return id == mutantChosen
}

// MutantsReached is called when the tests are over.
func MutantsReached() {
	if mutantReachFile == "" {
		return
	}
	var text []byte
	for id := range mutantsReached {
		if mutantsReached[id].Load() {
			text = fmt.Appendln(text, id)
		}
	}
	_ = os.WriteFile(mutantReachFile, text, 0o600)
}
`

// mainTest calls it, %[1]s being the package.
const mainTest = `package %[1]s

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	MutantsReached()
	os.Exit(code)
}
`

// build compiles the tests with all changes in. What does not compile is dropped.
func (p *loaded) build(dir string) (string, error) {
	binary := filepath.Join(dir, "tests")
	for range 200 {
		overlay, err := p.overlay(dir)
		if err != nil {
			return "", err
		}
		out, err := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
		if err == nil {
			p.mutants = slices.DeleteFunc(p.mutants, func(m *mutant) bool { return m.dropped })
			return binary, nil
		}
		if !p.drop(string(out), dir) {
			return "", fmt.Errorf("does not compile: %s", out)
		}
	}
	return "", errors.New("does not compile, however much is dropped")
}

// overlay writes the changed files, and what tells the go command about them.
func (p *loaded) overlay(dir string) (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	files := map[string][]byte{
		"mutant_chosen.go":    fmt.Appendf(nil, chooser, p.pkg.Name(), len(p.mutants)+1),
		"mutant_main_test.go": fmt.Appendf(nil, mainTest, p.pkg.Name()),
	}
	replace := map[string]string{}
	for name := range files {
		replace[filepath.Join(here, name)] = filepath.Join(dir, name)
	}
	for _, t := range p.targets {
		files[t.name] = t.instrumented()
		replace[filepath.Join(here, t.name)] = filepath.Join(dir, t.name)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	files["overlay.json"] = text
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "overlay.json"), nil
}

// instrumented puts the wraps around their pieces. Larger pieces come first where
// two begin at one place, and last where they end there.
func (t *target) instrumented() []byte {
	var b bytes.Buffer
	wraps := slices.DeleteFunc(slices.Clone(t.wraps), func(w *wrap) bool { return w.mutant.dropped })
	slices.SortStableFunc(wraps, func(a, b *wrap) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	var open []*wrap
	next := 0
	for at := 0; at <= len(t.text); at++ {
		for len(open) > 0 && open[len(open)-1].end == at {
			w := open[len(open)-1]
			b.WriteString(w.after)
			w.outTo = b.Len()
			open = open[:len(open)-1]
		}
		for next < len(wraps) && wraps[next].start == at {
			w := wraps[next]
			w.outFrom = b.Len()
			b.WriteString(w.before)
			open = append(open, w)
			next++
		}
		if at < len(t.text) {
			b.WriteByte(t.text[at])
		}
	}
	return b.Bytes()
}

var complaint = regexp.MustCompile(`([\w.]+\.go):(\d+):(\d+): `)

// drop drops the smallest change around each thing the compiler complains about.
func (p *loaded) drop(output, dir string) (dropped bool) {
	for _, c := range complaint.FindAllStringSubmatch(output, -1) {
		i := slices.IndexFunc(p.targets, func(t *target) bool { return t.name == c[1] })
		if i < 0 {
			continue
		}
		t := p.targets[i]
		line, _ := strconv.Atoi(c[2])
		column, _ := strconv.Atoi(c[3])
		text, err := os.ReadFile(filepath.Join(dir, t.name))
		if err != nil {
			return false
		}
		if w := t.smallest(position(string(text), line, column)); w != nil {
			w.mutant.dropped, dropped = true, true
		}
	}
	return dropped
}

func position(text string, line, column int) int {
	at := 0
	for range line - 1 {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return at + column - 1
}

func (t *target) smallest(at int) (found *wrap) {
	for _, w := range t.wraps {
		if !w.mutant.dropped && w.outFrom <= at && at < w.outTo && (found == nil || w.outTo-w.outFrom < found.outTo-found.outFrom) {
			found = w
		}
	}
	return found
}
