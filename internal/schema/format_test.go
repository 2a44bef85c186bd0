package schema_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard/internal/schema"
)

var drafts = []string{
	"",
	`"$schema":"http://json-schema.org/draft-04/schema#",`,
	`"$schema":"http://json-schema.org/draft-06/schema#",`,
	`"$schema":"http://json-schema.org/draft-07/schema#",`,
	`"$schema":"https://json-schema.org/draft/2019-09/schema",`,
	`"$schema":"https://json-schema.org/draft/2020-12/schema",`,
}

var formatTests = []struct {
	format    string
	good, bad []string
}{
	{"date-time", []string{"2024-02-29T23:59:60Z", "2024-01-02t03:04:05.678+08:00", "2024-01-02T03:04:05z"},
		[]string{"2023-02-29T00:00:00Z", "2024-01-02T03:04:05", "2024-01-02 03:04:05Z", "2024-01-02T24:00:00Z",
			"2024-01-02T03:04:05,5Z", "2024-01-02T03:04:05.Z", "2024-01-02T03:04:05+0800", "2024-01-02T03:04:05+24:00", "2024-01-02", "2024-01-02T", ""}},
	{"date", []string{"2024-02-29"}, []string{"2023-02-29", "2024-1-2", "01/02/2024", "2024-02-29Z", ""}},
	{"email", []string{"a@b.test", "a.b+c@x.example.org"}, []string{"a", "a@", "@b", "A <a@b.test>", "<a@b.test>", "a@b.test, c@d.test", " a@b.test", ""}},
	{"uri", []string{"https://a.test/x?y#z", "mailto:a@b.test", "urn:x:y", "https://例.test/中"}, []string{"a.test", "/x", "http://[::1", "http://a b/", ""}},
	{"uuid", []string{"123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-00000000000F"},
		[]string{"123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456-4266141740000", ""}},
	{"ipv4", []string{"192.0.2.1"}, []string{"192.0.2.01", "192.0.2", "256.0.0.1", "::1", ""}},
	{"ipv6", []string{"::1", "2001:db8::ffff:192.0.2.1"}, []string{"1.2.3.4", "fe80::1%eth0", "12345::", ""}},
	// case d10: names nobody defined, and names tools use loosely.
	{"google-datetime", []string{"yesterday", ""}, nil},
	{"uint", []string{"-1"}, nil},
	{"time", []string{"14:30"}, nil},
	{"hostname", []string{"my_service"}, nil},
	{"regex", []string{"(?=x)"}, nil},
	{"duration", []string{"5 minutes"}, nil},
	{"json-pointer", []string{"a~"}, nil},
}

// The library asserts other formats under other drafts; here they are the same.
func TestFormatsAreTheSameInEveryDraft(t *testing.T) {
	t.Parallel()
	for _, draft := range drafts {
		for _, tt := range formatTests {
			s := compile(t, fmt.Sprintf(`{%s"properties":{"v":{"format":%q},"n":{"type":"null"}}}`, draft, tt.format), schema.Strict)
			for _, v := range tt.good {
				assert.Empty(t, check(t, s, fmt.Sprintf(`{"v":%q}`, v)), "%s %s %q", draft, tt.format, v)
				assert.Equal(t, []string{"/n type"}, check(t, s, fmt.Sprintf(`{"v":%q,"n":0}`, v)), "%s %s %q, not on the fast path", draft, tt.format, v)
			}
			for _, v := range tt.bad {
				assert.Equal(t, []string{"/v format"}, check(t, s, fmt.Sprintf(`{"v":%q}`, v)), "%s %s %q", draft, tt.format, v)
			}
			assert.Empty(t, check(t, s, `{"v":5}`), "a format speaks about strings only")
		}
	}
}

// A subschema at an unusual place follows the same rule, however it is referred to.
func TestFormatsBehindReferencesAreTheSame(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"#/parts/v", "https://x.test/s#/parts/v", "s#/parts/v", "/s#/parts/v", "inner#/parts/v"} {
		for _, mode := range []schema.Mode{schema.Strict, schema.Lenient} {
			s := compile(t, `{"$id":"https://x.test/s","properties":{"v":{"$ref":"`+ref+`"}},"parts":{"v":{"format":"hostname","contentEncoding":"base64","type":"string"}},
				"$defs":{"i":{"$id":"inner","parts":{"v":{"format":"time","type":"string"}}}}}`, mode)
			assert.Empty(t, check(t, s, `{"v":"my_service"}`), ref)
			assert.Empty(t, s.NotEnforced(), ref)
			assert.Equal(t, []string{"/v type"}, check(t, s, `{"v":5}`), ref)
		}
	}
}

func TestContentKeywordsAreAnnotations(t *testing.T) {
	t.Parallel()
	for _, draft := range drafts {
		s := compile(t, `{`+draft+`"properties":{"v":{"contentEncoding":"base64","contentMediaType":"application/json","contentSchema":{"type":"array"}},"n":{"type":"null"}}}`, schema.Strict)
		for _, v := range []string{"%%%", "e30="} {
			assert.Empty(t, check(t, s, `{"v":"`+v+`"}`), draft)
			assert.Equal(t, []string{"/n type"}, check(t, s, `{"v":"`+v+`","n":0}`), draft)
		}
	}
}
