package redact

import (
	"net/netip"
	"strings"
)

// addressRules find IP addresses with their port or mask.
var addressRules = []rule{
	{addressFamily, ".", anywhere, true, readAddress4},
	{addressFamily, ":", anywhere, true, readAddress6},
}

// readAddress4 reads an IPv4 address whose first dot stands at i. Version
// numbers of four parts look the same and are told apart by what precedes, or by
// being all single digits, which no private network's addresses are.
func readAddress4(text string, i int) span {
	start := digits.runBack(text, i, 3)
	if start == i || start > 0 && (word.has(text[start-1]) || text[start-1] == '.') {
		return span{}
	}
	end := address4(text, start)
	if end == 0 {
		return span{}
	}
	full := maskEnd(text, portEnd(text, end))
	if full == end && (end-start == len("1.2.3.4") || isVersion(text, start)) {
		return span{end, end, 0}
	}
	return span{start, full, address}
}

// address4 returns the end of four octets at i that nothing continues, or 0.
func address4(text string, i int) int {
	for part := range 4 {
		end := digits.run(text, i, 4)
		if n := end - i; n == 0 || n > 3 || n > 1 && text[i] == '0' || n == 3 && text[i:end] > "255" {
			return 0
		}
		if part == 3 {
			return continued(text, end)
		}
		if end == len(text) || text[end] != '.' {
			return 0
		}
		i = end + 1
	}
	return 0
}

// continued returns end, or 0 if letters, digits or a further part follow.
func continued(text string, end int) int {
	if !endsWord(text, end) || end+1 < len(text) && text[end] == '.' && alnum.has(text[end+1]) {
		return 0
	}
	return end
}

// isVersion reports that the number at i is introduced as a version, follows a
// product name as in Chrome/120.0.1.2, or is part of a package name.
func isVersion(text string, i int) bool {
	if i == 0 {
		return false
	}
	before := text[max(0, i-12):i]
	switch before[len(before)-1] {
	case '-', '^', '~':
		return true
	case '/':
		return len(before) > 1 && letters.has(before[len(before)-2])
	}
	before = strings.TrimRight(before, " =:\"'v<>")
	return hasFold(before, len(before)-7, "version") || hasFold(before, len(before)-4, " ver") ||
		hasFold(before, len(before)-7, "release") || hasFold(before, len(before)-7, "section")
}

// maskEnd extends end over "/16": a network gives away as much as an address.
func maskEnd(text string, end int) int {
	if end < len(text) && text[end] == '/' {
		if mask := digits.run(text, end+1, 2); mask > end+1 && endsWord(text, mask) {
			return mask
		}
	}
	return end
}

// address6Bytes also has the dot: ::ffff:10.0.0.5 ends in an IPv4 address.
var address6Bytes = hex.union(":.")

// readAddress6 reads an IPv6 address whose first colon stands at i, bare or in
// brackets with a port.
func readAddress6(text string, i int) span {
	start, end := hex.runBack(text, i, 4), address6Bytes.run(text, i, 48)
	for end > i+1 && (text[end-1] == '.' || text[end-1] == ':' && text[end-2] != ':') {
		end--
	}
	if !isAddress6(text, start, end) {
		return span{}
	}
	return span{start, maskEnd(text, bracketEnd(text, start, zoneEnd(text, end))), address}
}

// isAddress6 reports an address that cannot be a time, a C++ name or a slice:
// it has a digit and either a long group or at least three groups.
func isAddress6(text string, start, end int) bool {
	s := text[start:end]
	if start > 0 && (word.has(text[start-1]) || text[start-1] == ':') || !endsWord(text, end) {
		return false
	}
	if !strings.Contains(s, "::") && strings.Count(s, ":") != 7 || !hasDigit(s) {
		return false
	}
	return (s == "::1" || likelyGroups(s)) && isAddress(s)
}

// likelyGroups asks for what 10::20 and a::b, a range and a name, do not have.
func likelyGroups(s string) bool {
	groups, longest, run := 0, 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != ':' {
			run++
			continue
		}
		if run > 0 {
			groups++
		}
		longest, run = max(longest, run), 0
	}
	return groups >= 3 || longest >= 3
}

// isAddress reports an IP address, bare or in the brackets of a URL.
func isAddress(name string) bool {
	if !digits.has(name[0]) && strings.IndexByte(name, ':') < 0 {
		return false // before ParseAddr allocates an error
	}
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil
}

// zoneEnd extends end over the interface of fe80::1%eth0.
func zoneEnd(text string, end int) int {
	if end < len(text) && text[end] == '%' {
		return alnum.run(text, end+1, 16)
	}
	return end
}

// bracketEnd extends a bracketed address over "]:443".
func bracketEnd(text string, start, end int) int {
	if start > 0 && text[start-1] == '[' && end < len(text) && text[end] == ']' {
		if port := portEnd(text, end+1); port > end+1 {
			return port
		}
	}
	return end
}
