package proxy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// From the version sessionless on, requests say again in headers what they are, so
// that what routes them need not read their bodies: the method, the name, and the
// arguments that a tool's schema marks with x-mcp-header (SEP-2243). The proxy
// makes headers of its own, because the guard may have repaired arguments, and
// compares those of its clients, as a server has to.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
	paramPrefix  = "Mcp-Param-"
	paramMark    = "x-mcp-header"
)

// named reports whether requests of a method have a name.
func named(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// setHeaders says again in headers what a request is.
func setHeaders(h http.Header, m *message, guards *mcpguard.Guards) {
	h.Set(methodHeader, m.Method)
	_, name := look(m.Params)
	if name != "" && named(m.Method) {
		h.Set(nameHeader, name)
	}
	for _, p := range paramsOf(m, name, guards) {
		h.Set(paramPrefix+p.name, headerText(p.value))
	}
}

// compareHeaders returns an error that names the header of a client's request which
// is missing, or says something else than its body. Headers of arguments may be
// missing: who has not seen the list does not know them.
func compareHeaders(h http.Header, m *message, guards *mcpguard.Guards) error {
	_, name := look(m.Params)
	same := func(header, want string) error {
		got := h.Get(header)
		if plain, ok := plainText(got); got != want && (!ok || plain != want) {
			return fmt.Errorf("the header %s is %q, and the body says %q", header, got, want)
		}
		return nil
	}
	if err := same(methodHeader, m.Method); err != nil {
		return err
	}
	if named(m.Method) {
		if err := same(nameHeader, name); err != nil {
			return err
		}
	}
	for _, p := range paramsOf(m, name, guards) {
		if h.Get(paramPrefix+p.name) == "" {
			continue
		}
		if err := same(paramPrefix+p.name, p.value); err != nil {
			return err
		}
	}
	return nil
}

// param is an argument that has a header.
type param struct{ name, value string }

// paramsOf finds the arguments of a call that its tool's schema marks.
func paramsOf(m *message, tool string, guards *mcpguard.Guards) []param {
	if m.Method != "tools/call" || guards == nil {
		return nil
	}
	guard := guards.Guard(tool)
	if guard == nil {
		return nil
	}
	schema := guard.Info().Schema
	if !bytes.Contains(schema, []byte(paramMark)) {
		return nil
	}
	var marks marked
	var call struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(schema, &marks) != nil || json.Unmarshal(m.Params, &call) != nil {
		return nil
	}
	return marks.find(call.Arguments, 0)
}

// marked is what is looked at in a schema.
type marked struct {
	Header     json.RawMessage            `json:"x-mcp-header"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// maxMarks bounds how deep marks are looked for.
const maxMarks = 32

func (s *marked) find(args json.RawMessage, depth int) (found []param) {
	var members map[string]json.RawMessage
	if depth > maxMarks || json.Unmarshal(args, &members) != nil {
		return nil
	}
	for name, raw := range s.Properties {
		var p marked
		value, given := members[name]
		if !given || json.Unmarshal(raw, &p) != nil {
			continue
		}
		var header string
		_ = json.Unmarshal(p.Header, &header) // absent, or no name: no header
		if text, ok := scalarText(value); ok && token(header) {
			found = append(found, param{header, text})
		}
		found = append(found, p.find(value, depth+1)...)
	}
	return found
}

// token reports whether a text can be part of a header's name (RFC 9110 §5.6.2).
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// scalarText writes a string, a boolean or an integer that every reader reads alike.
func scalarText(raw json.RawMessage) (string, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatInt(int64(v), 10), v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	return "", false
}

const (
	codedPrefix = "=?base64?"
	codedSuffix = "?="
)

// headerText is a text as a header may have it.
func headerText(s string) string {
	plain := strings.TrimSpace(s) == s && !strings.HasPrefix(s, codedPrefix) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	if plain {
		return s
	}
	return codedPrefix + base64.StdEncoding.EncodeToString([]byte(s)) + codedSuffix
}

// plainText is the reverse of headerText.
func plainText(s string) (string, bool) {
	coded, ok := strings.CutPrefix(s, codedPrefix)
	if !ok {
		return s, true
	}
	coded, ok = strings.CutSuffix(coded, codedSuffix)
	text, err := base64.StdEncoding.DecodeString(coded)
	return string(text), ok && err == nil
}
