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

// indexDomains takes domains as people write them: any case, a leading dot.
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

// hostRules find names in internal domains, names made of an address, and
// localhost with a port.
var hostRules = []rule{
	{hostFamily, ".", anywhere, true, func(text string, i int) span { return domainHost(text, i, &managed) }},
	{hostFamily, "localhost:", wordStart, false, localhost},
	{hostFamily, "ip-", wordStart, true, addressHost},
}

// domainRules find the domains that an operator adds.
func domainRules(domains []string) (out []rule) {
	custom := indexDomains(domains)
	below := func(text string, i int) span { return domainHost(text, i, &custom) }
	itself := func(text string, i int) span { return domain(text, i, &custom) }
	for _, list := range custom {
		for _, d := range list {
			out = append(out, rule{hostFamily, d, wordStart, false, itself})
		}
	}
	return append(out, rule{hostFamily, ".", anywhere, true, below})
}

// maxName is the longest host name DNS allows.
const maxName = 253

// domainHost reads the name that continues, at the dot, with a domain.
func domainHost(text string, dot int, inside *suffixes) span {
	if dot+1 == len(text) {
		return span{}
	}
	end := inside.at(text, dot+1)
	if end == 0 {
		return span{}
	}
	start := dotted.runBack(text, dot, maxName)
	for start < dot && !alnum.has(text[start]) {
		start++
	}
	if start == dot && start > 0 && text[start-1] == '*' {
		start--
	} else if start == dot || start > 0 && text[start-1] == '.' {
		return span{}
	}
	return span{start, portEnd(text, end), host}
}

// domain reads a domain that stands for itself.
func domain(text string, i int, inside *suffixes) span {
	end := inside.at(text, i)
	if end == 0 || i > 0 && (text[i-1] == '.' || text[i-1] == '-') {
		return span{}
	}
	return span{i, portEnd(text, end), host}
}

// localhost asks for a port: alone, the name says nothing.
func localhost(text string, i int) span {
	name := i + len("localhost")
	if end := portEnd(text, name); end > name {
		return span{i, end, host}
	}
	return span{}
}

// addressHost reads ip-10-0-0-5.
func addressHost(text string, i int) span {
	if end := addressName(text, i+len("ip-")); end > 0 {
		return span{i, portEnd(text, end), host}
	}
	return span{}
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

// leads is the table to extend when a program words its errors differently.
var leads = []lead{
	{"dial tcp ", false}, {"dial udp ", false}, {"dial tcp4 ", false}, {"dial tcp6 ", false},
	{"read tcp ", false}, {"write tcp ", false}, {"lookup ", false}, {"enotfound ", true},
	{"eai_again ", true}, {"econnrefused ", true}, {"etimedout ", false}, {"econnreset ", false},
	{"resolve host: ", true}, {"resolve host name ", true}, {"resolve hostname ", true},
	{"unknownhostexception: ", true}, {"server at ", false}, {`server at "`, true},
	{"connection to ", false}, {"connect to ", false}, {"connecting to ", false},
	{"connected to ", false}, {"connect to host ", true}, {"to address ", false},
	{"translate host name ", true}, {"httpconnectionpool(host=", true}, {"httpsconnectionpool(host=", true},
	{"running on host ", true}, {"unknown host: ", true}, {"name resolution: ", true}, {"upstream: ", false}, {"hostname ", false}, {"on server ", false},
}

// leadRules makes a rule of each lead.
func leadRules() (out []rule) {
	for _, l := range leads {
		read := func(text string, i int) span { return l.host(text, i+len(l.phrase)) }
		out = append(out, rule{hostFamily, l.phrase, wordStart, false, read})
	}
	return out
}

// host reads the name behind the phrase, in quotes or not. A name without a
// letter is an address, for which there are other rules.
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
