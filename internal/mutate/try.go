package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// aside are tests about something else than what the code does: papers, style, speed.
var aside = []string{"policy*_test.go", "papers_test.go", "*speed_test.go", "*bench_test.go"}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Example)\w*)\(`)

// testsIn are the names of the tests in files.
func testsIn(patterns ...string) (names []string) {
	for _, p := range patterns {
		files, _ := filepath.Glob(p)
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				continue
			}
			for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// beside are the tests beside a file: those whose files have the first word of its
// name in theirs. What the journal is told is one mechanism in several files.
func beside(file string) []string {
	word, _, _ := strings.Cut(strings.TrimSuffix(file, ".go"), "_")
	if strings.HasPrefix(word, "journal") || word == "ledger" {
		return testsIn("*journal*_test.go", "*ledger*_test.go", "*recover*_test.go", "*approv*_test.go")
	}
	return testsIn("*" + word + "*_test.go")
}

// anyOf matches exactly these names.
func anyOf(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// try runs the tests for every change.
func (p *loaded) try(binary string) error {
	skip := testsIn(aside...)
	for {
		ok, by := test(binary, 0, "", skip)
		if ok {
			break
		}
		if by == "" || slices.Contains(skip, by) {
			return errors.New("the tests fail without any change")
		}
		skip = append(skip, by) // it minds being measured
	}
	work := make(chan *mutant)
	var wg sync.WaitGroup
	var done int
	var mu sync.Mutex
	for range *workers {
		wg.Go(func() {
			for m := range work {
				m.decide(binary, skip)
				mu.Lock()
				if done++; !m.killed || done%50 == 0 {
					fmt.Fprintf(os.Stderr, "%d/%d %s (line %d): killed %t by %s\n", done, len(p.mutants), m, m.line, m.killed, m.by)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range p.mutants {
		work <- m
	}
	close(work)
	wg.Wait()
	return nil
}

func (m *mutant) decide(binary string, skip []string) {
	if names := beside(m.file); len(names) > 0 {
		if ok, by := test(binary, m.id, anyOf(names), skip); !ok {
			m.killed, m.by = true, by
			return
		}
	}
	ok, by := test(binary, m.id, "", skip)
	m.killed, m.by = !ok, by
}

// test runs tests with one change and says whether all pass, or which one does not.
func test(binary string, id int, run string, skip []string) (ok bool, by string) {
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.failfast", "-test.run", run, "-test.skip", anyOf(skip))
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, id), "GOMEMLIMIT=1GiB")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err == nil {
		return true, ""
	}
	if m := failed.FindStringSubmatch(out.String()); m != nil {
		return false, m[1]
	}
	if ctx.Err() != nil {
		return false, "(time)"
	}
	return false, "(panic)"
}
