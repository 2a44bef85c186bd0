package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// aside are tests about something else than what the code does: papers, style, speed.
var aside = []string{"policy*_test.go", "papers_test.go", "*speed_test.go", "*bench_test.go"}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)

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

// suite is the compiled tests, and what is known of each.
type suite struct {
	binary string
	tests  []*test
}

// test is one test function.
type test struct {
	name  string
	took  time.Duration
	kills int
	// reaches has the numbers of the changes whose places the test comes by.
	reaches map[string]bool
}

// suite builds the tests and sees what each of them reaches. A test that fails by
// itself, because it counts allocations for instance, is left out.
func (p *loaded) suite(dir string) (*suite, error) {
	binary, err := p.build(dir)
	if err != nil {
		return nil, err
	}
	list, err := exec.Command(binary, "-test.list", ".").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the tests: %w", err)
	}
	s := &suite{binary: binary}
	skip := testsIn(aside...)
	for name := range strings.FieldsSeq(string(list)) {
		if slices.Contains(skip, name) {
			continue
		}
		t, err := s.record(name, filepath.Join(dir, "reached"))
		for tries := 1; err != nil && tries < 3; tries++ { // it may have been the machine
			t, err = s.record(name, filepath.Join(dir, "reached"))
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "left out, as it fails without any change: %s (%v)\n", name, err)
			continue
		}
		s.tests = append(s.tests, t)
	}
	if len(s.tests) == 0 {
		return nil, errors.New("there is no test that passes without any change")
	}
	return s, nil
}

// alone bounds the run of a single test.
const alone = time.Minute

// record runs one test without a change.
func (s *suite) record(name, file string) (*test, error) {
	_ = os.Remove(file)
	began := time.Now()
	if out := s.run([]string{name}, alone, reachVariable+"="+file); out.failed {
		return nil, errors.New(out.by)
	}
	t := &test{name: name, took: time.Since(began), reaches: map[string]bool{}}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for id := range strings.FieldsSeq(string(text)) {
		t.reaches[id] = true
	}
	return t, nil
}

// result is what came of a run of tests.
type result struct {
	failed bool
	by     string
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// run runs tests, with an environment that says what to change or to record.
func (s *suite) run(names []string, limit time.Duration, environment string) result {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary, "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Env = append(os.Environ(), environment, "GOMEMLIMIT=1GiB")
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	found := failedTest.FindStringSubmatch(out.String())
	switch {
	case err == nil:
		return result{}
	case found != nil:
		return result{true, found[1]}
	case ctx.Err() != nil:
		return result{true, "(time)"}
	}
	return result{true, "(panic)"}
}

// first is how long the tests that are tried first may take together.
const first = 500 * time.Millisecond

// decide tries a change with the tests that reach it. Most changes end with the
// few that are fast or have noticed others.
func (s *suite) decide(m *mutant) {
	tests := s.reaching(m)
	slices.SortStableFunc(tests, func(a, b *test) int {
		return cmp.Or(cmp.Compare(b.kills, a.kills), cmp.Compare(a.took, b.took))
	})
	n, sum := 0, time.Duration(0)
	for n < len(tests) && sum < first {
		sum += tests[n].took
		n++
	}
	if !s.notice(m, tests[:n]) {
		s.notice(m, tests[n:])
	}
}

// reaching are the tests that come by the place of a change.
func (s *suite) reaching(m *mutant) (tests []*test) {
	for _, t := range s.tests {
		if t.reaches[fmt.Sprint(m.id)] {
			tests = append(tests, t)
		}
	}
	return tests
}

// notice runs tests with a change. A test that fails has to fail twice: what fails
// now and then has noticed nothing.
func (s *suite) notice(m *mutant, tests []*test) bool {
	byName := map[string]*test{}
	limit := 15 * time.Second
	for _, t := range tests {
		byName[t.name] = t
		limit += 5 * t.took
	}
	environment := fmt.Sprintf("%s=%d", variable, m.id)
	for len(byName) > 0 {
		r := s.run(slices.Sorted(maps.Keys(byName)), limit, environment)
		t := byName[r.by]
		if r.failed && t != nil && !s.run([]string{t.name}, limit, environment).failed {
			delete(byName, t.name)
			continue
		}
		if t != nil {
			t.kills++
		}
		m.killed, m.by = r.failed, r.by
		return r.failed
	}
	return false
}
