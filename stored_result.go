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
	// From is where the result came from, if not from the tool.
	From *storedSource `json:"from,omitempty"`
}

type storedSource struct {
	Tool    string   `json:"tool"`
	Missing []string `json:"missing,omitempty"`
}

type storedPart struct {
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
}

// encodeResult returns the form in which a result is stored; nil if it is too
// large.
func (g *Guard) encodeResult(r *Result, from *Degraded) json.RawMessage {
	if r == nil || r.size() > g.opts.Journaling.MaxResult {
		return nil
	}
	return encodeResult(r, from)
}

func encodeResult(r *Result, from *Degraded) json.RawMessage {
	if len(r.JSON) == 0 && len(r.Parts) == 0 && from == nil {
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
	if from != nil {
		s.From = &storedSource{from.Source, from.Missing}
	}
	text, err := marshal(s)
	if err != nil {
		return nil
	}
	return text
}

// decodeResult reads what encodeResult wrote.
func decodeResult(text json.RawMessage) (r Result, from *Degraded, ok bool) {
	var s storedResult
	if len(text) == 0 || json.Unmarshal(text, &s) != nil {
		return r, nil, false
	}
	r = Result{Text: s.Text, JSON: s.JSON}
	for _, p := range s.Parts {
		r.Parts = append(r.Parts, Part{MediaType: p.MediaType, Data: p.Data})
	}
	if s.From != nil {
		from = &Degraded{Source: s.From.Tool, Missing: s.From.Missing}
	}
	return r, from, true
}
