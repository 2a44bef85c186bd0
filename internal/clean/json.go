package clean

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// JSON returns the JSON text raw with its strings, names included, cleaned as
// [Text] cleans, everything else byte for byte, and what was taken out. The
// result is JSON again, unless the notes have a [Cut]: then raw was too long
// even so, and the result is text with its middle missing.
//
// It returns false if raw is not JSON; hand it to [Text] then. JSON that needs
// no cleaning is returned as it is: raw and the result may share memory.
func JSON(raw []byte, opts Options) (out []byte, notes []Note, ok bool) {
	if !json.Valid(raw) {
		return nil, nil, false
	}
	s, limit := view(raw), opts.maxBytes()
	if len(raw) <= limit && !hasTellingEscape(s) && plainJSON(s) {
		return raw, nil, true
	}
	var t tally
	out = scrubStrings(raw, &t)
	if len(out) > limit {
		out = []byte(bounded(string(out), limit, &t))
	}
	return out, t.notes, true
}

// view returns raw as a string without a copy. The string must not outlive the
// call: raw is the caller's.
func view(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

// plainJSON is plain, with the carriage returns JSON may have between tokens.
func plainJSON(s string) bool {
	for line := range strings.SplitSeq(s, "\r") {
		if !printable(line) {
			return false
		}
	}
	return !hasLongRun(s)
}

// hasTellingEscape reports an escape behind which something may hide. A quote,
// a backslash, a line break and a tab are not.
func hasTellingEscape(s string) bool {
	for i := 0; ; i += 2 {
		k := strings.IndexByte(s[i:], '\\')
		if k < 0 {
			return false
		}
		if i += k; strings.IndexByte(`"\nt`, s[i+1]) < 0 {
			return true
		}
	}
}

// Strings returns valid JSON with each string, names included, as rewrite has it.
// One that stays the same stays byte for byte.
func Strings(raw []byte, rewrite func(string) string) []byte {
	return mapLiterals(raw, func(literal []byte) []byte {
		text, ok := decode(literal)
		if out := rewrite(text); ok && out != text {
			return quote(out)
		}
		return literal
	})
}

// scrubStrings rewrites the strings of valid JSON that need it.
func scrubStrings(raw []byte, t *tally) []byte {
	return mapLiterals(raw, func(literal []byte) []byte { return scrubLiteral(literal, t) })
}

// mapLiterals replaces the string literals of valid JSON.
func mapLiterals(raw []byte, replace func([]byte) []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		k := bytes.IndexByte(raw[i:], '"')
		if k < 0 {
			return append(out, raw[i:]...)
		}
		end := literalEnd(raw, i+k)
		out = append(out, raw[i:i+k]...)
		out = append(out, replace(raw[i+k:end])...)
		i = end
	}
	return out
}

// literalEnd returns the end of the string literal at i.
func literalEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// scrubLiteral returns a string literal cleaned, the same one if it is clean.
func scrubLiteral(literal []byte, t *tally) []byte {
	decoded, ok := decode(literal)
	clean := scrub(decoded, t)
	if lone := loneSurrogates(literal, decoded); lone > 0 {
		t.add(Invalid, lone, lone*len(`\ud800`), "")
	} else if ok && clean == decoded {
		return literal
	}
	return quote(clean)
}

// decode returns the text of a literal with its invalid bytes, which
// encoding/json would replace unseen, still in it.
func decode(literal []byte) (s string, ok bool) {
	if bytes.IndexByte(literal, '\\') < 0 {
		return string(literal[1 : len(literal)-1]), true
	}
	if utf8.Valid(literal) {
		return s, json.Unmarshal(literal, &s) == nil
	}
	var b strings.Builder
	for rest := literal[1 : len(literal)-1]; len(rest) > 0; {
		valid := validPrefix(rest)
		part, _ := decode(append(append([]byte{'"'}, rest[:valid]...), '"'))
		b.WriteString(part)
		bad := invalidRun(string(rest[valid:]))
		b.Write(rest[valid : valid+bad])
		rest = rest[valid+bad:]
	}
	return b.String(), true
}

// validPrefix returns how much of b is UTF-8.
func validPrefix(b []byte) (n int) {
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// loneSurrogates counts the escapes of half a character: decoding turned them
// into U+FFFD, and there were not as many in the literal.
func loneSurrogates(literal []byte, decoded string) int {
	const replacement = "\uFFFD"
	n := strings.Count(decoded, replacement)
	if n == 0 || !bytes.Contains(bytes.ToLower(literal), []byte(`\ud`)) {
		return 0
	}
	return n - bytes.Count(literal, []byte(replacement)) - bytes.Count(bytes.ToLower(literal), []byte(`\ufffd`))
}

// quote writes s as JSON without escaping for HTML.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
