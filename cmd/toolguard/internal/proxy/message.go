package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// message is one JSON-RPC message. What the proxy has no part in is handed on by
// its text.
type message struct {
	text json.RawMessage

	ID     json.RawMessage `json:"id"` // nil for a notification
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	related string // the key of the request of the other side it belongs to, if known
	lost    error  // it stands for an answer that will never come
}

// errMalformed is about one message; others may follow.
type errMalformed struct {
	reason string
	id     json.RawMessage // of the message, if it can be told
}

func (e *errMalformed) Error() string { return "malformed message: " + e.reason }

// parse reads a message, or the messages of a batch.
func parse(text []byte) ([]*message, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '[' {
		m, err := parseOne(text)
		return []*message{m}, err
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(text, &batch); err != nil {
		return nil, &errMalformed{reason: err.Error()}
	}
	all := make([]*message, 0, len(batch))
	for _, text := range batch {
		m, err := parseOne(text)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func parseOne(text []byte) (*message, error) {
	m := &message{text: text}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, &errMalformed{reason: err.Error()}
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return nil, &errMalformed{reason: "neither a request nor an answer", id: m.ID}
	}
	return m, nil
}

// key is what an ID is looked up by.
func (m *message) key() string { return string(m.ID) }

func (m *message) isRequest() bool { return m.Method != "" && m.ID != nil }

func (m *message) isAnswer() bool { return m.Method == "" }

// failed reads the error of an answer, nil if it has none.
func (m *message) failed() *rpcError {
	if m.Error == nil || string(m.Error) == "null" {
		return nil
	}
	e := &rpcError{}
	if json.Unmarshal(m.Error, e) != nil {
		e.Code, e.Message = codeInternal, "an error that cannot be read"
	}
	return e
}

// rpcError is the error of an answer.
type rpcError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Codes of the proxy's own answers.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeInternal = -32603
	codeServer   = -32000 // the server cannot be reached, or was lost
)

// request writes a request, or a notification if id is nil.
func request(id json.RawMessage, method string, params json.RawMessage) *message {
	b := append(make([]byte, 0, len(params)+64), `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = strconv.AppendQuote(append(b, `,"method":`...), method)
	if params != nil {
		b = append(append(b, `,"params":`...), params...)
	}
	return &message{text: append(b, '}'), ID: id, Method: method, Params: params}
}

// answered writes an answer.
func answered(id, result json.RawMessage) *message {
	b := append(make([]byte, 0, len(result)+64), `{"jsonrpc":"2.0","id":`...)
	b = append(append(append(b, id...), `,"result":`...), result...)
	return &message{text: append(b, '}'), ID: id, Result: result, related: string(id)}
}

// refused writes an answer that is an error. A nil id is null: nobody knows which
// request it is about.
func refused(id json.RawMessage, e *rpcError) *message {
	text, _ := json.Marshal(e) // it has nothing that cannot be written
	if id == nil {
		id = json.RawMessage("null")
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(b, `,"error":`...), text...)
	return &message{text: append(b, '}'), ID: id, Error: text, related: string(id)}
}

// oneLine returns the text of a message without line breaks.
func (m *message) oneLine() []byte {
	if !bytes.ContainsAny(m.text, "\n\r") {
		return m.text
	}
	var b bytes.Buffer
	if json.Compact(&b, m.text) != nil {
		return bytes.ReplaceAll(bytes.ReplaceAll(m.text, []byte("\n"), nil), []byte("\r"), nil)
	}
	return b.Bytes()
}

var errTooLarge = errors.New("message too large")

// tooLarge is the error of a message beyond the limit. head and tail are its ends,
// where the ID of an answer is found.
func tooLarge(limit int, head, tail []byte) *errMalformed {
	return &errMalformed{reason: fmt.Sprintf("more than %d bytes", limit), id: idOf(head, tail)}
}

// idOf finds the ID of an answer of which only the ends are known. SDKs write it
// either first or last.
func idOf(head, tail []byte) json.RawMessage {
	if i := bytes.LastIndex(tail, []byte(`"id":`)); i >= 0 {
		if id, rest, ok := scalar(tail[i+5:]); ok && string(bytes.TrimSpace(rest)) == "}" {
			return id
		}
	}
	if i := bytes.Index(head, []byte(`"id":`)); i >= 0 && i < 64 {
		if id, _, ok := scalar(head[i+5:]); ok {
			return id
		}
	}
	return nil
}

// scalar reads a number or a string at the start of text.
func scalar(text []byte) (id json.RawMessage, rest []byte, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	token, err := dec.Token()
	if err != nil {
		return nil, nil, false
	}
	switch token.(type) {
	case json.Number, string:
		end := dec.InputOffset()
		return bytes.TrimSpace(text[:end]), text[end:], true
	}
	return nil, nil, false
}
