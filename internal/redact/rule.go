package redact

import "strings"

// A rule says that a literal may open a finding.
type rule struct {
	family  family
	literal string // in lower case unless the rule is exact
	where   place
	exact   bool

	// read reads the finding whose literal stands at i. The span may start
	// before the literal or behind it. A zero span means that there is none,
	// an empty one that there is none for the family before its end either.
	read func(text string, i int) span
}

// A place is where a literal may stand: at the start of a word only, or within
// words, behind a letter or digit, as well.
type place uint8

const (
	wordStart place = iota
	anywhere
)

// placeAfter is the place of what follows a byte.
var placeAfter = func() (after [256]place) {
	for c := range after {
		if alnum.has(byte(c)) {
			after[c] = anywhere
		}
	}
	return after
}()

// A family of rules reads no byte of a text twice in vain: behind one of its
// findings it goes on at the end. That is what keeps reading linear.
type family uint8

const (
	keyFamily family = iota
	stackFamily
	sqlFamily
	urlFamily
	pairFamily
	tokenFamily
	fieldFamily
	pathFamily
	hostFamily
	addressFamily
	emailFamily
	families
)

// standardRules lists the tables. Their order does not matter.
func standardRules() [][]rule {
	return [][]rule{
		keyRules, stackRules, sqlRules(), urlRules, dsnRules, shapeRules(), tokenRules,
		fieldRules, pathRules, hostRules, leadRules(), addressRules,
	}
}

// add indexes rules by first byte, folded ones by both cases of it.
func (r *Redactor) add(rules ...rule) {
	for _, u := range rules {
		first := u.literal[0]
		r.addAt(u, first)
		if !u.exact && lowers.has(first) {
			r.addAt(u, first-'a'+'A')
		}
	}
}

// addAt enters a rule for each place where its literal may stand.
func (r *Redactor) addAt(u rule, first byte) {
	for p := wordStart; p <= u.where; p++ {
		r.rules[p][first] = append(r.rules[p][first], u)
	}
}

// opens reports that the rule's literal, whose first byte stands at i, stands
// there whole. Most do not get past their second byte.
func (u *rule) opens(text string, i int) bool {
	if len(u.literal) > 1 && (i+1 == len(text) || fold(text[i+1]) != fold(u.literal[1])) {
		return false
	}
	if u.exact {
		return strings.HasPrefix(text[i:], u.literal)
	}
	return hasFold(text, i, u.literal)
}

// A byteSet is a set of bytes.
type byteSet [4]uint64

// bytesOf returns the set of the bytes of text.
func bytesOf(text string) (set byteSet) {
	for i := 0; i < len(text); i++ {
		set[text[i]>>6] |= 1 << (text[i] & 63)
	}
	return set
}

// meets reports a byte that is in both sets.
func (s byteSet) meets(t byteSet) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0
}

// has reports that c is in the set.
func (s *byteSet) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

// union returns the bytes of s and of more.
func (s byteSet) union(more string) byteSet {
	for i, bits := range bytesOf(more) {
		s[i] |= bits
	}
	return s
}

// run returns the end of the longest run of bytes of s from i, at most limit
// bytes long.
func (s *byteSet) run(text string, i, limit int) int {
	end := min(len(text), i+limit)
	for i < end && s.has(text[i]) {
		i++
	}
	return i
}

// runBack returns the start of the longest run of bytes of s that ends at i,
// at most limit bytes long.
func (s *byteSet) runBack(text string, i, limit int) int {
	start := max(0, i-limit)
	for i > start && s.has(text[i-1]) {
		i--
	}
	return i
}

const unlimited = 1 << 30

// Sets that several rules share.
var (
	digits  = bytesOf("0123456789")
	lowers  = bytesOf("abcdefghijklmnopqrstuvwxyz")
	uppers  = bytesOf("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	letters = lowers.union("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	alnum   = letters.union("0123456789")
	word    = alnum.union("_")
	urlSafe = alnum.union("_-")
	base64s = alnum.union("+/=")
	dotted  = urlSafe.union(".")
	hex     = bytesOf("0123456789abcdefABCDEF")
	spaces  = bytesOf(" \t\r\n\v\f")
	quotes  = bytesOf("\"'`")
)

// startsWord reports that no letter or digit stands before i.
func startsWord(text string, i int) bool { return i == 0 || !alnum.has(text[i-1]) }

// endsWord reports that no letter, digit or underscore stands at i.
func endsWord(text string, i int) bool { return i >= len(text) || !word.has(text[i]) }

// hasFold reports that lower, which is in lower case, stands at i in any case.
func hasFold(text string, i int, lower string) bool {
	if i < 0 || len(text)-i < len(lower) {
		return false
	}
	for k := 0; k < len(lower); k++ {
		if fold(text[i+k]) != lower[k] {
			return false
		}
	}
	return true
}

// fold returns c in lower case.
func fold(c byte) byte {
	if uppers.has(c) {
		return c + 'a' - 'A'
	}
	return c
}
