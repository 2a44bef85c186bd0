package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const paper = "docs/mutation.md"

// reasons say why a change cannot be noticed, or need not be: lines of a change as
// the paper shows it, " = " and the reason.
//
//go:embed reasons.txt
var reasons string

func reasonOf(change string) string {
	for line := range strings.Lines(reasons) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), change+" = "); ok {
			return reason
		}
	}
	return "**no reason yet**"
}

// score is what was found out about one file.
type score struct {
	file, text             string // text is a digest of the file's
	changes, tried, killed int
	alive                  []string // the changes nothing noticed
}

// scores are those of all files, by name.
type scores struct{ files map[string]*score }

func (s *scores) put(one *score) { s.files[one.file] = one }

// current reports whether all changes of a file were tried, in the text it has now.
func (s *scores) current(file string) bool {
	known := s.files[file]
	return known != nil && known.text == digest(file) && known.tried == known.changes
}

func digest(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

var errNoTime = errors.New("the time is over")

// measure tries the changes of one file.
func (p *loaded) measure(t *target, s *suite, every int, end time.Time) (*score, error) {
	one := &score{file: t.name, text: digest(t.name)}
	alive := map[string]int{}
	for _, m := range p.mutants {
		if m.file != t.name {
			continue
		}
		one.changes++
		if (one.changes-1)%max(every, 1) != 0 {
			continue
		}
		if !end.IsZero() && time.Now().After(end) {
			return nil, errNoTime
		}
		one.tried++
		if s.decide(m); m.killed {
			one.killed++
			continue
		}
		fmt.Fprintf(os.Stderr, "alive: line %d of %s\n", m.line, m)
		alive[m.String()]++
	}
	for change, n := range alive {
		if n > 1 {
			change += fmt.Sprintf(" (%d times)", n)
		}
		one.alive = append(one.alive, change)
	}
	slices.Sort(one.alive)
	fmt.Fprintf(os.Stderr, "%s: %d of %d changes killed\n", one.file, one.killed, one.tried)
	return one, nil
}

// String is the two tables of the paper.
func (s *scores) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "| file | text | changes | tried | killed | score |\n|---|---|---|---|---|---|\n")
	all := &score{}
	files := slices.SortedFunc(maps.Values(s.files), func(a, b *score) int { return cmp.Compare(a.file, b.file) })
	for _, f := range files {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s\n", f.file, f.text, f.counts())
		all.changes, all.tried, all.killed = all.changes+f.changes, all.tried+f.tried, all.killed+f.killed
	}
	fmt.Fprintf(&b, "| all | | %s\n\n| survivor | reason |\n|---|---|\n", all.counts())
	for _, f := range files {
		for _, change := range f.alive {
			fmt.Fprintf(&b, "| `%s` | %s |\n", change, reasonOf(times.ReplaceAllString(change, "")))
		}
	}
	return b.String()
}

// counts are the columns with numbers. The score is rounded down.
func (f *score) counts() string {
	percent := "–"
	if f.tried > 0 {
		percent = fmt.Sprintf("%d %%", 100*f.killed/f.tried)
	}
	return fmt.Sprintf("%d | %d | %d | %s |", f.changes, f.tried, f.killed, percent)
}

const begin, end = "<!-- begin of scores: go run ./internal/mutate -update -->\n", "<!-- end of scores -->\n"

var (
	times       = regexp.MustCompile(` \(\d+ times\)$`)
	fileRow     = regexp.MustCompile("(?m)^\\| `([\\w.]+)` \\| `(\\w+)` \\| (\\d+) \\| (\\d+) \\| (\\d+) \\|")
	survivorRow = regexp.MustCompile("(?m)^\\| `(([\\w.]+\\.go) [^`]*)` \\|")
)

// readScores reads what the paper has. Without need a paper that is not there is
// an empty one.
func readScores(need bool) (*scores, error) {
	s := &scores{files: map[string]*score{}}
	_, printed, _, err := readPaper()
	if err != nil {
		if need {
			return nil, err
		}
		return s, nil
	}
	if !need {
		return s, nil
	}
	for _, m := range fileRow.FindAllStringSubmatch(printed, -1) {
		one := &score{file: m[1], text: m[2]}
		for i, n := range []*int{&one.changes, &one.tried, &one.killed} {
			*n, _ = strconv.Atoi(m[3+i])
		}
		s.put(one)
	}
	for _, m := range survivorRow.FindAllStringSubmatch(printed, -1) {
		if one := s.files[m[2]]; one != nil {
			one.alive = append(one.alive, m[1])
		}
	}
	return s, nil
}

func readPaper() (before, scores, after string, err error) {
	text, err := os.ReadFile(paper)
	if err != nil {
		return "", "", "", err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	scores, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", "", "", fmt.Errorf("%s has no place for the scores: it needs the lines %q and %q", paper, begin, end)
	}
	return before, scores, after, nil
}

func (s *scores) write() error {
	before, _, after, err := readPaper()
	if err != nil {
		return err
	}
	return os.WriteFile(paper, []byte(before+begin+s.String()+end+after), 0o600)
}
