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
	fmt.Fprint(p.out, `toolguard refund: one refund of 80.00 is asked for. How many does the bank book?

The bank is a process with a ledger. There are three kinds of tool in front of it:

  refund_with_status   the bank can be asked what became of a refund
  refund_with_key      the bank honours Idempotency-Key
  refund_with_none     neither

`)
}

// story prints the scene in which nobody is killed, call by call.
func (p printer) story(pairs []*pair) {
	fmt.Fprint(p.out, `1. The everyday story: the bank books the refund, but its answer does not come in
   time, three times. The model plans anew and calls again, with a new call ID.
`)
	for _, x := range pairs {
		p.calls(x.tool+", without toolguard", &x.unguarded)
		p.calls(x.tool+", with toolguard", &x.guard)
	}
}

func (p printer) calls(title string, r *result) {
	fmt.Fprintf(p.out, "\n   %s\n", title)
	for i, a := range r.answers {
		switch {
		case a.CallID == byPerson:
			a.Reads = "decides, and looks at the bank's statement for it"
		case i > 0 && a.same(r.answers[i-1]):
			a.Reads = "the same"
		}
		label := "     " + a.CallID
		for _, line := range fold(a.Reads) {
			fmt.Fprintf(p.out, "%-19s%s\n", label, line)
			label = ""
		}
	}
	fmt.Fprintf(p.out, "     the ledger    %s%s\n", r.money(), r.names())
}

// same says that the model reads the same again, but for the reference in the last
// line.
func (a answer) same(b answer) bool {
	before := func(text string) string {
		return text[:max(strings.LastIndexByte(text, '\n'), 0)]
	}
	return !a.OK && a.Code == b.Code && before(a.Reads) == before(b.Reads)
}

const scenesText = `

2. The agent is killed with SIGKILL, and started again until its work is done. The
   ledger in the end:

`

const legend = `
   *  A person had to decide: nothing else can find out what became of a refund.
   –  Without toolguard nobody is asked.
`

// table prints one line for each scene, with the ledgers of all kinds of tool.
func (p printer) table(pairs []*pair) {
	fmt.Fprint(p.out, scenesText)
	p.row("", kinds[0], "", kinds[1], "", kinds[2], "")
	cells := []any{"killed …"}
	for range kinds {
		cells = append(cells, "without", "with")
	}
	p.row(cells...)
	for _, s := range scenes {
		cells := []any{s.title}
		for _, tool := range kinds {
			cells = append(cells, ledgers(find(pairs, s.title, tool))...)
		}
		p.row(cells...)
	}
	fmt.Fprint(p.out, legend)
}

func (p printer) row(cells ...any) {
	line := fmt.Sprintf("   %-49s %-10s%-12s%-10s%-12s%-10s%s", cells...)
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

// ledgers are the two cells of a scene with one kind of tool.
func ledgers(x *pair) []any {
	if x == nil {
		return []any{"", ""}
	}
	without, with := x.unguarded.money(), x.guard.money()
	if x.scene.approve && len(x.scene.plain) == 0 {
		without = "–"
	}
	if x.guard.decided {
		with += " *"
	}
	return []any{without, with}
}

// details prints every scene, call by call.
func (p printer) details(pairs []*pair) {
	for _, x := range pairs {
		fmt.Fprintf(p.out, "\n   killed %s\n", x.scene.title)
		p.calls(x.tool+", without toolguard", &x.unguarded)
		p.calls(x.tool+", with toolguard", &x.guard)
	}
}

func (p printer) took(d time.Duration) {
	fmt.Fprintf(p.out, "\nIt took %.0f s.\n", d.Seconds())
}

// money is how much the bank has refunded.
func (r *result) money() string { return fmt.Sprintf("%d × 80", len(r.refunds)) }

// names are the refunds, by the bank's names.
func (r *result) names() string {
	text := ""
	for _, made := range r.refunds {
		text += "  " + made.ID
	}
	return text
}

// width is the number of columns of what the model reads.
const width = 88

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
