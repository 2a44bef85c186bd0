package redact

// A rule finds one family of things. Its find appends to found and may report
// the same place as another rule; overlaps are settled later.
type rule struct {
	name  string
	needs byteSet // text without any of these bytes holds nothing for the rule
	find  func(text string, found []span) []span
}

func standardRules(domains []string) []rule {
	return []rule{
		{"private key blocks", bytesOf("-"), privateKeys},
		{"stack traces", bytesOf(":("), stacks},
		{"SQL statements", bytesOf("tTpPfFwW"), statements},
		{"URLs", bytesOf("/"), urls(domains)},
		{"connection strings", bytesOf("="), connectionStrings},
		{"driver addresses", bytesOf("("), driverAddresses},
		{"token shapes", bytesOf("_-.$eAL"), tokens},
		{"bot tokens", bytesOf(":"), botTokens},
		{"bearer tokens", bytesOf(" "), bearers},
		{"secret fields", bytesOf("=:>"), fields},
		{"secret flags", bytesOf("-"), flags},
		{"paths", bytesOf(`/\`), paths},
		{"internal hosts", bytesOf(".:-"), hosts(domains)},
		{"hosts in network errors", bytesOf(" "), dialled},
		{"IPv4 addresses", bytesOf("."), addresses4},
		{"IPv6 addresses", bytesOf(":"), addresses6},
	}
}

// A byteSet is a set of bytes. Collecting the bytes of a text once lets most
// rules be skipped without looking at it again.
type byteSet [4]uint64

func bytesOf(text string) (set byteSet) {
	for i := 0; i < len(text); i++ {
		set[text[i]>>6] |= 1 << (text[i] & 63)
	}
	return set
}

func (s byteSet) meets(t byteSet) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0
}

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

func fold(c byte) byte {
	if uppers.has(c) {
		return c + 'a' - 'A'
	}
	return c
}
