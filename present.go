package toolguard

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/toolguard-go/toolguard/internal/clean"
	"github.com/toolguard-go/toolguard/prompts"
)

// cleanNotes names the words of what was taken out of a result.
var cleanNotes = map[clean.Kind]NoteKind{
	clean.Escapes:     prompts.NoteANSIRemoved,
	clean.Overwritten: prompts.NoteProgressCollapsed,
	clean.Controls:    prompts.NoteControlRemoved,
	clean.Invisible:   prompts.NoteBidiRemoved,
	clean.Invalid:     prompts.NoteInvalidUTF8,
	clean.Encoded:     prompts.NoteBase64Omitted,
	clean.Binary:      prompts.NoteBinaryOmitted,
	clean.Cut:         prompts.NoteCut,
}

// present makes what the call came to fit to be handed on, and says in notes what
// was done to it.
func (c *call) present() {
	words := c.guard.catalogue(c.locale)
	if c.failure == nil {
		c.presentResult(c.result, words)
	} else {
		c.failure.incident = incident()
		if inner := c.failure.adopted; inner != nil {
			c.failure.incident = inner.Error.Incident
			c.notes = append(c.notes, inner.Notes...)
			if inner.Error.Outcome != c.outcome {
				c.failure.adopted, c.failure.Message = nil, "" // its words would speak of its attempts alone
			}
		}
	}
	c.spell(words)
}

// presentResult judges nothing: a success stays one.
func (c *call) presentResult(r *Result, words *prompts.Catalogue) {
	r.extra = nil
	if p := &c.guard.opts.Render; !p.Off {
		if p.RedactResults {
			c.cleanResult(r, clean.Options{MaxBytes: math.MaxInt}) // cut only what is redacted
			c.redactResult(r)
		}
		c.cleanResult(r, clean.Options{MaxBytes: p.MaxResult})
		r.Parts = c.fittingParts(r.Parts, p.MaxParts)
	}
	if r.content() == "" && len(r.Parts) == 0 && len(c.notes) == 0 {
		c.notes = append(c.notes, Note{Kind: prompts.NoteEmptySuccess})
	}
	if poses(r.content(), words) {
		c.notes = append(c.notes, Note{Kind: prompts.NoteWrappedAsData})
	}
}

// cleanResult takes out what does not belong into a prompt. JSON that is none,
// or had to be cut, goes on as text.
func (c *call) cleanResult(r *Result, o clean.Options) {
	var notes []clean.Note
	if r.JSON = bytes.TrimSpace(r.JSON); len(r.JSON) > 0 {
		size := len(r.JSON)
		var ok bool
		if r.JSON, notes, ok = cleanJSON(r.JSON, o); !ok || clean.Has(notes, clean.Cut) {
			r.Text, r.JSON = string(r.JSON), nil
		}
		c.noteCleaned(notes, size)
	}
	if r.Text != "" {
		size := len(r.Text)
		r.Text, notes = clean.Text(r.Text, o)
		c.noteCleaned(notes, size)
	}
}

func cleanJSON(raw json.RawMessage, o clean.Options) (json.RawMessage, []clean.Note, bool) {
	out, notes, ok := clean.JSON(raw, o)
	if !ok {
		return raw, nil, false
	}
	return out, notes, true
}

// noteCleaned says what was taken out of a text of the given size.
func (c *call) noteCleaned(notes []clean.Note, size int) {
	for _, n := range notes {
		note := Note{Kind: cleanNotes[n.Kind], Count: n.Count, Bytes: n.Bytes, Media: n.Media}
		if n.Kind == clean.Cut {
			note.Count, note.Bytes = n.Bytes, size // bytes left out, of all
		}
		c.notes = append(c.notes, note)
	}
}

// redactResult redacts a success, where the policy asks for it.
func (c *call) redactResult(r *Result) {
	text := c.redact(r.Text)
	redacted := c.redactJSON(r.JSON)
	if text == r.Text && string(redacted) == string(r.JSON) {
		return
	}
	c.notes = append(c.notes, Note{Kind: prompts.NoteRedactedResult})
	r.Text, r.JSON = text, redacted
}

// redactJSON redacts each string for itself first, so that a trace in one takes
// nothing of the next with it, and then what only its name tells for a secret.
func (c *call) redactJSON(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) {
		raw = clean.Strings(raw, c.guard.words.redactor.Redact)
	}
	return json.RawMessage(c.redact(string(raw)))
}

// fittingParts keeps the parts that fit into the cap, in order.
func (c *call) fittingParts(parts []Part, limit int) []Part {
	total := 0
	for i, p := range parts {
		if total += len(p.Data); total > limit {
			left := 0
			for _, q := range parts[i:] {
				left += len(q.Data)
			}
			c.notes = append(c.notes, Note{Kind: prompts.NotePartsOmitted, Count: len(parts) - i, Bytes: left})
			return parts[:i:i]
		}
	}
	return parts
}
