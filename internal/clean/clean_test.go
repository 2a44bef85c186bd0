package clean

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want string
		notes            []Note
	}{
		{"clean", "a\tb\nc é 世界 “x” — 👍🏽", "a\tb\nc é 世界 “x” — 👍🏽", nil},
		{"empty", "", "", nil},
		// case k02
		{"nul", "abc\x00def", "abcdef", []Note{{Controls, 1, 1, ""}}},
		// case k03
		{"invalid utf-8", "a\xffb\xc3(", "a\uFFFDb\uFFFD(", []Note{{Invalid, 2, 2, ""}}},
		{"run of invalid bytes", "a\xff\xfe\xfdb", "a\uFFFDb", []Note{{Invalid, 1, 3, ""}}},
		// case k07
		{"colour and progress", "\x1b[31mFAIL\x1b[0m 10%\r20%\r100%\n", "100%\n",
			[]Note{{Escapes, 2, 9, ""}, {Overwritten, 2, 11, ""}}},
		{"windows lines", "a\r\nb\r\r\nc", "a\nb\nc", nil},
		{"return at the end loses nothing", "a\n100%\r", "a\n100%", nil},
		{"erase line", "10%\x1b[2K20%\x1b[1G30%", "30%", []Note{{Escapes, 2, 8, ""}, {Overwritten, 2, 6, ""}}},
		{"overstrike", "b\bbo\bold _\bx", "bold x", []Note{{Overwritten, 3, 3, ""}}},
		{"backspace stops at the line", "a\n\b\bb", "a\nb", nil},
		{"backspace takes a character", "é\bx", "x", []Note{{Overwritten, 1, 2, ""}}},
		{"link", "see \x1b]8;;https://a.test/\x1b\\here\x1b]8;;\x07.", "see here.", []Note{{Escapes, 2, 28, ""}}},
		{"title and device string", "\x1b]0;evil\x07a\x1bPq#0;1\x1b\\b", "ab", []Note{{Escapes, 2, 18, ""}}},
		{"unfinished title keeps its text", "\x1b]0;important\nnext", "0;important\nnext", []Note{{Escapes, 1, 2, ""}}},
		{"unfinished sequence", "a\x1b[31", "a", []Note{{Escapes, 1, 4, ""}}},
		{"charset and keypad", "\x1b(Ba\x1b=b\x1bcd\x1b", "abd", []Note{{Escapes, 4, 8, ""}}},
		{"eight-bit sequence", "\u009b31mred\u009d0;t\u009cx", "redx", []Note{{Escapes, 2, 12, ""}}},
		{"unfinished at the end", "\x1b]0;tail", "0;tail", []Note{{Escapes, 1, 2, ""}}},
		{"return on an empty line", "\rabc\n\rd", "abc\nd", nil},
		{"backspace at the start of the line", "ab\r\bcd", "cd", []Note{{Overwritten, 1, 2, ""}}},
		{"next line and form feed", "a\u0085b\fc\vd", "a\nb\nc\nd", nil},
		{"other controls", "a\x07b\x7fc\u0086d", "abcd", []Note{{Controls, 3, 4, ""}}},
		{"mark at the start", "\ufeffa", "a", []Note{{Invisible, 1, 3, ""}}},
		{"direction", "a\u202eb\u2066c\u200f", "abc", []Note{{Invisible, 3, 9, ""}}},
		{"zero width", "pass\u200bword\u00ad\u2060", "password", []Note{{Invisible, 3, 8, ""}}},
		{"tags", "hi\U000E0069\U000E0067", "hi", []Note{{Invisible, 2, 8, ""}}},
		{"joined emoji", "👩\u200d🚀 ❤\ufe0f\u200d🔥 👩🏽\u200d🚀", "👩\u200d🚀 ❤\ufe0f\u200d🔥 👩🏽\u200d🚀", nil},
		{"joiner between words", "a\u200db 👩\u200d x", "ab 👩 x", []Note{{Invisible, 2, 6, ""}}},
		{"persian and hindi", "می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष", nil},
		{"smuggled selectors", "x\ufe01\ufe02\U000E0101\U000E0102", "x\ufe01", []Note{{Invisible, 3, 11, ""}}},
		{"all together, once", "\x1b[1ma\x00\x1b[0m\x00", "a", []Note{{Escapes, 2, 8, ""}, {Controls, 2, 2, ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, notes := Text(c.text, Options{})
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.notes, notes)
			checkText(t, c.text, Options{})
		})
	}
}

