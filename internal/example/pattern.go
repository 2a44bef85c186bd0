package example

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPatternSteps is enough for every string of maxText characters that a
// person would describe.
const maxPatternSteps = 16 * maxText

// patternCost is what a pattern costs in steps of the search.
const patternCost = 64

// matching makes a string that matches the pattern, between low and high
// characters long.
func (b *builder) matching(pattern string, low, high int) (string, bool) {
	if !b.spend(patternCost) {
		return "", false
	}
	re, err := regexp.Compile(pattern)
	parsed, err2 := syntax.Parse(pattern, syntax.Perl)
	if err != nil || err2 != nil {
		return "", false
	}
	// Repetitions take what they must first, then more, until it is long enough.
	for _, more := range [...]int{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, maxText} {
		g := patternWriter{more: more, salt: b.salt, steps: maxPatternSteps}
		if !g.write(parsed) {
			return "", false
		}
		s := g.out.String()
		pad := strings.Repeat("x", max(0, low-utf8.RuneCountInString(s)))
		for _, s := range [...]string{s, s + pad, pad + s} {
			if n := utf8.RuneCountInString(s); low <= n && n <= high && re.MatchString(s) {
				return s, true
			}
		}
	}
	return "", false
}

// patternWriter writes one string that the expression matches. Conditions on
// what stands around a position are left to chance.
type patternWriter struct {
	out   strings.Builder
	more  int // repetitions beyond the least
	salt  int // varies the string where the pattern leaves a choice
	steps int // left; repetitions of nothing nest, too
}

// write writes one match of re. Anchors and word boundaries write nothing;
// whether they hold is seen when the whole string is matched.
func (g *patternWriter) write(re *syntax.Regexp) bool {
	g.steps--
	if g.steps < 0 {
		return false
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return false
	case syntax.OpLiteral:
		g.out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		return g.writeClass(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return g.writeClass([]rune{'a', 'z'})
	case syntax.OpCapture, syntax.OpConcat:
		return g.writeEach(re.Sub)
	case syntax.OpAlternate:
		return g.writeEach(re.Sub[g.salt%len(re.Sub):][:1])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return g.writeRepeat(re)
	}
	return true
}

// writeEach writes one part after the other.
func (g *patternWriter) writeEach(parts []*syntax.Regexp) bool {
	for _, part := range parts {
		if !g.write(part) {
			return false
		}
	}
	return true
}

// writeRepeat writes the least number of repetitions and more, up to the most.
func (g *patternWriter) writeRepeat(re *syntax.Regexp) bool {
	least, most := 0, -1
	switch re.Op {
	case syntax.OpPlus:
		least = 1
	case syntax.OpQuest:
		most = 1
	case syntax.OpRepeat:
		least, most = re.Min, re.Max
	}
	times := least + g.more
	if most >= 0 {
		times = min(times, most)
	}
	for range times {
		if !g.write(re.Sub[0]) {
			return false
		}
	}
	return true
}

// writeClass writes a plain character of the class if it has one.
func (g *patternWriter) writeClass(ranges []rune) bool {
	var plain []rune
	for _, r := range "abcdefghijABCDEFGHIJ0123456789-_.!* " {
		if inClass(ranges, r) {
			plain = append(plain, r)
		}
	}
	if len(plain) > 0 {
		g.out.WriteRune(plain[g.salt%len(plain)])
		return true
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= min(ranges[i+1], ranges[i]+128); r++ {
			if unicode.IsPrint(r) {
				g.out.WriteRune(r)
				return true
			}
		}
	}
	return false
}

// inClass expects ranges as pairs of first and last.
func inClass(ranges []rune, r rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}
