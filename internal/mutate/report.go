package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
)

const paper = "docs/mutation.md"

// reasons say why a change cannot be noticed, or need not be: lines of a change as
// it is printed, " = " and the reason.
//
//go:embed reasons.txt
var reasons string

func reasonOf(m *mutant) string {
	for line := range strings.Lines(reasons) {
		if change, reason, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && change == m.String() {
			return reason
		}
	}
	return ""
}

// report prints the score and the survivors, and writes them into the paper.
func (p *loaded) report() error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "| file | changes | killed | score |\n|---|---|---|---|\n")
	total, killed := 0, 0
	for _, t := range p.targets {
		n, k := 0, 0
		for _, m := range p.mutants {
			if m.file == t.name {
				n++
				if m.killed {
					k++
				}
			}
		}
		total, killed = total+n, killed+k
		if n > 0 {
			fmt.Fprintf(&b, "| `%s` | %d | %d | %d %% |\n", t.name, n, k, 100*k/n)
		}
	}
	if total == 0 {
		return fmt.Errorf("there is nothing to change")
	}
	fmt.Fprintf(&b, "| all | %d | %d | %.1f %% |\n\n", total, killed, 100*float64(killed)/float64(total))
	p.survivors(&b)
	os.Stdout.Write(b.Bytes())
	if !*update {
		return nil
	}
	return write(b.String())
}

func (p *loaded) survivors(b *bytes.Buffer) {
	fmt.Fprintf(b, "| survivor | reason |\n|---|---|\n")
	alive := slices.DeleteFunc(slices.Clone(p.mutants), func(m *mutant) bool { return m.killed })
	var lines []string
	for _, m := range alive {
		reason := reasonOf(m)
		if reason == "" {
			reason = "**no reason yet**"
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s |\n", strings.NewReplacer("|", "¦", "`", "'").Replace(m.String()), reason))
	}
	for _, l := range slices.Compact(lines) {
		b.WriteString(l)
	}
}

const begin, end = "<!-- begin of scores: go run ./internal/mutate -update -->\n", "<!-- end of scores -->\n"

func write(scores string) error {
	text, err := os.ReadFile(paper)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the scores", paper)
	}
	return os.WriteFile(paper, []byte(before+begin+scores+end+after), 0o600)
}
