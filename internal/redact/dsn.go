package redact

import "strings"

// connectionStrings finds runs of name=value pairs that lead to a database:
// host=… user=… password=…, or Server=…;Database=…;Pwd=….
func connectionStrings(text string, found []span) []span {
	for i := 0; i < len(text); {
		k := strings.IndexByte(text[i:], '=')
		if k < 0 {
			return found
		}
		at := i + k
		start, end, ok := pairs(text, at)
		if ok {
			found = append(found, span{start, end, connection})
		}
		i = max(end, at+1)
	}
	return found
}

// placeKeys say where a database is, accessKeys what is opened there and how.
var (
	placeKeys  = []string{"host", "hostaddr", "server", "data source", "addr", "address", "endpoint", "accountname", "defaultendpointsprotocol"}
	accessKeys = []string{"password", "pwd", "dbname", "database", "initial catalog", "sslmode", "accountkey", "sharedaccesskey"}
)

// pairs reads the pairs that begin with the one whose "=" stands at eq. It
// reports whether they name both a place and what is opened there.
func pairs(text string, eq int) (start, end int, ok bool) {
	start = pairKeyStart(text, eq)
	var place, access bool
	for {
		key := text[pairKeyStart(text, eq):eq]
		place = place || containsFold(placeKeys, key)
		access = access || containsFold(accessKeys, key)
		end = pairEnd(text, eq+1)
		if eq = nextPair(text, end); eq < 0 {
			return start, end, place && access
		}
	}
}

var pairName = word.union("-.")

// pairKeyStart returns where the key before eq starts. Two keys of ODBC have a
// space in them.
func pairKeyStart(text string, eq int) int {
	start := pairName.runBack(text, eq, 64)
	for _, first := range []string{"data ", "user ", "initial "} {
		if hasFold(text, start-len(first), first) {
			return start - len(first)
		}
	}
	return start
}

func containsFold(list []string, key string) bool {
	for _, k := range list {
		if len(k) == len(key) && hasFold(key, 0, k) {
			return true
		}
	}
	return false
}

// pairStops end an unquoted value of a pair. An ampersand means a URL.
var pairStops = spaces.union(";&\"`<>")

func pairEnd(text string, i int) int {
	if i < len(text) && (text[i] == '\'' || text[i] == '{') {
		closing := byte('\'')
		if text[i] == '{' {
			closing = '}'
		}
		return min(len(text), quoteEnd(text, i+1, len(text), closing)+1)
	}
	for i < len(text) && !pairStops.has(text[i]) {
		i++
	}
	return i
}

// nextPair returns the "=" of the pair that follows end, or -1.
func nextPair(text string, end int) int {
	if end == len(text) || text[end] != ' ' && text[end] != ';' {
		return -1
	}
	i := skipSpaces(text, end)
	if i < len(text) && text[i] == ';' {
		i = skipSpaces(text, i+1)
	}
	eq := pairName.run(text, i, 64)
	if eq < len(text) && text[eq] == ' ' {
		eq = pairName.run(text, eq+1, 32)
	}
	if eq == i || eq >= len(text) || text[eq] != '=' {
		return -1
	}
	return eq
}

var networks = []string{"tcp", "tcp4", "tcp6", "unix", "udp"}

// driverAddresses finds user:password@tcp(host:port)/db.
func driverAddresses(text string, found []span) []span {
	for i := 0; ; {
		k := strings.Index(text[i:], "@")
		if k < 0 {
			return found
		}
		at := i + k
		i = at + 1
		network, _, ok := strings.Cut(text[i:min(len(text), i+8)], "(")
		if !ok || !containsFold(networks, network) {
			continue
		}
		start, end := urlWord.runBack(text, at, 128), urlEnd(text, i)
		if start < at {
			found = append(found, span{start, end, connection})
			i = end
		}
	}
}

var urlWord = complement(urlStops)
