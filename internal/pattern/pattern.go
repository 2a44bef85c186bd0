// Package pattern matches the regular expressions of strangers against the
// texts of strangers within a bound on time.
//
// Go's expressions take time linear in the text, but the factor is the size of
// the program that a pattern becomes: a few characters such as (a{0,100}){0,10}
// make thousands of states, each of which may be live at every character of a
// text of a megabyte. What cannot be costly is matched as usual; what can is fed
// to the expression piece by piece, with an eye on the clock.
package pattern

import (
	"io"
	"regexp"
	"regexp/syntax"
	"time"
	"unicode/utf8"
)

// A Pattern is a compiled expression. It is immutable and safe for concurrent use.
type Pattern struct {
	re     *regexp.Regexp
	states int
}

// Compile reads an expression in Go's syntax, not anchored, as the keyword
// pattern of JSON Schema is in practice.
func Compile(source string) (*Pattern, error) {
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	return &Pattern{re: re, states: len(prog.Inst)}, nil
}

// String returns the expression as it was written.
func (p *Pattern) String() string { return p.re.String() }

// Work is measured in states times bytes, which a match never exceeds and hardly
// ever comes near.
const (
	harmless = 1 << 20 // of all matches together: some ten milliseconds at worst
	large    = 1 << 16 // of one match: from here on it is fed to the expression
	piece    = 1 << 14 // from one look at the clock to the next
)

// A Budget is the time that a number of matches may take together. It counts
// from where they stop being harmless. A Budget is for one goroutine.
type Budget struct {
	allowed   time.Duration
	until     time.Time // zero while all was harmless
	work      int
	exhausted bool
}

// NewBudget returns a budget of d.
func NewBudget(d time.Duration) Budget { return Budget{allowed: d} }

// Exhausted reports that a match was given up: no answer means anything then.
func (b *Budget) Exhausted() bool { return b.exhausted }

// Match reports whether s contains a match, and false without knowing once the
// budget is exhausted. It allocates nothing for texts that cannot be costly.
func (p *Pattern) Match(s []byte, b *Budget) bool {
	if b.admits(p.states * len(s)) {
		return p.re.Match(s)
	}
	return p.fed(b, func(i int) (rune, int) { return utf8.DecodeRune(s[i:]) })
}

// MatchString is [Pattern.Match] for a string.
func (p *Pattern) MatchString(s string, b *Budget) bool {
	if b.admits(p.states * len(s)) {
		return p.re.MatchString(s)
	}
	return p.fed(b, func(i int) (rune, int) { return utf8.DecodeRuneInString(s[i:]) })
}

// admits reports that a match of so much work may go ahead unwatched.
func (b *Budget) admits(work int) bool {
	if b.work += work; b.work <= harmless {
		return true
	}
	if b.until.IsZero() {
		b.until = time.Now().Add(b.allowed)
	} else if b.exhausted || work >= large {
		return false
	} else if b.work > harmless+large { // a look at the clock after each
		b.work = harmless
		b.exhausted = time.Now().After(b.until)
	}
	return work < large && !b.exhausted
}

// fed matches with an eye on the clock.
func (p *Pattern) fed(b *Budget, at func(int) (rune, int)) bool {
	if b.exhausted {
		return false
	}
	r := &feed{at: at, every: max(1, piece/p.states), until: b.until}
	found := p.re.MatchReader(r)
	b.exhausted = r.late
	return found && !r.late
}

// A feed hands a text out character by character and ends it early when time
// is up.
type feed struct {
	at    func(int) (rune, int)
	next  int
	every int // characters from one look at the clock to the next
	count int
	until time.Time
	late  bool
}

// ReadRune implements [io.RuneReader].
func (f *feed) ReadRune() (rune, int, error) {
	if f.count++; f.count >= f.every {
		f.count = 0
		f.late = f.late || time.Now().After(f.until)
	}
	r, size := f.at(f.next)
	if size == 0 || f.late {
		return 0, 0, io.EOF
	}
	f.next += size
	return r, size, nil
}
