package redact

import (
	"slices"
	"strings"
)

// internalDomains are domains no public name server answers for, and managed
// services whose names give away an account's databases. A maintained list.
var internalDomains = []string{
	"internal", "local", "localdomain", "lan", "corp", "intranet", "intra", "svc", "cluster.local",
	"consul", "home.arpa", "ec2.internal", "compute.internal",
	"rds.amazonaws.com", "cache.amazonaws.com", "redshift.amazonaws.com", "docdb.amazonaws.com",
	"database.windows.net", "redis.cache.windows.net", "database.azure.com", "mongodb.net",
	"postgres.database.azure.com", "servicebus.windows.net", "neon.tech", "supabase.co",
}

// suffixes are domains indexed by the first letter of their first label.
type suffixes [256][]string

func indexDomains(lists ...[]string) (s suffixes) {
	for _, d := range slices.Concat(lists...) {
		if d = strings.ToLower(strings.Trim(d, ". ")); d != "" {
			s[d[0]] = append(s[d[0]], d)
		}
	}
	return s
}

// match reports that name is one of the domains or below one.
func (s *suffixes) match(name string) bool {
	for i := 0; i < len(name); i++ {
		if (i == 0 || name[i-1] == '.') && s.at(name, i) == len(name) {
			return true
		}
	}
	return false
}

// at returns the end of the domain that starts at i and is not continued by
// further labels, or 0.
func (s *suffixes) at(text string, i int) int {
	for _, d := range s[fold(text[i])] {
		if end := i + len(d); hasFold(text, i, d) && endsName(text, end) {
			return end
		}
	}
	return 0
}

// endsName reports that no further label or letter follows at i, and nothing
// that makes the name a variable in a program.
func endsName(text string, i int) bool {
	switch {
	case i >= len(text):
		return true
	case urlSafe.has(text[i]) || text[i] == '(' || text[i] == '[' || strings.HasPrefix(text[i:], " = "):
		return false
	}
	return text[i] != '.' || i+1 == len(text) || !alnum.has(text[i+1])
}

// hosts finds names in internal domains, names made of an address, and
// localhost with a port.
func hosts(domains []string) func(string, []span) []span {
	inside := indexDomains(internalDomains, domains)
	custom := indexDomains(domains)
	return func(text string, found []span) []span {
		for i := 0; i < len(text); i++ {
			switch {
			case text[i] == '.' && i+1 < len(text):
				found = domainHost(text, i, &inside, found)
			case startsWord(text, i):
				if s := wordHost(text, i, &custom); s.end > 0 {
					found = append(found, s)
					i = s.end - 1
				}
			}
		}
		return found
	}
}

// maxName is the longest host name DNS allows.
const maxName = 253

func domainHost(text string, dot int, inside *suffixes, found []span) []span {
	end := inside.at(text, dot+1)
	if end == 0 {
		return found
	}
	start := dotted.runBack(text, dot, maxName)
	for start < dot && !alnum.has(text[start]) {
		start++
	}
	if start == dot && start > 0 && text[start-1] == '*' {
		start--
	} else if start == dot || start > 0 && text[start-1] == '.' {
		return found
	}
	return append(found, span{start, portEnd(text, end), host})
}

// wordHost finds a host that a word at i is by itself.
func wordHost(text string, i int, custom *suffixes) span {
	end := 0
	switch {
	case hasFold(text, i, "localhost:"):
		if end = portEnd(text, i+len("localhost")); text[end-1] == 't' {
			return span{}
		}
	case strings.HasPrefix(text[i:], "ip-"):
		end = addressName(text, i+len("ip-"))
	default:
		end = custom.at(text, i)
		if end == 0 || i > 0 && (text[i-1] == '.' || text[i-1] == '-') {
			return span{}
		}
	}
	if end == 0 {
		return span{}
	}
	return span{i, portEnd(text, end), host}
}

// addressName returns the end of 10-0-0-5 at i, or 0.
func addressName(text string, i int) int {
	for part := range 4 {
		end := digits.run(text, i, 4)
		if end == i || end-i > 3 {
			return 0
		}
		if part == 3 {
			return end
		}
		if end == len(text) || text[end] != '-' {
			return 0
		}
		i = end + 1
	}
	return 0
}

// portEnd extends end over ":5432".
func portEnd(text string, end int) int {
	if end < len(text) && text[end] == ':' {
		if port := digits.run(text, end+1, 5); port > end+1 && endsWord(text, port) {
			return port
		}
	}
	return end
}

// A lead is a phrase after which programs print a host.
type lead struct {
	phrase string
	sure   bool // whatever follows is a host; otherwise it must look like one
}

var leads = []lead{
	{"dial tcp ", false}, {"dial udp ", false}, {"dial tcp4 ", false}, {"dial tcp6 ", false},
	{"read tcp ", false}, {"write tcp ", false}, {"lookup ", false},
	{"ENOTFOUND ", true}, {"EAI_AGAIN ", true}, {"ECONNREFUSED ", true}, {"ETIMEDOUT ", false},
	{"ECONNRESET ", false}, {"resolve host: ", true}, {"resolve host name ", true},
	{"resolve hostname ", true}, {"UnknownHostException: ", true}, {"server at ", false},
	{"onnection to ", false}, {"onnect to ", false}, {"onnecting to ", false}, {"onnected to ", false},
	{"connect to host ", true}, {"to address ", false}, {"translate host name ", true},
	{`server at "`, true}, {"upstream: ", false}, {"hostname ", false}, {"on server ", false},
}

// dialled finds the hosts that network errors name.
func dialled(text string, found []span) []span {
	for k := range leads {
		for i := 0; ; {
			at := strings.Index(text[i:], leads[k].phrase)
			if at < 0 {
				break
			}
			i += at + len(leads[k].phrase)
			if s := leads[k].host(text, i); s.end > 0 {
				found = append(found, s)
				i = s.end
			}
		}
	}
	return found
}

func (l lead) host(text string, i int) span {
	if i < len(text) && quotes.has(text[i]) {
		i++
	}
	end := dotted.run(text, i, maxName)
	if end == i || !alnum.has(text[i]) || !hasLetter(text[i:end]) {
		return span{}
	}
	end = trimDots(text, end)
	port := portEnd(text, end)
	if !l.sure && port == end && !resolves(text, end) {
		return span{}
	}
	return span{i, port, host}
}

// resolves reports the words that follow a name in a resolver's complaint.
func resolves(text string, i int) bool {
	rest := text[i:]
	for _, tail := range []string{" port ", ": no such host", ": server misbehaving", ": i/o timeout", " on ", ": Temporary failure", ": Name or service"} {
		if strings.HasPrefix(rest, tail) {
			return true
		}
	}
	return false
}
