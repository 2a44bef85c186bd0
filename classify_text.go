package toolguard

import (
	"net/http"
	"strings"

	"github.com/toolguard-go/toolguard/internal/cause"
	"github.com/toolguard-go/toolguard/internal/isolate"
)

// phrase is a text that gives a failure away, in lower case. It must stand
// alone: a letter or digit must not continue a word at its ends.
type phrase struct {
	text string
	code Code
	// typed: these are not an author's words but those of a typed error that was
	// turned into text, so they are not quoted, just as the error would not be.
	typed   bool
	stopped bool // a context's own words
}

// phrases are tried in this order. A text never proves an outcome.
var phrases = []phrase{
	{text: "context deadline exceeded", code: CodeDownstreamTimeout, typed: true, stopped: true},
	{text: "context canceled", code: CodeUnknownError, typed: true, stopped: true},
	{text: "context cancelled", code: CodeUnknownError, typed: true, stopped: true},
	{text: "operation was aborted", code: CodeUnknownError, typed: true, stopped: true}, // JavaScript
	{text: "operation was canceled", code: CodeUnknownError, typed: true, stopped: true},
	{text: "net/http: request canceled", code: CodeUnknownError, typed: true, stopped: true},
	{text: "canceling statement due to user request", code: CodeDownstreamTimeout, typed: true, stopped: true},

	{text: "no such host", code: CodeDNSFailure, typed: true},
	{text: "temporary failure in name resolution", code: CodeDNSFailure, typed: true},
	{text: "x509:", code: CodeTLSFailure, typed: true},
	{text: "tls:", code: CodeTLSFailure, typed: true},
	{text: "server gave http response to https client", code: CodeTLSFailure, typed: true},
	{text: "too many open files", code: CodeResourceExhausted, typed: true},
	{text: "no space left on device", code: CodeResourceExhausted, typed: true},
	{text: "connection pool exhausted", code: CodeResourceExhausted, typed: true},
	{text: "connection pool timeout", code: CodeResourceExhausted, typed: true},
	{text: "too many connections", code: CodeResourceExhausted, typed: true},
	{text: "too many clients already", code: CodeResourceExhausted, typed: true},
	{text: "remaining connection slots are reserved", code: CodeResourceExhausted, typed: true},
	{text: "connection refused", code: CodeConnectionRefused, typed: true},
	{text: "actively refused it", code: CodeConnectionRefused, typed: true}, // Windows
	{text: "no route to host", code: CodeConnectionRefused, typed: true},
	{text: "network is unreachable", code: CodeConnectionRefused, typed: true},
	{text: "connection reset by peer", code: CodeConnectionLost, typed: true},
	{text: "forcibly closed by the remote host", code: CodeConnectionLost, typed: true}, // Windows
	{text: "broken pipe", code: CodeConnectionLost, typed: true},
	{text: "use of closed network connection", code: CodeConnectionLost, typed: true},
	{text: "server closed idle connection", code: CodeConnectionLost, typed: true},
	{text: "server sent goaway", code: CodeConnectionLost, typed: true},
	{text: "stream error: stream id", code: CodeConnectionLost, typed: true},
	{text: "driver: bad connection", code: CodeConnectionLost, typed: true},
	{text: "unexpected eof", code: CodeConnectionLost, typed: true},
	{text: "transport is closing", code: CodeConnectionLost, typed: true}, // gRPC
	{text: "transport connection broken", code: CodeConnectionLost, typed: true},
	{text: "econnreset", code: CodeConnectionLost, typed: true}, // Node, from here
	{text: "econnaborted", code: CodeConnectionLost, typed: true},
	{text: "epipe", code: CodeConnectionLost, typed: true},
	{text: "econnrefused", code: CodeConnectionRefused, typed: true},
	{text: "enotfound", code: CodeDNSFailure, typed: true},
	{text: "etimedout", code: CodeDownstreamTimeout, typed: true},
	{text: "socket hang up", code: CodeConnectionLost, typed: true},
	{text: "network socket disconnected", code: CodeConnectionLost, typed: true},
	{text: "other side closed", code: CodeConnectionLost, typed: true},
	{text: "fetch failed", code: CodeConnectionLost, typed: true},
	{text: "server disconnected without sending a response", code: CodeConnectionLost, typed: true}, // Python, from here
	{text: "peer closed connection", code: CodeConnectionLost, typed: true},
	{text: "remote end closed connection", code: CodeConnectionLost, typed: true},
	{text: "connection aborted", code: CodeConnectionLost, typed: true},
	{text: "i/o timeout", code: CodeDownstreamTimeout, typed: true},
	{text: "tls handshake timeout", code: CodeDownstreamTimeout, typed: true},
	{text: "client.timeout exceeded", code: CodeDownstreamTimeout, typed: true},
	{text: "connection timed out", code: CodeDownstreamTimeout, typed: true},
	{text: "operation timed out", code: CodeDownstreamTimeout, typed: true},
	{text: "deadlock detected", code: CodeRolledBack, typed: true},
	{text: "could not serialize access", code: CodeRolledBack, typed: true},
	{text: "database is locked", code: CodeServiceUnavailable, typed: true},
	{text: "sql: no rows in result set", code: CodeNotFound},
	{text: "executable file not found in", code: CodeNotInstalled, typed: true},
	{text: "httpguard: body is too large", code: CodeResultUnavailable, typed: true}, // httpguard.ErrTooLarge
	{text: "signal: killed", code: CodeCommandFailed},
	{text: "exit status", code: CodeCommandFailed},

	{text: "rate limit exceeded", code: CodeRateLimited},
	{text: "rate limit reached", code: CodeRateLimited},
	{text: "rate_limit_exceeded", code: CodeRateLimited},
	{text: "rate limit:", code: CodeRateLimited},
	{text: "rate limited", code: CodeRateLimited},
	{text: "rate-limited", code: CodeRateLimited},
	{text: "too many requests", code: CodeRateLimited},
	{text: "overloaded_error", code: CodeServiceUnavailable},
	{text: "service unavailable", code: CodeServiceUnavailable},
	{text: "service is unavailable", code: CodeServiceUnavailable},
	{text: "temporarily unavailable", code: CodeServiceUnavailable},
	{text: "internal server error", code: CodeServerError},
	{text: "bad gateway", code: CodeServerError},
	{text: "gateway timeout", code: CodeDownstreamTimeout},
	{text: "request timed out", code: CodeDownstreamTimeout},
	{text: "request timeout", code: CodeDownstreamTimeout},
}

