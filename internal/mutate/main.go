// Command mutate asks how much of the core the tests really hold fast: it changes
// one thing at a time and sees whether a test notices.
//
//	go run ./internal/mutate                       # all files of the default list
//	go run ./internal/mutate -list retry.go        # what would be changed
//	go run ./internal/mutate -update retry.go      # put the file's score into docs/mutation.md
//	go run ./internal/mutate -update -resume       # only files that have changed since
//
// All changes of all files are compiled into one test binary, each behind a number
// that the environment chooses, so that a change costs a run of tests and no build.
// Before anything is changed each test runs alone, once, to see which places it
// reaches; a change is then tried with the tests that reach it and no others, those
// first that have noticed most. It is killed if one of them fails, panics or hangs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// targets are what decides what happens to a call: what an error means, whether to
// try again, whether to try at all, whether it goes in circles, what is remembered.
var targets = []string{
	"classify*.go", "retry.go", "breaker.go", "permit.go", "loopdetect.go", "journal*.go", "ledger*.go",
}

// options are what the command line says.
type options struct {
	list, update, resume bool
	every                int
	within               time.Duration
}

func main() {
	var o options
	flag.BoolVar(&o.list, "list", false, "list the changes, run nothing")
	flag.BoolVar(&o.update, "update", false, "put the scores into "+paper+", each file's as soon as it is known; those of other files stay")
	flag.BoolVar(&o.resume, "resume", false, "leave out files whose score in "+paper+" is of the text they have now")
	flag.IntVar(&o.every, "every", 1, "try every n-th change of a file only")
	flag.DurationVar(&o.within, "within", 0, "end after this time, without the file that was begun; 0 is no limit")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run does all the command does, in the current directory.
func run(o options, patterns []string) error {
	if len(patterns) == 0 {
		patterns = targets
	}
	files, err := expand(patterns)
	if err != nil {
		return err
	}
	scores, err := readScores(o.update || o.resume)
	if err != nil {
		return err
	}
	if o.resume {
		files = slices.DeleteFunc(files, func(f string) bool { return scores.current(f) })
	}
	if len(files) > 0 {
		if err := o.each(files, scores); err != nil {
			return err
		}
	}
	if o.list {
		return nil
	}
	fmt.Print(scores)
	if o.update {
		return scores.write()
	}
	return nil
}

// each measures file by file.
func (o options) each(files []string, s *scores) error {
	p, err := load(files)
	if err != nil {
		return err
	}
	if o.list {
		p.print()
		return nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	suite, err := p.suite(dir)
	if err != nil {
		return err
	}
	var end time.Time
	if o.within > 0 {
		end = time.Now().Add(o.within)
	}
	for _, t := range p.targets {
		score, err := p.measure(t, suite, o.every, end)
		if errors.Is(err, errNoTime) {
			fmt.Fprintf(os.Stderr, "%s and what comes after it are left out: the time is over\n", t.name)
			return nil
		}
		if err != nil {
			return err
		}
		s.put(score)
		if o.update {
			if err := s.write(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *loaded) print() {
	for _, m := range p.mutants {
		fmt.Println(m)
	}
	fmt.Println(len(p.mutants), "changes")
}

// expand returns the files that patterns name, tests aside.
func expand(patterns []string) (files []string, err error) {
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if !strings.HasSuffix(f, "_test.go") && !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file matches %q: run it in the root of the module", patterns)
	}
	return files, nil
}