// randomBytes is the same noise each time.
func randomBytes(n int) string {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

func TestBinary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, media, want string }{
		// case k06
		{"pdf", "%PDF-1.7\n" + randomBytes(12_000), "application/pdf", "[binary application/pdf 12 kB sha256 "},
		{"png", "\x89PNG\r\n\x1a\n" + randomBytes(500), "image/png", "[binary image/png 508 bytes sha256 "},
		{"unknown", randomBytes(3_000_000), "", "[binary 3 MB sha256 "},
		{"utf-16", strings.Repeat("a\x00", 100), "", "[binary 200 bytes sha256 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, notes := Text(c.data, Options{})
			assert.True(t, strings.HasPrefix(got, c.want), got)
			assert.Less(t, len(got), 80)
			assert.Equal(t, []Note{{Binary, 1, len(c.data), c.media}}, notes)
		})
	}
}

func TestSomeNoiseIsNotBinary(t *testing.T) {
	t.Parallel()
	got, notes := Text(strings.Repeat("words and more words ", 30)+strings.Repeat("\x00", 40), Options{})
	assert.Equal(t, strings.Repeat("words and more words ", 30), got)
	assert.Equal(t, []Note{{Controls, 40, 40, ""}}, notes)
	assert.NotContains(t, first(Text("BM is a name, MZ another: \xff, and more text", Options{})), "binary")
}

func first(s string, _ []Note) string { return s }

var (
	png    = "\x89PNG\r\n\x1a\n" + randomBytes(4000)
	png64  = base64.StdEncoding.EncodeToString([]byte(png))
	pngURL = base64.URLEncoding.EncodeToString([]byte(png))
)

func wrap(s string, width int) string {
	var lines []string
	for len(s) > width {
		lines, s = append(lines, s[:width]), s[width:]
	}
	return strings.Join(append(lines, s), "\n")
}

func TestEncoded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want string
		notes            []Note
	}{
		// case k05
		{"in json text", `{"data":"` + png64 + `","note":"ok"}`, `{"data":"[base64 image/png 5 kB omitted]","note":"ok"}`,
			[]Note{{Encoded, 1, len(png64), "image/png"}}},
		{"url alphabet", "x " + pngURL + " y", "x [base64 image/png 5 kB omitted] y", []Note{{Encoded, 1, len(pngURL), "image/png"}}},
		{"data uri", "![](data:image/svg+xml;base64," + png64 + ")", "![]([base64 image/svg+xml 5 kB omitted])",
			[]Note{{Encoded, 1, len(png64) + 26, "image/svg+xml"}}},
		{"odd media type", "data:<b>;base64," + png64, "data:<b>;base64,[base64 image/png 5 kB omitted]",
			[]Note{{Encoded, 1, len(png64), "image/png"}}},
		{"no data uri", "data:text/html;charset=utf8 " + png64, "data:text/html;charset=utf8 [base64 image/png 5 kB omitted]",
			[]Note{{Encoded, 1, len(png64), "image/png"}}},
		{"two media types", png64 + " data:audio/ogg;base64," + png64, "[base64 image/png 5 kB omitted] [base64 audio/ogg 5 kB omitted]",
			[]Note{{Encoded, 1, len(png64), "image/png"}, {Encoded, 1, len(png64) + 22, "audio/ogg"}}},
		{"wrapped", "begin\n" + wrap(png64, 76) + "\nend", "begin\n[base64 image/png 5 kB omitted]\nend",
			[]Note{{Encoded, 1, len(wrap(png64, 76)), "image/png"}}},
		{"wrapped with windows lines", strings.ReplaceAll(wrap(png64, 76), "\n", "\r\n") + "\r\n", "[base64 image/png 5 kB omitted]\n",
			[]Note{{Encoded, 1, len(wrap(png64, 76)), "image/png"}}},
		{"hex", hex.EncodeToString([]byte(png)), "[hex image/png 8 kB omitted]", []Note{{Encoded, 1, 8016, "image/png"}}},
		{"unknown content", base64.StdEncoding.EncodeToString([]byte(randomBytes(999_999))), "[base64 1 MB omitted]",
			[]Note{{Encoded, 1, 1333332, ""}}},
		{"two of a kind", png64 + " " + png64, "[base64 image/png 5 kB omitted] [base64 image/png 5 kB omitted]",
			[]Note{{Encoded, 2, 2 * len(png64), "image/png"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, notes := Text(c.text, Options{MaxBytes: 2 << 20})
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.notes, notes)
			checkText(t, c.text, Options{})
		})
	}
}