// wholeTexts are phrases that say too little inside a longer text.
var wholeTexts = map[string]phrase{
	"rate limit":         {text: "rate limit", code: CodeRateLimited},
	"timeout":            {text: "timeout", code: CodeDownstreamTimeout},
	"timed out":          {text: "timed out", code: CodeDownstreamTimeout},
	"eof":                {text: "eof", code: CodeConnectionLost, typed: true},
	"invalid connection": {text: "invalid connection", code: CodeConnectionLost, typed: true}, // MySQL
}

// readText is the last resort: what the text says.
func (f *finding) readText(account *isolate.Account, err error) {
	text := strings.ToLower(cause.Text(account, bare(err), textLimit))
	if p, ok := findPhrase(text); ok {
		*f = f.as(weak(p.code, "text: "+p.text))
		f.stopped, f.spelled = f.stopped || p.stopped, p.typed
	}
	if status := statusInText(text); status != 0 && !f.spelled {
		*f = f.as(weak(httpCode(status), "text: "+httpDetail(status)))
		f.status = status
	}
	f.definite = false
}

// findPhrase returns the first of the phrases, in their order, that stands in text.
func findPhrase(text string) (phrase, bool) {
	if p, ok := wholeTexts[text]; ok {
		return p, true
	}
	if strings.HasSuffix(text, ": eof") { // so does what io.EOF was wrapped in end
		return wholeTexts["eof"], true
	}
	best := len(phrases)
	for i := range len(text) {
		if i == 0 || !isWord(text[i-1]) {
			best = min(best, phraseAt(text, i))
		}
	}
	if best == len(phrases) {
		return phrase{}, false
	}
	return phrases[best], true
}

// phraseAt returns the number of the phrase that starts at text[start], or the
// number of phrases. All of them start with a letter.
func phraseAt(text string, start int) int {
	for _, n := range phrasesByInitial[text[start]] {
		words := phrases[n].text
		if strings.HasPrefix(text[start:], words) && standsAlone(text, start, start+len(words)) {
			return n
		}
	}
	return len(phrases)
}

var phrasesByInitial = func() (by [256][]int) {
	for n, p := range phrases {
		by[p.text[0]] = append(by[p.text[0]], n)
	}
	return by
}()

// standsAlone looks at both edges of text[start:end].
func standsAlone(text string, start, end int) bool {
	before := start == 0 || !isWord(text[start-1]) || !isWord(text[start])
	after := end == len(text) || !isWord(text[end]) || !isWord(text[end-1])
	return before && after
}

// isWord counts all of a multi-byte character as letters.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c >= 0x80
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// statusInText returns the first number from 400 to 599 that is called a status
// or followed by that status's own words, or 0.
func statusInText(text string) int {
	for i := 0; i+3 <= len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		end := i
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		if n := statusNumber(text, i, end); n != 0 && (calledStatus(text[:i]) || saysStatus(text[end:], n)) {
			return n
		}
		i = end
	}
	return 0
}

// statusNumber reads text[start:end], unless it is a part of a longer number,
// word, date, version, price or name.
func statusNumber(text string, start, end int) int {
	if end-start != 3 || start > 0 && !strings.ContainsRune(" \t\n:=\"'([<", rune(text[start-1])) {
		return 0
	}
	if end < len(text) && !endsNumber(text[end:]) {
		return 0
	}
	n := int(text[start]-'0')*100 + int(text[start+1]-'0')*10 + int(text[start+2]-'0')
	if n < 400 || n > 599 {
		return 0
	}
	return n
}

func endsNumber(rest string) bool {
	switch rest[0] {
	case ' ', '\t', '\n', '"', '\'', ')', ']', '>', ';':
		return true
	case '.', ',', ':':
		return len(rest) == 1 || !isWord(rest[1])
	}
	return false
}

// statusWords are what stands before a number that is a status.
var statusWords = [...]string{
	"status code", "statuscode", "status_code", "http status", "response status", "http", "http error", "http/1.1", "http/2.0",
	"unexpected status", "bad status", "returned status", "got status", "with status",
}

// calledStatus reports whether before ends in a word for status. The bare word
// "status" has other uses, so it needs a colon or an equals sign.
func calledStatus(before string) bool {
	words := strings.TrimRight(before, " \t\n:=\"'([<")
	for _, w := range statusWords {
		if endsIn(words, w) {
			return true
		}
	}
	return endsIn(words, "status") && strings.ContainsAny(before[len(words):], ":=")
}

func endsIn(text, words string) bool {
	return strings.HasSuffix(text, words) && standsAlone(text, len(text)-len(words), len(text))
}

// saysStatus reports whether after continues with the standard words for n.
func saysStatus(after string, n int) bool {
	words := strings.ToLower(http.StatusText(n))
	rest := strings.TrimLeft(after, " \t:")
	return words != "" && len(rest) < len(after) && strings.HasPrefix(rest, words) && standsAlone(rest, 0, len(words))
}
