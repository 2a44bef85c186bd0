package clean

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

const (
	// minRun is the length from which a run of base64 or hex is replaced.
	minRun = 1024

	// minLine is the shortest line that wrapped base64 is made of.
	minLine = 40

	// sampleSize is how much of a run is looked at to see what it is.
	sampleSize = 4096
)

// runBytes make both alphabets of base64, hex, and line breaks of wrapped data.
var runBytes = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-=\n") {
		set[c] = true
	}
	return set
}()

// hasLongRun reports a run that may be encoded data, or JSON text that holds
// wrapped data with escaped line breaks. A run of minRun bytes covers one of
// every minRun positions, so most of the text is not looked at.
func hasLongRun(s string) bool {
	for at := minRun - 1; at < len(s); at += minRun {
		if start, end := runAround(s, at, 0, '\\'); end-start >= minRun {
			return true
		}
	}
	return false
}

// runAround returns the run around at, not reaching before from. also is one
// more byte it may contain.
func runAround(s string, at, from int, also byte) (start, end int) {
	start, end = at, at
	for start > from && (runBytes[s[start-1]] || s[start-1] == also) {
		start--
	}
	for end < len(s) && (runBytes[s[end]] || s[end] == also) {
		end++
	}
	return start, end
}

// replaceEncoded puts a marker in the place of each long run of base64 or hex,
// be it on one line or wrapped, and of the data URI around it. A marker has no
// character that JSON escapes, so it fits into a string of JSON text.
func replaceEncoded(s string, t *tally) string {
	var b strings.Builder
	kept := 0
	for at := minRun - 1; at < len(s); {
		start, end := runAround(s, at, kept, 0)
		if end-start >= minRun {
			kept = replaceRun(&b, s, kept, start, end, t)
		}
		at = max(end, at) + minRun
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// replaceRun writes s[kept:end] up to the last encoded block in s[start:end]
// and returns where that ends.
func replaceRun(b *strings.Builder, s string, kept, start, end int, t *tally) int {
	for i := start; i < end; {
		stop := blockEnd(s, i, end)
		name := encoding(s[i:stop])
		if stop-i < minRun || name == "" {
			i = lineEnd(s, i, end) + 1
			continue
		}
		from, media := dataURI(s, kept, i)
		if media == "" {
			media = sniffEncoded(name, s[i:stop])
		}
		b.WriteString(s[kept:from])
		b.WriteString(marker(name, media, stop-from, ""))
		t.add(Encoded, 1, stop-from, media)
		kept, i = stop, stop+1
	}
	return kept
}

// lineEnd returns the end of the line at i, at most end.
func lineEnd(s string, i, end int) int {
	if k := strings.IndexByte(s[i:end], '\n'); k >= 0 {
		return i + k
	}
	return end
}

// blockEnd returns the end of the block of lines at i: all as long as the
// first, the last one perhaps shorter.
func blockEnd(s string, i, end int) int {
	stop := lineEnd(s, i, end)
	width := stop - i
	if width < minLine {
		return stop
	}
	for stop < end {
		next := lineEnd(s, stop+1, end)
		if n := next - stop - 1; n == 0 || n > width {
			break
		} else if n < width {
			return next
		}
		stop = next
	}
	return stop
}

// encoding names what a run is made of, "" if it may well be text: a separator
// line, a long number, a sequence of bases.
func encoding(run string) string {
	var seen [256]bool
	distinct, beyondHex := 0, false
	for i := range min(len(run), sampleSize) {
		c := run[i]
		if !seen[c] && c != '\n' {
			seen[c] = true
			distinct++
			beyondHex = beyondHex || !isHex(c)
		}
	}
	lower, upper, digit := casesAndDigits(&seen)
	switch {
	case !beyondHex && digit && lower != upper && distinct >= 12:
		return "hex"
	case lower && upper && digit && distinct >= 24:
		return "base64"
	}
	return ""
}

// isHex reports a hexadecimal digit.
func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// casesAndDigits reports which of the three kinds of characters were seen.
func casesAndDigits(seen *[256]bool) (lower, upper, digit bool) {
	for c := range seen {
		lower = lower || seen[c] && c >= 'a' && c <= 'z'
		upper = upper || seen[c] && c >= 'A' && c <= 'Z'
		digit = digit || seen[c] && c >= '0' && c <= '9'
	}
	return lower, upper, digit
}

// maxMedia bounds the head of a data URI.
const maxMedia = 128

// dataURI returns where the data URI around a run at i starts, and its media
// type; i itself if there is none.
func dataURI(s string, kept, i int) (start int, media string) {
	const tail, head = ";base64,", "data:"
	before := s[max(kept, i-maxMedia):i]
	k := strings.LastIndex(before, head)
	if k < 0 || !strings.HasSuffix(before, tail) {
		return i, ""
	}
	media, _, _ = strings.Cut(before[k+len(head):], ";")
	if !isMedia(media) {
		return i, ""
	}
	return i - len(before) + k, media
}

// isMedia keeps anything but a media type out of the marker.
func isMedia(s string) bool {
	slash := strings.IndexByte(s, '/')
	return slash > 0 && len(s) <= 80 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/.+-") == ""
}

// sniffEncoded returns the media type of what a run decodes to.
func sniffEncoded(name, run string) string {
	head := strings.ReplaceAll(run[:min(len(run), 160)], "\n", "")
	head = head[:len(head)/4*4]
	var data []byte
	if name == "hex" {
		data, _ = hex.DecodeString(head)
	} else {
		data, _ = base64.StdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(head))
	}
	return sniff(string(data))
}
