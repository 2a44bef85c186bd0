// Package schema compiles the JSON Schema of a tool's arguments and says what
// is wrong with a document, all at once, as codes and parameters.
//
// # Drafts
//
// Drafts 4, 6, 7, 2019-09 and 2020-12 are known, with http or https and with
// or without a trailing '#'; a schema without $schema is read as 2020-12.
// Nothing is ever loaded: a reference leads into the schema itself or to the
// metaschema of one of these drafts, everything else is refused, file: too.
//
// # Formats
//
// In every draft the same seven formats are asserted, and no others:
//
//	date-time  RFC 3339, the zone included; a leap second is accepted
//	date       RFC 3339 full-date
//	email      one address, no display name
//	uri        absolute, as net/url parses it
//	uuid       8-4-4-4-12 hexadecimal digits, any version
//	ipv4       dotted quad
//	ipv6       without a zone
//
// Any other name is an annotation. That includes time and hostname, which
// tools are known to use for "14:30" and "my_service". The content keywords
// (contentEncoding, contentMediaType, contentSchema) are annotations as well.
//
// # Modes
//
// In [Strict] mode, for tools one writes oneself, a schema that does not
// compile is an error. In [Lenient] mode, for schemas from elsewhere, the
// rewrites listed by [Rewrites] repair what has only one reading; what still
// does not compile is left out, piece by piece, and listed by
// [Schema.NotEnforced].
//
// # Bounds
//
// A schema above 1 MiB, 128 levels or 5,000 subschemas is refused, or in
// Lenient mode reduced to the types, required names and names at its top.
// Validation has a budget of steps and one of time: 120 ms and 2 µs for each
// value, 500 ms at most. A document that cannot be judged within them is refused
// with [RuleInternal], "steps". That is what a schema built to take exponential
// time gets, and a pattern of many states on a long text. Of more than 10,000
// failed keywords the rest is not counted.
package schema
