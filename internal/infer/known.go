package infer

import (
	"encoding"
	"encoding/json"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"time"
	"unicode/utf8"
)

const (
	numberPattern = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`
	base64Pattern = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`
	quotedPattern = `^"([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*"$`
	nilUUID       = "00000000-0000-0000-0000-000000000000"
)

func integerPattern(k reflect.Kind) string {
	if low, _, _ := limits(k); low == "0" {
		return `^(0|[1-9][0-9]*)$`
	}
	return `^-?(0|[1-9][0-9]*)$`
}

// wellKnown are types of the standard library whose methods do not show what
// they read.
var wellKnown = map[reflect.Type]func() *node{
	reflect.TypeFor[time.Time]():     func() *node { return &node{Type: types{"string"}, Format: "date-time"} },
	reflect.TypeFor[time.Duration](): func() *node { return &node{Type: types{"integer"}, Description: "nanoseconds"} },
	reflect.TypeFor[json.Number]():   func() *node { return &node{Type: types{"number"}} },
	reflect.TypeFor[big.Int]():       func() *node { return &node{Type: types{"integer"}} },
	reflect.TypeFor[big.Float]():     func() *node { return &node{Type: types{"string"}, Pattern: numberPattern} },
	reflect.TypeFor[big.Rat]():       func() *node { return &node{Type: types{"string"}, Pattern: `^-?[0-9]+(/0*[1-9][0-9]*|\.[0-9]+)?$`} },
	reflect.TypeFor[netip.Addr]():    addressNode,
	reflect.TypeFor[net.IP]():        addressNode,
	reflect.TypeFor[netip.AddrPort](): func() *node {
		return &node{Type: types{"string"}, Description: "address:port", Examples: []string{"192.0.2.1:443"}}
	},
	reflect.TypeFor[netip.Prefix](): func() *node {
		return &node{Type: types{"string"}, Description: "address/bits", Examples: []string{"192.0.2.0/24"}}
	},
	reflect.TypeFor[slog.Level](): func() *node {
		return &node{Type: types{"string"}, Pattern: `^(DEBUG|INFO|WARN|ERROR)([-+][0-9]{1,9})?$`}
	},
}

func addressNode() *node {
	return &node{AnyOf: []*node{{Type: types{"string"}, Format: "ipv4"}, {Type: types{"string"}, Format: "ipv6"}}}
}

func bytesNode() *node {
	return &node{
		Type: types{"string", "null"}, Description: "base64", Encoding: "base64", Pattern: base64Pattern,
		Examples: []string{"ZXhhbXBsZQ=="},
	}
}

// textNode describes a type that reads itself from text. What its zero value
// writes is an example, if it takes that back and not just any word.
func textNode(t reflect.Type) *node {
	n := &node{Type: types{"string"}}
	sample := zeroText(t)
	switch {
	case sample == nilUUID:
		n.Format = "uuid"
	case sample != "" && !reads(t, "string") && reads(t, sample):
		n.Examples = []string{sample}
	}
	return n
}

// zeroText is what the zero value writes, "" if it is nothing to show.
func zeroText(t reflect.Type) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	m, ok := reflect.New(t).Interface().(encoding.TextMarshaler)
	if !ok {
		return ""
	}
	b, err := m.MarshalText()
	if err != nil || len(b) > 256 || !utf8.Valid(b) {
		return ""
	}
	return string(b)
}

func reads(t reflect.Type, text string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) == nil
}

// quotedNode describes a field with the option "string": its text form, inside
// a string.
func quotedNode(t reflect.Type) (*node, error) {
	n := &node{Type: types{"string"}}
	base := t
	if t.Kind() == reflect.Pointer {
		base = t.Elem()
	}
	kind := base.Kind()
	switch p := reflect.PointerTo(base); {
	case base == reflect.TypeFor[json.Number](), kind == reflect.Float32, kind == reflect.Float64:
		n.Pattern = numberPattern
	case p.Implements(jsonUnmarshaler), p.Implements(textUnmarshaler):
		return nil, &Error{Type: t, Reason: `reads itself, which the option "string" of its json tag contradicts`}
	case kind == reflect.Bool:
		n.Enum = []any{"true", "false"}
	case kind == reflect.String:
		n.Description, n.Pattern = "a JSON string, with its quotes, inside a string", quotedPattern
	default:
		n.Pattern = integerPattern(kind)
	}
	if base == reflect.TypeFor[time.Duration]() {
		n.Description = "nanoseconds"
	}
	if t != base {
		return n.orNull(), nil
	}
	return n, nil
}
