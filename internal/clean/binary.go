package clean

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// signatures are the first bytes of common binary formats.
var signatures = []struct{ magic, media string }{
	{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF8", "image/gif"},
	{"%PDF-", "application/pdf"}, {"PK\x03\x04", "application/zip"}, {"\x1f\x8b", "application/gzip"},
	{"BM", "image/bmp"}, {"II*\x00", "image/tiff"}, {"MM\x00*", "image/tiff"}, {"OggS", "audio/ogg"},
	{"ID3", "audio/mpeg"}, {"\xff\xfb", "audio/mpeg"}, {"fLaC", "audio/flac"}, {"wOF2", "font/woff2"},
	{"\x7fELF", "application/x-elf"}, {"MZ", "application/x-msdownload"}, {"SQLite format 3\x00", "application/vnd.sqlite3"},
	{"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"}, {"\x28\xb5\x2f\xfd", "application/zstd"},
	{"\x00asm", "application/wasm"}, {"\x1aE\xdf\xa3", "video/webm"}, {"\x00\x00\x01\x00", "image/x-icon"},
}

// sniff returns the media type of data by its first bytes, "" if unknown.
func sniff(data string) string {
	if len(data) >= 12 && data[:4] == "RIFF" {
		return map[string]string{"WEBP": "image/webp", "WAVE": "audio/wav", "AVI ": "video/x-msvideo"}[data[8:12]]
	}
	if len(data) >= 12 && data[4:8] == "ftyp" {
		return "video/mp4"
	}
	for _, s := range signatures {
		if strings.HasPrefix(data, s.magic) {
			return s.media
		}
	}
	return ""
}

const (
	// binarySample is how much of a text is looked at.
	binarySample = 64 << 10

	// fewBad bytes are damage or noise in a text, whatever their share.
	fewBad = 32

	// fewSigned are so in a text that begins like a binary file, as a
	// sentence about BM or MZ does.
	fewSigned = 8
)

// isBinary reports that a tenth of s or more is neither UTF-8 nor text, or that
// it starts like a binary file and holds more than a few such bytes.
func isBinary(s string) bool {
	s = s[:min(len(s), binarySample)]
	bad := badBytes(s)
	return bad >= fewBad && bad*10 >= len(s) || bad >= fewSigned && sniff(s) != ""
}

// badBytes counts bytes that no text has. The last few are left out: the
// sample may end within a character.
func badBytes(s string) (bad int) {
	for i := 0; i+utf8.UTFMax <= len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' && strings.IndexByte("\t\n\v\f\r\b\x1b", c) < 0 {
				bad++
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		i += n
	}
	return bad
}

// describe returns a marker for all of s. The digest tells two such results
// apart, and the same one twice.
func describe(s string, t *tally) string {
	media, sum := sniff(s), sha256.Sum256([]byte(s))
	t.add(Binary, 1, len(s), media)
	return marker("binary", media, len(s), "sha256 "+hex.EncodeToString(sum[:6]))
}
