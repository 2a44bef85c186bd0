package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// Bounds on a schema. jsonschema/v5 compares every subschema with every other
// while compiling 2020-12, so that the count, not the size, decides the time.
const (
	maxBytes      = 1 << 20
	maxDepth      = 128
	maxSubschemas = 5000
	maxExponent   = 400
	maxDigits     = 1000
	maxCount      = 1 << 31 // no document has as many items, members or characters
)

// decode reads a schema, numbers with all their digits. Absent and null mean
// that nothing is constrained.
func decode(text []byte) (any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("schema is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("schema is not JSON: text after the value, at byte %d", dec.InputOffset())
	}
	if tree == nil {
		return map[string]any{}, nil
	}
	return tree, nil
}

// checkBounds refuses a schema that would cost too much to compile.
func checkBounds(text []byte, tree any) error {
	if len(text) > maxBytes {
		return fmt.Errorf("schema has %d bytes, more than %d", len(text), maxBytes)
	}
	if !shallow(tree, maxDepth) {
		return fmt.Errorf("schema is nested deeper than %d", maxDepth)
	}
	n := 0
	walkAll(tree, func(string, map[string]any) { n++ })
	if n > maxSubschemas {
		return fmt.Errorf("schema has %d subschemas, more than %d", n, maxSubschemas)
	}
	return nil
}

// shallow reports whether nothing in v is nested deeper than depth. It stops
// there, so that it is itself safe on any tree.
func shallow(v any, depth int) bool {
	if depth < 0 {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for _, sub := range v {
			if !shallow(sub, depth-1) {
				return false
			}
		}
	case []any:
		for _, sub := range v {
			if !shallow(sub, depth-1) {
				return false
			}
		}
	}
	return true
}

// hostileNumber finds a number that exact arithmetic would choke on:
// 1e9999999 is a few bytes here and megabytes as a fraction.
func hostileNumber(v any) (json.Number, bool) {
	switch v := v.(type) {
	case json.Number:
		return v, !tameNumber(string(v))
	case map[string]any:
		for _, sub := range v {
			if n, bad := hostileNumber(sub); bad {
				return n, true
			}
		}
	case []any:
		for _, sub := range v {
			if n, bad := hostileNumber(sub); bad {
				return n, true
			}
		}
	}
	return "", false
}

// tameNumber has the bounds of the strict parser of arguments: digits that a
// document could not contain need not be compared with.
func tameNumber(s string) bool {
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
	}
	if len(mantissa) > maxDigits {
		return false
	}
	if exponent == "" {
		return true
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && -maxExponent <= e && e <= maxExponent
}

// rational returns the exact value of a number in a schema or a document.
func rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok || !tameNumber(string(n)) {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

// prepare takes out what would make one draft differ from another or the
// compiler misread a schema, in both modes and without changing what is valid.
func prepare(tree any) {
	walkAll(tree, func(_ string, s map[string]any) {
		delete(s, "contentEncoding")
		delete(s, "contentMediaType")
		delete(s, "contentSchema")
		for keyword := range counts {
			clampCount(s, keyword)
		}
	})
}

// clampCount lowers a count that jsonschema/v5, which keeps counts as int,
// would overflow into a negative one.
func clampCount(s map[string]any, keyword string) {
	if r, ok := rational(s[keyword]); ok && r.Cmp(big.NewRat(maxCount, 1)) > 0 {
		s[keyword] = json.Number(strconv.Itoa(maxCount))
	}
}

// counts are the keywords whose value is a non-negative integer.
var counts = map[string]bool{
	"maxContains": true, "maxItems": true, "maxLength": true, "maxProperties": true,
	"minContains": true, "minItems": true, "minLength": true, "minProperties": true,
}
