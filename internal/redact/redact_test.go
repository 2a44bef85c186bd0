package redact

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEmailsAreOptional(t *testing.T) {
	t.Parallel()
	const text = "write to jo.do+x@mail.example.com. Or @jo, a@b"
	assert.Equal(t, text, New(Options{}).Redact(text))
	assert.Equal(t, "write to [redacted:email]. Or @jo, a@b", New(Options{Emails: true}).Redact(text))
}

func TestHostsAddsDomains(t *testing.T) {
	t.Parallel()
	const text = "db.corp.example.com:5432 and CORP.example.com, not corp.example.community or xcorp.example.com"
	assert.Equal(t, text, New(Options{Hosts: []string{""}}).Redact(text))
	assert.Equal(t, "[redacted:host] and [redacted:host], not corp.example.community or xcorp.example.com",
		New(Options{Hosts: []string{"Corp.Example.com", ""}}).Redact(text))
}

// case l04: a secret that arrived in two chunks is whole again in the buffer.
func TestSecretInTwoChunks(t *testing.T) {
	t.Parallel()
	chunks := []string{"the key is xoxb-FAKE", "fake1234 as said"}
	assert.Equal(t, "the key is [redacted:token] as said", New(Options{}).Redact(strings.Join(chunks, "")))
}

func TestRedactIsConcurrent(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			assert.Equal(t, "password=[redacted:secret]", r.Redact("password=hunter2"))
		})
	}
	wg.Wait()
}

func TestZeroRedactorHasNoRules(t *testing.T) {
	t.Parallel()
	var r Redactor
	assert.Equal(t, "password=hunter2", r.Redact("password=hunter2"))
}

// cleanText is what the budgets below are about: 300 bytes with the
// punctuation that makes rules look twice.
const cleanText = "The order 550e8400-e29b-41d4-a716-446655440000 could not be shipped: the address is incomplete (street " +
	"missing), so please ask the customer for it. Price: $12.50, version 2.4.1, since 2026-05-01T12:30:00Z; see " +
	"https://docs.example.com/orders#address for the fields that are needed and how to send them again. Thank you."

func TestCleanTextDoesNotAllocate(t *testing.T) {
	r := New(Options{Emails: true})
	require.Equal(t, cleanText, r.Redact(cleanText))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { r.Redact(cleanText) }))
}

func TestOverlapsTakeTheGraverMarker(t *testing.T) {
	t.Parallel()
	got := merge("some text long enough for it", []span{{5, 9, path}, {0, 6, secret}, {9, 12, host}, {20, 30, address}, {22, 25, stackTrace}})
	assert.Equal(t, []span{{0, 9, secret}, {9, 12, host}, {20, 30, stackTrace}}, got)
}

// A span that ends inside an escape, or inside what two escapes make, takes
// all of it.
func TestViewLeadsBack(t *testing.T) {
	t.Parallel()
	v := view{text: `a\u4e16%2Fb\\u0022c`}
	require.True(t, v.decode())
	require.Equal(t, `a世/b\u0022c`, v.text)
	found := []span{{0, 1, path}, {1, 2, path}, {4, 6, path}}
	v.translate(found)
	assert.Equal(t, []span{{0, 1, path}, {1, 7, path}, {7, 11, path}}, found)
	require.True(t, v.decode())
	require.Equal(t, `a世/b"c`, v.text)
	found = []span{{6, 7, path}}
	v.translate(found)
	assert.Equal(t, []span{{11, 18, path}}, found)
	assert.False(t, v.decode())
}

// Where a text is shown, colours, zero-width characters and NUL are gone, and a
// secret that they cut into pieces is whole again.
func TestWhatIsNotSeenHidesNothing(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	for text, want := range map[string]string{
		"\x1b[36mpassword\x1b[0m=\x1b[1;32mhunter2\x1b[0m, again":         "\x1b[36mpassword\x1b[0m=\x1b[1;32m[redacted:secret], again",
		"pass\u009b0mword=hunter2":                                        "pass\u009b0mword=[redacted:secret]",
		"pass\x1b[0mword=hunter2 \u009b31mok":                             "pass\x1b[0mword=[redacted:secret] \u009b31mok",
		"postgres:\u200b//svc:hunter2@db-7/x":                             "[redacted:dsn]",
		"ghp_FAKEfakeFAKE\x00fakeFAKEfakeFAKEfakeFAKE1234":                "[redacted:token]",
		"ghp_FAKEfakeFAKE\u202efakeFAKEfakeFAKEfakeFAKE1234":              "[redacted:token]",
		"pass\u00adword: hunter2":                                         "pass\u00adword: [redacted:secret]",
		"10.0.\x7f0.5 and /etc/\ufeffpasswd.conf":                         "[redacted:ip] and [redacted:path]",
		`{"a":"pass\u200bword=hunter2","b":"\u001b[1mbold\u001b[0m"}`:     `{"a":"pass\u200bword=[redacted:secret]","b":"\u001b[1mbold\u001b[0m"}`,
		"\x1b]8;;https://svc:hunter2@x.test/\x1b\\click\x1b]8;;\x1b\\":    "\x1b]8;;[redacted:dsn]\x1b\\click\x1b]8;;\x1b\\",
		"\x1b]8;;https://svc:hunter2@x.test/\aclick\x1b]8;;\a":            "\x1b]8;;[redacted:dsn]\aclick\x1b]8;;\a",
		"\u202eturned\u202c می\u200cخواهم “q” é \x1b[1mbold\x1b[0m \x1b[": "\u202eturned\u202c می\u200cخواهم “q” é \x1b[1mbold\x1b[0m \x1b[",
	} {
		got := r.Redact(text)
		assert.Equal(t, want, got)
		assert.Equal(t, got, r.Redact(got), "not stable")
	}
}

