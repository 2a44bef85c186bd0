package toolguard

import (
	"encoding/json"

	"github.com/toolguard-go/toolguard/internal/canonical"
)

// storedResult is a [Result] in a journal. What only the host understands of a
// part is not stored.
type storedResult struct {
	Text  string          `json:"text,omitempty"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Parts []storedPart    `json:"parts,omitempty"`
}

type storedPart struct {
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
}

// encodeResult returns the form in which a result is stored; nil if it is too
// large.
func (g *Guard) encodeResult(r *Result) json.RawMessage {
	if r == nil || r.size() > g.opts.Journaling.MaxResult {
		return nil
	}
	return encodeResult(r)
}

func encodeResult(r *Result) json.RawMessage {
	if len(r.JSON) == 0 && len(r.Parts) == 0 {
		text := append(make([]byte, 0, len(r.Text)+16), `{"text":`...)
		return append(canonical.AppendString(text, r.Text), '}') // mostly
	}
	s := storedResult{Text: r.Text, JSON: r.JSON}
	if len(s.JSON) > 0 && !json.Valid(s.JSON) {
		s.Text, s.JSON = string(s.JSON), nil
	}
	for _, p := range r.Parts {
		s.Parts = append(s.Parts, storedPart{p.MediaType, p.Data})
	}
	text, err := marshal(s)
	if err != nil {
		return nil
	}
	return text
}

// decodeResult reads what encodeResult wrote.
func decodeResult(text json.RawMessage) (Result, bool) {
	var s storedResult
	if len(text) == 0 || json.Unmarshal(text, &s) != nil {
		return Result{}, false
	}
	r := Result{Text: s.Text, JSON: s.JSON}
	for _, p := range s.Parts {
		r.Parts = append(r.Parts, Part{MediaType: p.MediaType, Data: p.Data})
	}
	return r, true
}
