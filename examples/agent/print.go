package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/toolguard-go/toolguard/agentloop"
)

// printer writes the conversation as plain text.
type printer struct{ out io.Writer }

func (p printer) intro(c config) {
	if c.url == "" {
		p.line("", "SCRIPTED MODEL: no model is asked. What it says is written in script.go; what it reads is real.")
	} else {
		p.line("", fmt.Sprintf("Model %s at %s", c.model, c.url))
	}
	p.line("user", c.prompt)
}

// event prints what has happened since the last one.
func (p printer) event(e agentloop.Event) {
	last := len(e.State.Messages) - 1
	switch e.Kind {
	case agentloop.KindReply:
		fmt.Fprintln(p.out)
		m := e.State.Messages[last]
		p.line("model", m.Text)
		for _, call := range m.Calls {
			p.line("calls", call.Tool+" "+call.Args+" ("+call.ID+")")
		}
	case agentloop.KindAnswer:
		call := e.State.Messages[last].Calls[e.Index]
		p.line("reads", call.Answer.Text+" ("+call.ID+")")
	case agentloop.KindAsk:
		p.line("reads", e.State.Messages[last].Hint)
	case agentloop.KindEnd:
		p.end(e.Result)
	}
}

func (p printer) end(r agentloop.Result) {
	fmt.Fprintf(p.out, "\nended: %s, after %d replies\n", r.Stop, r.State.Iteration)
	if r.Err != nil {
		p.line("why", r.Err.Error())
	}
}

func (p printer) ledger(s *shop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.line("shop", fmt.Sprintf("refunds made: %v", s.refunds))
}

// line prints text beside a label, and nothing if there is none.
func (p printer) line(label, text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line != "" {
			fmt.Fprintf(p.out, "%-6s %s\n", label, line)
		}
		label = ""
	}
}
