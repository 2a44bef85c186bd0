package example

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxText bounds a made-up string.
const maxText = 256

const placeholder = "string"

// formats holds a placeholder for each common format. Names and addresses are
// the ones reserved for documentation (RFC 2606, 5737, 3849), and the UUID is
// the nil one: nobody can take them for real.
var formats = map[string]string{
	"date":                  "2026-01-31",
	"date-time":             "2026-01-31T12:00:00Z",
	"time":                  "12:00:00Z",
	"duration":              "P1D",
	"email":                 "user@example.com",
	"idn-email":             "user@example.com",
	"hostname":              "example.com",
	"idn-hostname":          "example.com",
	"ipv4":                  "192.0.2.1",
	"ipv6":                  "2001:db8::1",
	"uri":                   "https://example.com",
	"url":                   "https://example.com",
	"iri":                   "https://example.com",
	"uri-reference":         "/path",
	"iri-reference":         "/path",
	"uri-template":          "https://example.com/{id}",
	"uuid":                  "00000000-0000-0000-0000-000000000000",
	"regex":                 ".*",
	"json-pointer":          "/path",
	"relative-json-pointer": "0",
	"byte":                  "c3RyaW5n",
}

// text makes a string.
func (b *builder) text(m map[string]any) (any, bool) {
	low, high := count(m["minLength"]), maxText
	if v, ok := m["maxLength"]; ok {
		high = min(high, count(v))
	}
	if low > high {
		return nil, false
	}
	pattern, _ := m["pattern"].(string)
	fitting := fittingTexts(b.texts(m, pattern, low, high), pattern, low, high)
	if len(fitting) == 0 {
		return nil, false
	}
	return fitting[b.choose(len(fitting))], true
}

// texts lists strings in the order of preference.
func (b *builder) texts(m map[string]any, pattern string, low, high int) []string {
	var list []string
	format, _ := m["format"].(string)
	if s, ok := formats[format]; ok && b.salt == 0 {
		list = append(list, s)
	}
	if m["contentEncoding"] == "base64" && b.salt == 0 {
		list = append(list, formats["byte"])
	}
	list = append(list, b.word(low, high))
	if pattern == "" {
		return list
	}
	if s, ok := b.matching(pattern, low, high); ok {
		list = append(list, s)
	}
	return list
}

// word is the placeholder brought to length: "string", "stringxx", "str";
// "string2" and so on where the items of an array must differ.
func (b *builder) word(low, high int) string {
	tail := ""
	if b.salt > 0 {
		tail = strconv.Itoa(b.salt + 1)
	}
	head := placeholder[:max(0, min(len(placeholder), high-len(tail)))]
	pad := max(0, low-len(head)-len(tail))
	return head + strings.Repeat("x", pad) + tail
}

// fittingTexts keeps the strings that have the right length and match. A
// pattern Go does not understand is left to the judge.
func fittingTexts(list []string, pattern string, low, high int) []string {
	re, err := regexp.Compile(pattern)
	var fitting []string
	for _, s := range list {
		n := utf8.RuneCountInString(s)
		if low <= n && n <= high && (err != nil || re.MatchString(s)) {
			fitting = append(fitting, s)
		}
	}
	return fitting
}