// fragments recombine into texts in which rules meet.
var fragments = []string{
	"password", "=", ": ", "\"", "\\\"", "'", " ", "\n", "\\n", "%3D", "%2F", "/", "/etc/passwd", "\\", "C:\\x\\y", "://", "https",
	"postgres://u:p@h/d", "sk-", "FAKE1234fake5678FAKE90", "token", "ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake1234", "Bearer ",
	"10.0.0.5", ":5432", "::1", "db.internal", "lookup ", "dial tcp ", "SELECT ", "* ", "FROM t", " where a = 1", ";", "at ", "a.b(C.java:1)",
	"Traceback (most recent call last):", "goroutine 1 [running]:", "\n\t/a/b.go:1 +0x1", "-----BEGIN PRIVATE KEY-----", "-----END ",
	"[redacted:token]", "[redacted", "]", "***", "é", "密码", "：", "\xff", "eyJhbGciOi", ".", ",", "@", "tcp(", "host=a ", "user=b ", "dbname=c",
	"Cookie: ", "a=b", "<", ">", "--", "{", "}", "&", "?", "sig=1", "\\u0022", "…", "\x1b[0m", "\u200b", "\x00", "\x1b]", "\a", "\u009b", "#0 ", "0", "x",
}

func drawText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 24).Draw(t, "parts"), "")
}

func checkRedacted(t require.TestingT, r *Redactor, text string) {
	got := r.Redact(text)
	require.Equal(t, got, r.Redact(got), "not stable")
	if utf8.ValidString(text) {
		require.True(t, utf8.ValidString(got))
	}
}

func TestRedactIsStable(t *testing.T) {
	t.Parallel()
	r := New(Options{Emails: true, Hosts: []string{"example.com"}})
	rapid.Check(t, func(t *rapid.T) { checkRedacted(t, r, drawText(t)) })
}

// A secret between any two pieces of text does not survive.
func TestTokenNeverSurvives(t *testing.T) {
	t.Parallel()
	const planted = "glpat-PLANTEDplanted123456"
	r := New(Options{})
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t) + " " + planted + " " + drawText(t)
		require.NotContains(t, r.Redact(text), "PLANTEDplanted")
	})
}

func FuzzRedact(f *testing.F) {
	r := New(Options{Emails: true, Hosts: []string{"example.com"}})
	for _, file := range []string{"findings.txt", "ordinary.txt"} {
		for _, c := range loadCorpus(f, file) {
			f.Add(c.text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkRedacted(t, r, text)
		out, _ := r.Cut(text, 40)
		require.LessOrEqual(t, utf8.RuneCountInString(out), 40)
		require.Equal(t, out, r.Redact(out))
	})
}

// hostile are pieces that make rules start and fail as often as possible.
var hostile = []string{
	"password:", "token:token\"", "authorization:", "cookie:", "a=", "://", "http://", "/", "/a", "\\", "\\\\a\\", "C:\\", "sk-", "eyJ", "SELECT ", "select a,",
	"UPDATE a SET ", "FROM", "at a(", "at a.b ", "\n\t/", "goroutine 1 [", "File \"", "#1 /", ".rb:1:in '", "... 1 more", "10.0.0.", "::", "1:", "a.local.",
	"-----BEGIN PRIVATE KEY", "%25", "\\u0022", "--password ", "Bearer ", "@tcp(", "host=a user=b ", "lookup a", "[redacted:token]", "é", ":AA", "~/", "ip-1-", "localhost:",
	"password=\"", "token=\"a", "'", "x=[", "密码：", "\x1b[", "\u200b", "\nat a.b(", "a.ex:1: ", "a/b@c:1:", "'WHERE a = '",
}

func BenchmarkRedact(b *testing.B) {
	r := New(Options{Emails: true})
	bench := func(name, text string) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.Redact(text)
			}
		})
	}
	bench("clean300", cleanText)
	bench("clean64k", strings.Repeat(cleanText, 64<<10/len(cleanText)))
	bench("dirty300", `Get "https://a.test/x?api_key=K1": dial tcp 10.0.0.5:443: open /etc/ssl/ca.pem: password=hunter2 `+cleanText[:200])
	for _, h := range hostile {
		bench("hostile64k/"+strings.NewReplacer("/", "_", "\\", "_").Replace(h), strings.Repeat(h, 64<<10/len(h)))
	}
}
