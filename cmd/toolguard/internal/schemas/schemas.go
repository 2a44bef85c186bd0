// Package schemas reads the schemas of tools from the forms they come in.
package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Tool is a tool as a list has it. A bare schema is a tool without a name.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// Read reads the tools in a text: a tools/list result or a whole answer with one,
// an array of tools, one tool, a bare schema, or several of these one after the
// other. A member "tool" stands for a name.
func Read(text []byte) ([]Tool, error) {
	var all []Tool
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var doc json.RawMessage
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w", dec.InputOffset(), err)
		}
		tools, err := document(doc)
		if err != nil {
			return nil, err
		}
		all = append(all, tools...)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no tool in it")
	}
	return all, nil
}

func document(doc json.RawMessage) ([]Tool, error) {
	var list []json.RawMessage
	if json.Unmarshal(doc, &list) == nil {
		return tools(list)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) != nil {
		return nil, fmt.Errorf("want an object or an array, got %.40s", doc)
	}
	switch {
	case members["result"] != nil && members["jsonrpc"] != nil:
		return document(members["result"])
	case json.Unmarshal(members["tools"], &list) == nil && list != nil:
		return tools(list)
	case members["inputSchema"] != nil || members["input_schema"] != nil:
		t, err := tool(doc)
		return []Tool{t}, err
	default:
		return []Tool{{InputSchema: doc}}, nil
	}
}

func tools(list []json.RawMessage) ([]Tool, error) {
	all := make([]Tool, len(list))
	for i, raw := range list {
		var err error
		if all[i], err = tool(raw); err != nil {
			return nil, fmt.Errorf("tool %d: %w", i, err)
		}
	}
	return all, nil
}

func tool(raw json.RawMessage) (Tool, error) {
	var t struct {
		Tool
		Called string          `json:"tool"`
		Snake  json.RawMessage `json:"input_schema"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return Tool{}, err
	}
	if t.Name == "" {
		t.Name = t.Called
	}
	if t.InputSchema == nil {
		t.InputSchema = t.Snake
	}
	return t.Tool, nil
}
