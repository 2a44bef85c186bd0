// Package normalize repairs arguments in the few ways that cannot change what
// they mean. It never guesses: no bracket or quote is added, no member chosen
// from two, no string coerced where the schema accepts a string.
//
// The caller parses strictly first. If that fails, or yields something other
// than an object, [Text] may know the text that was meant; the caller parses
// that, strictly again, and reports what the second parse says. If the schema
// then refuses the document, [Values] may know the values that were meant, and
// when it accepts it, [IntegralFloats] spells integers as Go can decode them.
package normalize

import (
	"fmt"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// Kind says what was changed.
type Kind uint8

const (
	// EmptyText: nothing but white space became {}.
	EmptyText Kind = iota + 1
	// NullText: null became {}.
	NullText
	// WhiteSpace: space that JSON does not know was cut off around the document.
	WhiteSpace
	// CodeFence: a Markdown fence around the document was removed.
	CodeFence
	// StringDocument: a string that held the document was decoded.
	StringDocument
	// GluedObject: an empty object in front of the document was removed.
	GluedObject
	// TrailingComma: a comma before a closing bracket was removed.
	TrailingComma
	// ControlChars: raw control bytes inside a string were escaped.
	ControlChars
	// LiteralSpace: a written \n, \r or \t between tokens became a space.
	LiteralSpace
	// NumberFromString: a string that spells a number became that number.
	NumberFromString
	// BooleanFromString: "true" or "false" became the boolean.
	BooleanFromString
	// ArrayFromString: a string that holds an array became that array.
	ArrayFromString
	// ObjectFromString: a string that holds an object became that object.
	ObjectFromString
	// NullRemoved: an optional member that was null was removed.
	NullRemoved
	// EnumTrimmed: white space around an enumerated string was removed.
	EnumTrimmed
	// IntegralFloat: an integer spelled with fraction or exponent got its digits.
	IntegralFloat
)

var kindNames = [...]string{
	EmptyText:         "empty_text",
	NullText:          "null_text",
	WhiteSpace:        "white_space",
	CodeFence:         "code_fence",
	StringDocument:    "string_document",
	GluedObject:       "glued_object",
	TrailingComma:     "trailing_comma",
	ControlChars:      "control_chars",
	LiteralSpace:      "literal_space",
	NumberFromString:  "number_from_string",
	BooleanFromString: "boolean_from_string",
	ArrayFromString:   "array_from_string",
	ObjectFromString:  "object_from_string",
	NullRemoved:       "null_removed",
	EnumTrimmed:       "enum_trimmed",
	IntegralFloat:     "integral_float",
}

// String returns the lower_snake name, or "kind(n)" for an unknown kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// A Change is something the arguments were changed in.
type Change struct {
	Kind Kind
	// Path is the JSON pointer of the value, at most [MaxPath] bytes of it.
	// It is empty for a change of the text as a whole.
	Path string
	// Offset is where the change begins in the text given.
	Offset int
	// From and To are what stood and stands there, at most [MaxPreview]
	// bytes each. They are arguments: redact them like arguments.
	From, To string
	// Count is 1, or more if this change stands for others of its kind too,
	// which are then described by the first of them.
	Count int
}

// The bounds that keep a list of changes small whatever the arguments are.
const (
	MaxPath    = 512
	MaxPreview = 64
	// maxListed is how many changes of values are listed per kind. Changes
	// of the text are listed once per kind: there is no path to tell.
	maxListed = 16
)

func (c Change) bounded(from, to []byte) Change {
	c.Path = strictjson.Preview([]byte(c.Path), MaxPath)
	c.From = strictjson.Preview(from, MaxPreview)
	c.To = strictjson.Preview(to, MaxPreview)
	c.Count = 1
	return c
}
