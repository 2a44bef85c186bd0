package strictjson

import "fmt"

// Reason says why a text was refused.
type Reason uint8

const (
	// ReasonEmpty: nothing but white space.
	ReasonEmpty Reason = iota + 1
	// ReasonTruncated: correct so far, but the text ends too early.
	ReasonTruncated
	// ReasonTrailing: something follows the top-level value.
	ReasonTrailing
	// ReasonSyntax: not JSON, for none of the more precise reasons.
	ReasonSyntax
	// ReasonTrailingComma: a comma stands before a closing bracket.
	ReasonTrailingComma
	// ReasonSingleQuotes: a value or member name begins with an apostrophe.
	ReasonSingleQuotes
	// ReasonPythonLiteral: True, False or None where a value belongs.
	ReasonPythonLiteral
	// ReasonNotJSONNumber: NaN, Infinity or -Infinity where a value belongs.
	ReasonNotJSONNumber
	// ReasonControlChar: a raw byte below 0x20 inside a string.
	ReasonControlChar
	// ReasonInvalidUTF8: a string is not UTF-8.
	ReasonInvalidUTF8
	// ReasonLoneSurrogate: an escape names half of a UTF-16 pair.
	ReasonLoneSurrogate
	// ReasonDuplicateKey: a member name occurs twice in one object.
	ReasonDuplicateKey
	// ReasonDepth: more open arrays and objects than Limits.MaxDepth.
	ReasonDepth
	// ReasonSize: more bytes than Limits.MaxBytes.
	ReasonSize
	// ReasonDigits: a number with more digits than Limits.MaxDigits.
	ReasonDigits
	// ReasonExponent: an exponent beyond Limits.MaxExponent.
	ReasonExponent
)

var reasonNames = [...]string{
	ReasonEmpty:         "empty",
	ReasonTruncated:     "truncated",
	ReasonTrailing:      "trailing",
	ReasonSyntax:        "syntax",
	ReasonTrailingComma: "trailing_comma",
	ReasonSingleQuotes:  "single_quotes",
	ReasonPythonLiteral: "python_literal",
	ReasonNotJSONNumber: "not_json_number",
	ReasonControlChar:   "control_char",
	ReasonInvalidUTF8:   "invalid_utf8",
	ReasonLoneSurrogate: "lone_surrogate",
	ReasonDuplicateKey:  "duplicate_key",
	ReasonDepth:         "depth",
	ReasonSize:          "size",
	ReasonDigits:        "digits",
	ReasonExponent:      "exponent",
}

// String returns the lower_snake name, or "reason(n)" for an unknown reason.
func (r Reason) String() string {
	if int(r) < len(reasonNames) && reasonNames[r] != "" {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// An Error is the one kind of error [Parse] returns: a structured reason,
// not words for a model. Path and Name come from the text and may be as long
// as it is; whoever shows them bounds them.
type Error struct {
	Reason Reason
	// Offset is the byte the reason was found at; len(text) when it ended.
	Offset int
	// Path is the JSON pointer (RFC 6901) of the innermost value that was
	// open at Offset, or of the second member of two with one name.
	Path string
	// Name is the decoded member name of ReasonDuplicateKey.
	Name string
	// Limit and Size are the bound and what was found instead, for
	// ReasonDepth, ReasonSize, ReasonDigits and ReasonExponent.
	// Size saturates: it is at least what it says.
	Limit, Size int
}

// Error describes the failure for developers.
func (e *Error) Error() string {
	text := fmt.Sprintf("strictjson: %s at offset %d", e.Reason, e.Offset)
	if e.Path != "" {
		text += fmt.Sprintf(" in %q", e.Path)
	}
	if e.Limit > 0 {
		text += fmt.Sprintf(": %d exceeds %d", e.Size, e.Limit)
	}
	return text
}