func TestLongTextIsNotEncoded(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("apple\nBanana7\npear\n", 200)
	for name, text := range map[string]string{
		"line":    strings.Repeat("=", 3000),
		"number":  strings.Repeat("31415926535", 300),
		"bases":   strings.Repeat("ACGT", 1000),
		"words":   words,
		"short":   png64[:1023],
		"paths":   strings.Repeat("/usr/share/Doc1/x.txt\n", 200),
		"escapes": strings.Repeat(`a\nb`, 1000),
		"few":     strings.Repeat("Ab1", 1000),
		"letters": strings.Repeat("ABCDEFabcdef", 100),
		"columns": strings.Repeat(strings.Repeat("a", 50)+"\n", 100),
	} {
		got, notes := Text(text, Options{})
		assert.Equal(t, text, got, name)
		assert.Empty(t, notes, name)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 10_000)
	got, notes := Text(text, Options{MaxBytes: 1000})
	assert.LessOrEqual(t, len(got), 1000)
	assert.Greater(t, len(got), 980)
	head, rest, ok := strings.Cut(got, "\n[... ")
	require.True(t, ok)
	_, tail, _ := strings.Cut(rest, " bytes omitted ...]\n")
	assert.True(t, strings.HasPrefix(text, head))
	assert.True(t, strings.HasSuffix(text, tail))
	assert.InDelta(t, 2, float64(len(head))/float64(len(tail)), 0.05)
	assert.Equal(t, []Note{{Cut, 1, len(text) - len(head) - len(tail), ""}}, notes)
}

// The cut shortens a line, which makes one block of it and the lines before.
func TestCutLaysBareWrappedData(t *testing.T) {
	t.Parallel()
	text := wrap(png64[:76*13], 76) + "\n" + png64[:200] + " " + strings.Repeat("word ", 600)
	_, notes := Text(text, Options{MaxBytes: 1900})
	assert.False(t, Has(notes, Encoded), "the cut falls behind the line")
	got, notes := Text(text, Options{MaxBytes: 1610})
	assert.True(t, Has(notes, Encoded), got)
	checkText(t, text, Options{MaxBytes: 1610})
}

func TestCutOnCharacters(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"世", "👩\u200d🚀", "é", "❤\ufe0f", "क्\u200dष"} {
		for limit := 100; limit < 140; limit++ {
			got, _ := Text(strings.Repeat(unit, 100), Options{MaxBytes: limit})
			assert.NotContains(t, got, "\uFFFD")
			checkText(t, strings.Repeat(unit, 100), Options{MaxBytes: limit})
		}
	}
}

func TestMaxBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some words ", 10_000)
	for max, want := range map[int]int{0: DefaultMaxBytes, -5: DefaultMaxBytes, 1: smallestMax, 500: 500} {
		got, _ := Text(long, Options{MaxBytes: max})
		assert.LessOrEqual(t, len(got), want)
		assert.Greater(t, len(got), want-30)
	}
	whole := strings.Repeat("w ", DefaultMaxBytes/2)
	assert.Equal(t, whole, first(Text(whole, Options{})))
}

func TestCleanTextDoesNotAllocate(t *testing.T) {
	for _, text := range []string{english, chinese} {
		assert.Zero(t, testing.AllocsPerRun(1000, func() { Text(text, Options{}) }))
	}
}

func TestKindString(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "escapes", Escapes.String())
	assert.Equal(t, "cut", Cut.String())
	assert.Equal(t, "clean.Kind(0)", Kind(0).String())
	assert.Equal(t, "clean.Kind(99)", Kind(99).String())
}

// The word-wise check agrees with the plain one on every byte and neighbour.
func TestPrintable8(t *testing.T) {
	t.Parallel()
	for a := range 256 {
		for b := range 256 {
			s := string([]byte{'x', byte(a), byte(b), 'x', 'x', 'x', 'x', byte(a)})
			want := true
			for _, c := range []byte(s) {
				want = want && c >= ' ' && c < 0x7f
			}
			require.Equal(t, want, printable8(load8(s, 0)), "%x %x", a, b)
		}
	}
}

func checkText(t require.TestingT, text string, opts Options) {
	got, notes := Text(text, opts)
	require.True(t, utf8.ValidString(got), "%q", got)
	require.LessOrEqual(t, len(got), opts.maxBytes())
	for _, r := range got {
		require.True(t, r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && !isC1(r), "%q in %q", r, got)
		require.NotEqual(t, hidden, class(r), "%q", r)
	}
	again, more := Text(got, opts)
	require.Equal(t, got, again, "not stable")
	require.Empty(t, more)
	if got == text {
		require.Empty(t, notes)
	}
}

var pieces = []string{
	"a", "word ", "\n", "\r", "\r\n", "\t", "\b", "\x00", "\x1b[31m", "\x1b[2K", "\x1b[1G", "\x1b]8;;u\x1b\\", "\x1b]", "\x1bP", "\x07", "\x1b",
	"\u009b", "\u009c", "\u0085", "\xff", "\xc3", "é", "世界", "👩", "\u200d", "\ufe0f", "🚀", "\u200b", "\u202e", "\ufeff", "م", "क्",
	png64[:1500], wrap(png64[:1200], 76), png64[:76] + "\n", "data:image/png;base64,", strings.Repeat("=", 1100), "[... 3 bytes omitted ...]", `\n`, `"`,
	randomBytes(60), strings.Repeat("long enough ", 20), "\U000E0041", "\f", "x\b\b", "f00dcafe",
}

func drawText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "")
}

func TestTextProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkText(t, drawText(t), Options{MaxBytes: rapid.IntRange(0, 4000).Draw(t, "max")})
	})
}

func FuzzText(f *testing.F) {
	for _, p := range pieces {
		f.Add(p+p, 200)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) { checkText(t, text, Options{MaxBytes: limit}) })
}

var (
	english = strings.Repeat("The order was shipped on Monday, and the customer was told about it by mail.\n", 800)
	chinese = strings.Repeat("订单已经发货，客户已收到邮件通知。“谢谢” — 2026年\n", 800)
)

func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"english": english, "chinese": chinese, "json": strings.Repeat(`{"id":42,"name":"Widget","ok":true},`, 1700),
		"colour": strings.Repeat("\x1b[32mok\x1b[0m  some/test/name\n", 1500),
		"base64": strings.Repeat(png64+" ", 12),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Text(text, Options{})
			}
		})
	}
}
