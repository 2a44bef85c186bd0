package redact

import "strings"

// dsnRules find runs of name=value pairs that lead to a database, as in
// host=… user=… password=… or Server=…;Database=…;Pwd=…, and the addresses of
// Go's MySQL driver.
var dsnRules = []rule{
	{pairFamily, "=", anywhere, true, readPairs},
	{urlFamily, "@", anywhere, true, readDriverAddress},
}

// readPairs leaves the whole run behind even if it is no connection string:
// every "=" in it would otherwise read the rest again.
func readPairs(text string, i int) span {
	start, end, ok := pairs(text, i)
	if !ok {
		return span{end, end, 0}
	}
	return span{start, end, connection}
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

// pairName is what the name of a pair is made of.
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

// containsFold reports that key is in list, whose entries are in lower case.
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

// pairEnd returns the end of the value at i. libpq quotes a value with spaces,
// ODBC puts it in braces.
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

// networks are the protocols of the MySQL driver. A call such as f@g(x) is none.
var networks = []string{"tcp", "tcp4", "tcp6", "unix", "udp"}

// readDriverAddress reads user:password@tcp(host:port)/db and user:password@/db, and
// Oracle's user/password@//host:port/service and @host:port:service.
func readDriverAddress(text string, at int) span {
	network, _, ok := strings.Cut(text[at+1:min(len(text), at+8)], "(")
	start := urlWord.runBack(text, at, 128)
	switch user := text[start:at]; {
	case start == at:
		return span{}
	case ok && containsFold(networks, network),
		strings.Contains(user, ":") && isLocalAddress(text[at+1:]),
		strings.Contains(user, "/") && isOracleAddress(text, at+1):
		return span{start, urlEnd(text, at+1), connection}
	}
	return span{}
}

// isLocalAddress reports /db, where nothing says which host. A second slash would
// make it a path.
func isLocalAddress(rest string) bool {
	end := word.run(rest, 1, 64)
	return strings.HasPrefix(rest, "/") && end > 1 && (end == len(rest) || rest[end] == '?' || urlStops.has(rest[end]))
}

// isOracleAddress reports //host:port/service or host:port:service at i.
func isOracleAddress(text string, i int) bool {
	if strings.HasPrefix(text[i:], "//") {
		return true
	}
	name := dotted.run(text, i, maxName)
	port := portEnd(text, name)
	return name > i && port > name && port+1 < len(text) && (text[port] == ':' || text[port] == '/') && alnum.has(text[port+1])
}

// urlWord is what stands together with a URL.
var urlWord = complement(urlStops)
