// Package redact removes from untrusted text what a model, or whoever reads
// its answer, has no business seeing: credentials, internal hosts and
// addresses, file paths, stack traces and SQL.
//
// Each finding becomes a marker that says what stood there, "[redacted:path]",
// so that the sentence around it still reads. Everything else stays byte for
// byte: a redactor that eats version numbers and UUIDs corrupts data that a
// model writes back.
//
// The rules are data: literals that open a finding, each with a function that
// reads on by hand, and tables of token prefixes, names of secret fields,
// internal domains and phrases that name a host. None is a regular expression.
// One pass looks every byte up in an index of the literals, which costs clean
// text a few nanoseconds a byte and keeps hostile text linear.
//
// Text that mentions something forbidden is text that Redact changes. A test
// that wants to know whether an answer leaks compares Redact(text) with text;
// there is no second checker that could disagree with the first.
//
// Left alone on purpose: relative paths and file:line positions, public host
// names and URLs, user names, identifiers, hashes and random strings outside
// a secret-like context, passwords of several ordinary words in prose, and
// anything encoded beyond three levels of JSON or percent escapes.
package redact

// A kind says what a finding was. Where findings overlap, the lower kind names
// the marker: a stack trace that contains paths is a stack trace.
type kind uint8

const (
	privateKey kind = iota
	stackTrace
	statement
	connection
	secret
	token
	path
	host
	address
	email
)

// markers are what a model reads in the place of a finding. They are part of
// the format: fixed, ASCII, and recognised as masked when they come back.
var markers = [...]string{
	privateKey: "[redacted:key]",
	stackTrace: "[redacted:stack]",
	statement:  "[redacted:sql]",
	connection: "[redacted:dsn]",
	secret:     "[redacted:secret]",
	token:      "[redacted:token]",
	path:       "[redacted:path]",
	host:       "[redacted:host]",
	address:    "[redacted:ip]",
	email:      "[redacted:email]",
}

// everything stands for a text that new findings keep appearing in.
const everything = "[redacted]"

// maxPasses bounds the search for a text in which nothing is left to find.
// Two are the rule, three need an unlucky neighbourhood, more need malice.
const maxPasses = 5

// Options adjusts a [Redactor]. The zero value is the default rule set.
type Options struct {
	// Emails also redacts e-mail addresses. They are off by default because
	// they are often the very data a tool was asked for.
	Emails bool

	// Hosts are further internal domains, without a leading dot, such as
	// "corp.example.com": the domain itself and every name below it is
	// redacted. Case does not matter. Empty entries are ignored.
	Hosts []string
}

// A Redactor replaces findings by markers. It is immutable and safe for
// concurrent use. The zero value has no rules; use [New].
type Redactor struct {
	// rules are indexed by the first byte of the literal, for the start of a
	// word and for the middle of one.
	rules [2][256][]rule
}

// New returns a Redactor with the given options. The options are copied.
func New(opts Options) *Redactor {
	r := new(Redactor)
	for _, rules := range standardRules() {
		r.add(rules...)
	}
	r.add(domainRules(opts.Hosts)...)
	if opts.Emails {
		r.add(emailRules...)
	}
	return r
}

// Redact returns text with every finding replaced by its marker. It returns
// text itself, without allocating, if there is nothing to replace, which
// includes text that was redacted before: Redact(Redact(text)) is Redact(text).
// Text that is valid UTF-8 stays so. Time is linear in the length of text;
// bound a text of unknown length with [Redactor.Cut].
func (r *Redactor) Redact(text string) string {
	for range maxPasses {
		next := r.pass(text)
		if next == text {
			return text
		}
		text = next
	}
	return everything
}

// pass replaces what one look finds. Markers make new edges, and an edge can
// turn what stands beside it into a finding, hence the loop in Redact.
func (r *Redactor) pass(text string) string {
	found := r.find(text, nil)
	for v := (view{text: text}); v.decode(); {
		from := len(found)
		found = r.find(v.text, found)
		v.translate(found[from:])
	}
	if len(found) == 0 {
		return text
	}
	return splice(text, merge(text, found))
}

// find appends what the rules find in text, in no particular order and
// possibly overlapping.
func (r *Redactor) find(text string, found []span) []span {
	var resume [families]int
	place := wordStart
	for i := 0; i < len(text); i++ {
		c := text[i]
		rules := r.rules[place][c]
		for k := range rules {
			rule := &rules[k]
			if !rule.opens(text, i) || i < resume[rule.family] {
				continue
			}
			s := rule.read(text, i)
			resume[rule.family] = max(s.end, resume[rule.family])
			if s.end > s.start {
				found = append(found, s)
			}
		}
		place = placeAfter[c]
	}
	return found
}
