package redact

import (
	"slices"
	"strings"
)

// dataSchemes are URL schemes that name a data store or an account: the whole
// URL is a connection string.
var dataSchemes = []string{
	"postgres", "postgresql", "mysql", "mariadb", "mongodb", "mongodb+srv", "redis", "rediss",
	"amqp", "amqps", "kafka", "nats", "mqtt", "mqtts", "sqlserver", "mssql", "oracle", "thin",
	"clickhouse", "cockroachdb", "cassandra", "couchbase", "memcached", "ldap", "ldaps", "smtp",
	"smtps", "imap", "imaps", "ftp", "ftps", "sftp", "ssh", "etcd", "bolt", "neo4j", "snowflake",
	"influxdb", "sqlite", "sqlite3", "db2", "h2", "tcp", "udp", "unix", "grpc", "consul",
}

// webhooks are public addresses whose path is the credential.
var webhooks = []string{
	"hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
	"outlook.office.com/webhook/", "webhook.office.com/webhookb2/",
}

// urlStops end a URL in running text.
var urlStops = spaces.union("\"'`<>\\{}|^\a\x1b")

// managed are the internal domains, for the hosts of URLs.
var managed = indexDomains(internalDomains)

// urlRules find URLs that carry a password or point inside, and file URLs. A
// public URL stays; its secret parameters are fields.
var urlRules = []rule{{urlFamily, "://", anywhere, true, readURL}}

// readURL reads a URL as a whole and passes over it even if it may stay.
func readURL(text string, i int) span {
	start, from := schemeStart(text, i), i+len("://")
	if start == i {
		return span{}
	}
	end := urlEnd(text, from)
	if kind, ok := judgeURL(text[start:i], text[from:end]); ok {
		return span{start, end, kind}
	}
	return span{end, end, 0}
}

// schemeBytes may stand in a scheme, RFC 3986, section 3.1.
var schemeBytes = alnum.union("+-.")

// schemeStart returns where the scheme before at starts, "jdbc:" and the like included.
func schemeStart(text string, at int) int {
	start := schemeBytes.runBack(text, at, 32)
	if start > 0 && start < at && text[start-1] == ':' {
		if outer := schemeBytes.runBack(text, start-1, 16); outer < start-1 && isOuterScheme(text[outer:start-1]) {
			return outer
		}
	}
	return start
}

// isOuterScheme reports the interfaces that put their name before a scheme.
func isOuterScheme(name string) bool { return name == "jdbc" || name == "r2dbc" || name == "odbc" }

// urlEnd returns the end of the URL whose authority starts at i, without the
// punctuation of the sentence around it.
func urlEnd(text string, i int) int {
	start := i
	for i < len(text) && !urlStops.has(text[i]) && !(text[i] >= 0x80 && isWidePunctuation(text[i:])) {
		i++
	}
	for i > start && strings.IndexByte(".,;:!?)", text[i-1]) >= 0 {
		i--
	}
	return i
}

// judgeURL decides by scheme, userinfo and host what a URL gives away.
// rest is what follows "://".
func judgeURL(name, rest string) (kind, bool) {
	authority := rest
	if k := strings.IndexAny(rest, "/?#"); k >= 0 {
		authority = rest[:k]
	}
	at := strings.LastIndexByte(authority, '@')
	switch {
	case rest == "" || strings.HasPrefix(rest, everything[:len(everything)-1]):
		return 0, false
	case hasFold(name, 0, "file") && len(name) == 4:
		return path, true
	case isDataScheme(name):
		return connection, true
	case at > 0 && carriesPassword(authority[:at]):
		return connection, true
	case containsFold(webSchemes, name) && isInside(authority[at+1:]):
		return host, true
	}
	return token, slices.ContainsFunc(webhooks, func(w string) bool { return strings.Contains(rest, w) })
}

// isDataScheme also knows jdbc:postgresql and postgresql+psycopg2.
func isDataScheme(name string) bool {
	if k := strings.IndexByte(name, ':'); k >= 0 {
		return true
	}
	base, _, _ := strings.Cut(name, "+")
	return containsFold(dataSchemes, name) || containsFold(dataSchemes, base)
}

// webSchemes are those whose authority is a host. In app://settings it is not.
var webSchemes = []string{"http", "https", "ws", "wss", "h2c", "git", "svn", "rtsp", "rtmp"}

// carriesPassword reports userinfo with a password, or a user long enough to
// be a token, as in https://<token>@host.
func carriesPassword(userinfo string) bool {
	_, password, ok := strings.Cut(userinfo, ":")
	if ok {
		return password != "" && !masked(password) && !placeholder(password)
	}
	return len(userinfo) >= 16 && hasDigit(userinfo)
}

// isInside reports a host that only the inside of a network can reach: a
// single label, an address, an internal domain.
func isInside(authority string) bool {
	name := authority
	if k := strings.LastIndexByte(name, ':'); k >= 0 && !strings.HasSuffix(name, "]") {
		name = name[:k]
	}
	if name == "" || masked(name) || dotted.run(name, 0, unlimited) < len(name) && name[0] != '[' {
		return false
	}
	return !strings.Contains(name, ".") || isAddress(name) || managed.match(name)
}
