package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// printer writes what was played as plain text.
type printer struct{ out io.Writer }

func (p printer) intro() {
	fmt.Fprint(p.out, `toolguard refund: an agent is to refund one order, once. How often does the bank pay?

The bank is a process with a ledger. Three kinds of tool stand in front of it:

  refund_with_status   the bank can be asked what became of a refund
  refund_with_key      the bank honours Idempotency-Key
  refund_with_none     neither

Everything is played without toolguard and with it, in some 15 s.
`)
}

const storyText = `
1. Nobody dies. The bank pays, but its answer does not come in time, three times in
   a row. The model reads of it, plans anew, and calls again under a new call ID.
`

// story prints the scene in which nobody is killed, call by call.
func (p printer) story(pairs []*pair) {
	fmt.Fprint(p.out, storyText)
	p.calls(pairs)
}

// calls prints what the model reads, for each kind of tool.
func (p printer) calls(pairs []*pair) {
	for _, x := range pairs {
		fmt.Fprintf(p.out, "\n   %s\n", x.tool)
		p.answers("without", &x.unguarded)
		p.answers("with", &x.guard)
	}
}

// answers prints one side of a scene. Answers that are the same are counted.
func (p printer) answers(side string, r *result) {
	line := func(who, text string) {
		fmt.Fprintf(p.out, "     %-9s%-15s%s\n", side, who, text)
		side = ""
	}
	for i := 0; i < len(r.answers); {
		a, n := r.answers[i], 1
		for i+n < len(r.answers) && r.answers[i+n].same(a) {
			n++
		}
		if a.CallID == byPerson {
			a.Reads = "looks at the bank's statement, and decides"
		}
		for j, text := range fold(a.Reads) {
			who := ""
			if j == 0 {
				who = a.CallID
			}
			line(who, text)
		}
		if n > 1 {
			line("", fmt.Sprintf("… and %d more calls that read the same", n-1))
		}
		i += n
	}
	line("→", "the bank has paid "+times(len(r.refunds)))
}

func times(n int) string {
	switch n {
	case 0:
		return "nothing"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// same says that the model reads the same again, but for the reference in the last
// line.
func (a answer) same(b answer) bool {
	before := func(text string) string {
		return text[:max(strings.LastIndexByte(text, '\n'), 0)]
	}
	return !a.OK && a.CallID != byPerson && a.Code == b.Code && before(a.Reads) == before(b.Reads)
}

const scenesText = `

2. The agent is killed with SIGKILL, and started again until its work is done. The
   intent is what the journal has before the tool runs, the outcome what it has after.
   How often the bank has paid in the end, without → with toolguard:

`

const legend = `
   *  A person had to decide, because nothing else could find out, or was asked first.
   –  Without toolguard nobody is asked.
`

// table prints one line for each scene, with the payments of all kinds of tool.
func (p printer) table(pairs []*pair) {
	fmt.Fprint(p.out, scenesText)
	cells := []any{"killed …"}
	for _, tool := range kinds {
		cells = append(cells, tool)
	}
	p.row(cells...)
	for _, s := range scenes {
		cells := []any{s.title}
		for _, tool := range kinds {
			cells = append(cells, payments(find(pairs, s.title, tool)))
		}
		p.row(cells...)
	}
	fmt.Fprint(p.out, legend)
}

func (p printer) row(cells ...any) {
	line := fmt.Sprintf("   %-51s %-20s%-17s%s", cells...)
	fmt.Fprintln(p.out, strings.TrimRight(line, " "))
}

func find(pairs []*pair, title, tool string) *pair {
	for _, x := range pairs {
		if x.scene.title == title && x.tool == tool {
			return x
		}
	}
	return nil
}

// payments is the cell of a scene with one kind of tool.
func payments(x *pair) string {
	if x == nil {
		return ""
	}
	without := fmt.Sprint(len(x.unguarded.refunds))
	if x.scene.approve && len(x.scene.plain) == 0 {
		without = "–"
	}
	text := fmt.Sprintf("%s → %d", without, len(x.guard.refunds))
	if x.guard.decided {
		text += " *"
	}
	return text
}

// sum prints what it all comes to.
func (p printer) sum(pairs []*pair, took time.Duration) {
	var without, with, decided, most int
	for _, x := range pairs {
		if n := len(x.unguarded.refunds); n > 1 {
			without++
			most = max(most, n)
		}
		if len(x.guard.refunds) > 1 {
			with++
		}
		if x.guard.decided {
			decided++
		}
	}
	fmt.Fprintf(p.out, `
In %d of %d plays the bank paid more than once without toolguard, up to %d times; with it
in %d. In %d a person decided. It took %.0f s. Flag -v shows every call.
`, without, len(pairs), most, with, decided, took.Seconds())
}

// details prints every scene, call by call.
func (p printer) details(pairs []*pair) {
	for _, x := range pairs {
		fmt.Fprintf(p.out, "\n   killed %s\n", x.scene.title)
		p.calls([]*pair{x})
	}
}

// width is the number of columns of what the model reads.
const width = 72

// fold breaks text into lines no wider than width, at spaces.
func fold(text string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		for len(line) > width {
			at := strings.LastIndexByte(line[:width], ' ')
			if at <= 0 {
				break // one long word
			}
			lines, line = append(lines, line[:at]), line[at+1:]
		}
		lines = append(lines, line)
	}
	return lines
}
