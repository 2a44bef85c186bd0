package toolguard

import (
	"strings"

	"github.com/toolguard-go/toolguard/prompts"
)

// appendText renders the envelope as text under a label.
func (e *Envelope) appendText(b []byte) []byte {
	w := e.catalogue()
	b = w.AppendLabel(b, e.label())
	if e.OK {
		return e.appendTextResult(b, w)
	}
	f := e.Error
	b = append(w.AppendGap(b), f.Message...)
	for _, v := range f.Violations {
		b = append(append(b, "\n- "...), v.Message...)
	}
	if f.More > 0 {
		b = w.AppendFrame(append(b, "\n- "...), prompts.FrameMore, &prompts.Vars{Count: f.More})
	}
	if len(f.Example) > 0 {
		b = w.AppendFrame(append(b, '\n'), prompts.FrameExample, &prompts.Vars{Example: string(f.Example)})
	}
	b = appendLine(b, f.Quote)
	b = w.AppendFrame(append(b, '\n'), prompts.FrameNext, nil)
	b = append(w.AppendGap(b), e.Suggestion...)
	if f.Incident != "" {
		b = w.AppendFrame(append(b, '\n'), prompts.FrameIncident, &prompts.Vars{Incident: f.Incident})
	}
	return e.appendTextNotes(b, w)
}

// label says what kind of answer this is; an unknown outcome matters more than
// the category.
func (e *Envelope) label() prompts.Label {
	switch {
	case e.OK:
		return prompts.LabelSuccess
	case e.Error.Outcome == OutcomeUnknown && e.Error.Code != CodeControlFlow:
		return prompts.LabelOutcomeUnknown
	case e.Error.Code == CodeCanceled:
		return prompts.LabelCanceled
	case e.Error.Code == CodeApprovalPending:
		return prompts.LabelAwaitingApproval
	default:
		return prompts.Label(e.Error.Category.String())
	}
}

func (e *Envelope) appendTextResult(b []byte, w *prompts.Catalogue) []byte {
	b = e.appendTextNotes(b, w)
	content := e.Result.content()
	if poses(content, w) {
		b = w.AppendFrame(append(b, '\n'), prompts.FrameResultAsData, nil)
		content = "> " + strings.ReplaceAll(content, "\n", "\n> ")
	}
	return appendLine(b, content)
}

func (e *Envelope) appendTextNotes(b []byte, w *prompts.Catalogue) []byte {
	for _, text := range e.noteTexts() {
		b = w.AppendFrame(append(b, '\n'), prompts.FrameNote, nil)
		b = append(w.AppendGap(b), text...)
	}
	return b
}

func appendLine(b []byte, text string) []byte {
	if text == "" {
		return b
	}
	return append(append(b, '\n'), text...)
}
