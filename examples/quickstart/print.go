package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
)

// printer writes the conversation as plain text.
type printer struct{ out io.Writer }

// width is the number of columns of a line, without the margin.
const width = 88

func (p *printer) intro(url string) {
	fmt.Fprintf(p.out, `toolguard quickstart: a conversation with tools that fail

The conversation is scripted: no model is asked. The rest is real: a shop that
serves HTTP at %s, Go functions that call it, and a guard around each.

  call    what the model sends
  really  what happened, in the shop's own log, and what the guard did about it
  error   the Go error a bare tool would have returned; it stays with the operator
  reads   what the model reads
`, url)
}

// step prints one call.
func (p *printer) step(n int, s step, happened []string, env toolguard.Envelope) {
	fmt.Fprintf(p.out, "\n%d. %s\n", n, s.title)
	p.block("call", s.tool+" "+s.args)
	if len(happened) == 0 {
		happened = []string{"no request reached the shop"}
	}
	p.block("really", strings.Join(happened, "\n"))
	if cause := errors.Unwrap(env.Err()); cause != nil && env.Attempts > 0 {
		p.block("error", cause.Error())
	}
	p.block("reads", env.ForModel())
}

// block prints text beside a label, folded to the width.
func (p *printer) block(label, text string) {
	for _, line := range fold(text) {
		fmt.Fprintf(p.out, "  %-7s %s\n", label, line)
		label = ""
	}
}

// fold breaks text into lines no wider than width.
func fold(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		for rest := line; ; {
			line, rest = cut(rest)
			lines = append(lines, strings.TrimRight(line, " "))
			if rest == "" {
				break
			}
		}
	}
	return lines
}

// cut takes what fits into one line from the front of text, up to a space or a
// comma if there is one near the end.
func cut(text string) (line, rest string) {
	columns, gap := 0, 0
	for i, r := range text {
		if columns += columnsOf(r); columns > width && !strings.ContainsRune(hanging, r) {
			if gap > i/2 {
				i = gap
			}
			return text[:i], text[i:]
		}
		if r == ' ' || r == ',' {
			gap = i + 1
		}
	}
	return text, ""
}

// hanging are the characters that may not begin a line of Chinese text.
const hanging = "。，、；：？！）】”"

// columnsOf is 2 for the characters of Chinese text, which are twice as wide.
func columnsOf(r rune) int {
	if r >= 0x2e80 {
		return 2
	}
	return 1
}

// summary prints what the conversation came to.
func (p *printer) summary(r result, wrong error) {
	failed, degraded := 0, 0
	for _, env := range r.envelopes {
		if !env.OK {
			failed++
		}
		if env.Degraded != nil {
			degraded++
		}
	}
	n := len(r.envelopes)
	fmt.Fprint(p.out, "\nSummary\n")
	p.block("calls", fmt.Sprintf("%d, one answer each: %d results, %d of them a marked substitute; %d failures with a next step",
		n, n-failed, degraded, failed))
	p.block("ledger", fmt.Sprintf("refunds: %d, mails: %d", len(r.ledger.refunds), len(r.ledger.mails)))
	p.block("time", r.took.Round(10*time.Millisecond).String())
	if wrong == nil {
		p.block("", "Nothing was invented, nothing was refunded twice.")
	}
}
