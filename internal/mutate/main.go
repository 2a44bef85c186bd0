// Command mutate asks how much of the core the tests really hold fast: it changes
// one thing at a time and sees whether a test notices.
//
//	go run ./internal/mutate                       # all files of the default list
//	go run ./internal/mutate -list retry.go        # what would be changed
//	go run ./internal/mutate -update retry.go …    # write the score into docs/mutation.md
//
// All changes of all files are compiled into one test binary, each behind a number
// that the environment chooses, so that a change costs one run of tests and no build.
// A change is killed if a test fails, panics or hangs. First the tests beside the
// file are run, then, if they pass, all of the package.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// targets are what decides what happens to a call: what an error means, whether to
// try again, whether to try at all, whether it goes in circles, what is remembered.
var targets = []string{
	"classify*.go", "retry.go", "breaker.go", "loopdetect.go", "journal*.go", "ledger*.go",
}

var (
	list    = flag.Bool("list", false, "list the changes, run nothing")
	update  = flag.Bool("update", false, "write "+paper)
	every   = flag.Int("every", 1, "try every n-th change only")
	workers = flag.Int("workers", runtime.NumCPU(), "tests run at once")
	limit   = flag.Duration("timeout", 60*time.Second, "a run of tests that takes longer has noticed")
)

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(patterns []string) error {
	if len(patterns) == 0 {
		patterns = targets
	}
	files, err := expand(patterns)
	if err != nil {
		return err
	}
	pkg, err := load(files)
	if err != nil {
		return err
	}
	if *every > 1 {
		for i, m := range pkg.mutants {
			m.dropped = i%*every != 0
		}
		pkg.mutants = slices.DeleteFunc(pkg.mutants, func(m *mutant) bool { return m.dropped })
	}
	if *list {
		for _, m := range pkg.mutants {
			fmt.Println(m)
		}
		fmt.Println(len(pkg.mutants), "changes")
		return nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := pkg.build(dir)
	if err != nil {
		return err
	}
	if err := pkg.try(binary); err != nil {
		return err
	}
	return pkg.report()
}

// expand returns the files that patterns name, tests aside.
func expand(patterns []string) (files []string, err error) {
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if !strings.HasSuffix(f, "_test.go") {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file matches %q: run it in the root of the module", patterns)
	}
	return files, nil
}
