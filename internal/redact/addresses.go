package redact

import (
	"net/netip"
	"strings"
)

// addresses4 finds IPv4 addresses with their port or mask. Version numbers of
// four parts look the same and are told apart by what stands before them.
func addresses4(text string, found []span) []span {
	for i := 0; i < len(text); i++ {
		if !digits.has(text[i]) || i > 0 && (word.has(text[i-1]) || text[i-1] == '.') {
			continue
		}
		end := address4(text, i)
		if end == 0 {
			continue
		}
		full := maskEnd(text, portEnd(text, end))
		if full > end || !isVersion(text, i) {
			found = append(found, span{i, full, address})
		}
		i = full - 1
	}
	return found
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

func maskEnd(text string, end int) int {
	if end < len(text) && text[end] == '/' {
		if mask := digits.run(text, end+1, 2); mask > end+1 && endsWord(text, mask) {
			return mask
		}
	}
	return end
}

var address6Bytes = hex.union(":.")

// addresses6 finds IPv6 addresses, bare or in brackets with a port.
func addresses6(text string, found []span) []span {
	for i := 0; ; {
		k := strings.IndexByte(text[i:], ':')
		if k < 0 {
			return found
		}
		at := i + k
		start := hex.runBack(text, at, 4)
		end := address6Bytes.run(text, at, 48)
		for end > at+1 && (text[end-1] == '.' || text[end-1] == ':' && text[end-2] != ':') {
			end--
		}
		i = end + 1
		if isAddress6(text, start, end) {
			full := maskEnd(text, bracketEnd(text, start, zoneEnd(text, end)))
			found = append(found, span{start, full, address})
			i = full
		}
		if i >= len(text) {
			return found
		}
	}
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

func isAddress(name string) bool {
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil
}

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

var mailbox = dotted.union("+%")

// emails finds addresses of the usual form. Quoted local parts are not.
func emails(text string, found []span) []span {
	for i := 0; ; {
		k := strings.IndexByte(text[i:], '@')
		if k < 0 {
			return found
		}
		at := i + k
		i = at + 1
		start := mailbox.runBack(text, at, 64)
		end := trimDots(text, dotted.run(text, i, maxName))
		if start < at && end > i && strings.Contains(text[i:end], ".") {
			found = append(found, span{start, end, email})
			i = end
		}
	}
}
