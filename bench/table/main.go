// Command table measures guards beside their peers and prints ratios.
//
// All samples come from one process and are interleaved: what disturbs the
// machine disturbs every row alike. A row is the least disturbed of its samples.
// Times are comparable within one run only.
//
//	go run ./bench/table [-rounds n] [-run regexp] [-update file]
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/toolguard-go/toolguard/bench"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	rounds := flags.Int("rounds", 16, "samples of each row, 8 at least for a result worth keeping")
	pattern := flags.String("run", "", "measure only the cases whose name matches this `regexp`")
	file := flags.String("update", "", "put the table between the marks of this Markdown `file`, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cases, err := chosen(*pattern)
	if err != nil {
		return err
	}
	// A sample is long enough for a few garbage collections and short enough for
	// the quiet moments of a busy machine.
	testing.Init()
	if err := flag.Set("test.benchtime", "20ms"); err != nil {
		return err
	}
	rows := rowsOf(cases)
	for i := range max(*rounds, 1) {
		if err := sample(rows, i); err != nil {
			return err
		}
	}
	return publish(rows, *file)
}

func chosen(pattern string) ([]bench.Case, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	cases := slices.DeleteFunc(bench.Cases(), func(c bench.Case) bool { return !re.MatchString(c.Name) })
	if len(cases) == 0 {
		return nil, fmt.Errorf("no case matches %q", pattern)
	}
	return cases, nil
}

// publish prints the table and keeps it in file, if there is one.
func publish(rows []*row, file string) error {
	var b bytes.Buffer
	writeFacts(&b, rows)
	writeTable(&b, rows)
	if _, err := os.Stdout.Write(b.Bytes()); err != nil || file == "" {
		return err
	}
	return update(file, b.Bytes())
}
