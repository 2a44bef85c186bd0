package retryafter

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 500, time.UTC)

// cases g01, g02, g04, g05
func TestParseValue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		value string
		want  time.Duration
		ok    bool
	}{
		"seconds":            {"120", 2 * time.Minute, true},
		"zero":               {"0", 0, true},
		"surrounding space":  {" 30\t", 30 * time.Second, true},
		"fraction":           {"1.5", 1500 * time.Millisecond, true},
		"trailing point":     {"2.", 2 * time.Second, true},
		"rounded up":         {"0.0000000001", 1, true},
		"sixteen days":       {"1382400", 16 * 24 * time.Hour, true},
		"more than int64":    {"99999999999999999999", Max, true},
		"more than float64":  {strings.Repeat("9", 400), Max, true},
		"IMF date":           {"Sun, 01 Mar 2026 12:00:10 GMT", 10*time.Second - 500, true},
		"RFC 850 date":       {"Sunday, 01-Mar-26 12:00:10 GMT", 10*time.Second - 500, true},
		"asctime date":       {"Sun Mar  1 12:00:10 2026", 10*time.Second - 500, true},
		"date in the past":   {"Wed, 21 Oct 2015 07:28:00 GMT", 0, true},
		"date far away":      {"Fri, 31 Dec 9999 23:59:59 GMT", Max, true},
		"negative":           {"-1", 0, false},
		"negative fraction":  {"-0.5", 0, false},
		"signed":             {"+5", 0, false},
		"exponent":           {"1e3", 0, false},
		"hexadecimal":        {"0x10", 0, false},
		"infinite":           {"inf", 0, false},
		"not a number":       {"nan", 0, false},
		"two points":         {"1.2.3", 0, false},
		"only a point":       {".", 0, false},
		"leading point":      {".5", 0, false},
		"unit":               {"30s", 0, false},
		"list":               {"1, 2", 0, false},
		"empty":              {"", 0, false},
		"blank":              {"  ", 0, false},
		"words":              {"soon", 0, false},
		"date without zone":  {"2026-03-01T12:00:10Z", 0, false},
		"fullwidth numerals": {"３０", 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := ParseValue(tt.value, now)
			assert.Equal(t, tt.ok, ok)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestParseHeaders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header http.Header
		want   time.Duration
		ok     bool
	}{
		"none":                       {http.Header{}, 0, false},
		"nil":                        {nil, 0, false},
		"seconds":                    {http.Header{"Retry-After": {"7"}}, 7 * time.Second, true},
		"milliseconds":               {http.Header{"Retry-After-Ms": {" 1250 "}}, 1250 * time.Millisecond, true},
		"milliseconds, other name":   {http.Header{"X-Ms-Retry-After-Ms": {"40"}}, 40 * time.Millisecond, true},
		"milliseconds win":           {http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"1200"}}, 1200 * time.Millisecond, true},
		"garbled milliseconds":       {http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"x"}}, 2 * time.Second, true},
		"negative milliseconds":      {http.Header{"Retry-After-Ms": {"-3"}}, 0, false},
		"huge milliseconds":          {http.Header{"Retry-After-Ms": {"1" + strings.Repeat("0", 30)}}, Max, true},
		"longest of several":         {http.Header{"Retry-After": {"2", "nonsense", "9", "3"}}, 9 * time.Second, true},
		"reset headers are not read": {http.Header{"Ratelimit-Reset": {"30"}, "X-Ratelimit-Reset": {"1772366400"}}, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := Parse(tt.header, now)
			assert.Equal(t, tt.ok, ok)
			assert.Equal(t, tt.want, got)
		})
	}
}

func FuzzParseValue(f *testing.F) {
	for _, seed := range []string{"1", "1.5", "-1", "99999999999999999999", "Wed, 21 Oct 2015 07:28:00 GMT", " 30 ", "1e9", "０"} {
		f.Add(seed, int64(0))
	}
	f.Add("Sunday, 01-Mar-26 12:00:10 GMT", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, value string, unix int64) {
		d, ok := ParseValue(value, time.Unix(unix, 0))
		assert.True(t, d >= 0 && d <= Max, "%q gave %v", value, d)
		assert.False(t, !ok && d != 0, "%q is not understood but gave %v", value, d)
		assert.False(t, ok && strings.HasPrefix(strings.TrimSpace(value), "-"), "%q is negative", value)
	})
}
