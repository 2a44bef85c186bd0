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
	reason  string
	id      json.RawMessage // of the message, if it can be told
	invalid bool            // it is JSON, and no message
}

// code is that of JSON-RPC for what is wrong.
func (e *errMalformed) code() int64 {
	if e.invalid {
		return codeInvalid
	}
	return codeParse
}

func (e *errMalformed) Error() string { return "malformed message: " + e.reason }

// malformed is the answer to what is no message.
func malformed(err error) *rpcError {
	e := &rpcError{Code: codeParse, Message: err.Error()}
	if bad, ok := errors.AsType[*errMalformed](err); ok {
		e.Code = bad.code()
	}
	return e
}

// parsed is a message, or what is wrong with one.
type parsed struct {
	*message
	err error
}

// parse reads a message, or the messages of a batch: one of them that is malformed
// takes no other along.
func parse(text []byte) []parsed {
	text = bytes.TrimSpace(text)
	batch := []json.RawMessage{text}
	if len(text) > 0 && text[0] == '[' {
		if err := json.Unmarshal(text, &batch); err != nil {
			return []parsed{{nil, &errMalformed{reason: err.Error()}}}
		}
		if len(batch) == 0 {
			return []parsed{{nil, &errMalformed{reason: "an empty batch", invalid: true}}}
		}
	}
	all := make([]parsed, len(batch))
	for i, text := range batch {
		all[i].message, all[i].err = parseOne(text)
	}
	return all
}

func parseOne(text []byte) (*message, error) {
	m := &message{text: text}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, &errMalformed{reason: err.Error(), invalid: json.Valid(text)}
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return nil, &errMalformed{reason: "neither a request nor an answer", id: m.ID, invalid: true}
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
	return &errMalformed{reason: fmt.Sprintf("more than %d bytes", limit), id: idOf(head, tail), invalid: true}
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
