package redact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// roots are the first segments under which a path is a file's, whatever
// surrounds it.
var roots = []string{
	"app", "bin", "boot", "builds", "code", "data", "dev", "etc", "go", "home", "lib", "lib64",
	"media", "mnt", "nix", "opt", "private", "proc", "project", "root", "run", "sbin", "snap",
	"src", "srv", "sys", "tmp", "usr", "var", "workdir", "workspace", "workspaces",
	"Applications", "Library", "System", "Users", "Volumes",
}

// routes are words before a path that belongs to a URL: GET /v1/charges.
var routes = []string{
	"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
	"get", "post", "put", "patch", "delete", "endpoint", "route", "url", "uri", "URL", "URI",
}

// pathRules find absolute paths of files: Unix, home, drive and network share.
var pathRules = []rule{
	{pathFamily, "/", anywhere, true, readUnixPath},
	{pathFamily, "~", anywhere, true, pathReader(homePath)},
	{pathFamily, `\\`, anywhere, true, pathReader(sharePath)},
	{pathFamily, ":", anywhere, true, readDrivePath},
}

// pathReader makes a rule's reader of a function that finds a path's end.
func pathReader(end func(text string, i int) int) func(string, int) span {
	return func(text string, i int) span {
		if e := end(text, i); e > 0 {
			return span{i, e, path}
		}
		return span{}
	}
}

// readUnixPath passes over URLs: what follows their host is no file.
func readUnixPath(text string, i int) span {
	if end := skipURL(text, i); end > 0 {
		return span{end, end, 0}
	}
	return pathReader(unixPath)(text, i)
}

// readDrivePath starts from the colon: letters are too many to look at.
func readDrivePath(text string, colon int) span {
	if end := drivePath(text, colon); end > 0 {
		return span{colon - 1, end, path}
	}
	return span{}
}

// skipURL returns the end of the URL whose "//" stands at i, or 0.
func skipURL(text string, i int) int {
	if i < 2 || text[i-1] != ':' || !alnum.has(text[i-2]) || !strings.HasPrefix(text[i:], "//") {
		return 0
	}
	return urlWord.run(text, i, unlimited)
}

// unixPath returns the end of the file path at i, or 0. It takes two segments,
// a well-known root or a file's extension to make one.
func unixPath(text string, i int) int {
	name := segmentEnd(text, i+1)
	if name == i+1 {
		return 0
	}
	first := text[i+1 : name]
	rooted := slices.Contains(roots, first)
	if !startsPath(text, i, rooted) || !rooted && followsRoute(text, i) {
		return 0
	}
	end, segments := segmentsEnd(text, i)
	end = trimSentence(text, end)
	switch {
	case rooted && segments > 1, !rooted && segments > 1 && !isRoute(first) && hasLetter(text[i:end]):
	case segments == 1 && hasExtension(text[i:end]):
	case segments == 1 && (first == "root" || first == "etc"):
	default:
		return 0
	}
	return positionEnd(text, spacedEnd(text, i, end, '/'))
}

// segmentsEnd reads /segment/segment from i.
func segmentsEnd(text string, i int) (end, segments int) {
	for i < len(text) && text[i] == '/' {
		next := segmentEnd(text, i+1)
		if next > i+1 {
			segments++
		}
		i = next
	}
	return i, segments
}

// segmentBytes may stand in a segment of a Unix path.
var segmentBytes = alnum.union("_.-+@%~#$*=")

// segmentEnd returns the end of the segment at i. A space belongs to it only
// behind a backslash, as shells write it.
func segmentEnd(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case segmentBytes.has(c):
			i++
		case c == '\\' && strings.HasPrefix(text[i:], `\ `):
			i += 2
		case c >= utf8.RuneSelf:
			next := foreignEnd(text, i)
			if next == i {
				return i
			}
			i = next
		default:
			return i
		}
	}
	return i
}

// foreignEnd returns the end of the letters beyond ASCII at i if they are part
// of a path: in 用户 of /home/用户/x they are, in /etc/hosts不存在 they are prose.
func foreignEnd(text string, i int) int {
	end := i
	for end < len(text) && text[end] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			break
		}
		end += size
	}
	opens := text[i-1] == '/' || text[i-1] == '-' || text[i-1] == '_'
	if opens || end < len(text) && (text[end] == '/' || text[end] == '.' && endsWithName(text, end)) {
		return end
	}
	return i
}

// endsWithName reports that the dot is not the sentence's.
func endsWithName(text string, dot int) bool {
	return dot+1 < len(text) && alnum.has(text[dot+1])
}

// startsPath reports that a path can start at i. A well-known root may also
// follow a word of another script, a bracket or a flag such as -I.
func startsPath(text string, i int, rooted bool) bool {
	if i == 0 {
		return true
	}
	c := text[i-1]
	if spaces.has(c) || quotes.has(c) || strings.IndexByte("([{=:,;|>", c) >= 0 {
		return true
	}
	return rooted && (c >= utf8.RuneSelf || c == ']' || c == '<' || c == '@' || isFlag(text, i))
}

// isFlag reports that "-I" or the like ends at i.
func isFlag(text string, i int) bool {
	return i > 1 && text[i-2] == '-' && letters.has(text[i-1]) && startsWord(text, i-2)
}

// followsRoute reports a word before the path that makes it a URL's.
func followsRoute(text string, i int) bool {
	end := i
	for end > 0 && (text[end-1] == ' ' || quotes.has(text[end-1]) || text[end-1] == ':') {
		end--
	}
	return slices.Contains(routes, text[letters.runBack(text, end, 16):end])
}

// isRoute reports a first segment that APIs use and disks do not: v1, api.
func isRoute(first string) bool {
	return first == "api" || first == "rest" || first == "graphql" ||
		first[0] == 'v' && len(first) > 1 && digits.run(first, 1, 3) == len(first)
}

// hasExtension reports a name that ends like a file's: two to five letters and
// digits behind a dot.
func hasExtension(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	if dot < 2 || len(name)-dot > 6 || len(name)-dot < 3 {
		return false
	}
	return alnum.run(name, dot+1, 6) == len(name) && letters.has(name[dot+1])
}

// trimSentence gives back what ends a sentence rather than a path.
func trimSentence(text string, end int) int {
	for strings.IndexByte(".=*", text[end-1]) >= 0 {
		end--
	}
	return end
}

// positionEnd extends a path over ":42" and ":42:7".
func positionEnd(text string, end int) int {
	for range 2 {
		if end >= len(text) || text[end] != ':' {
			break
		}
		next := digits.run(text, end+1, 7)
		if next == end+1 || next < len(text) && word.has(text[next]) {
			break
		}
		end = next
	}
	return end
}

// maxSpaced is how far a path is followed across spaces.
const maxSpaced = 256

// spacedEnd extends a path that stopped at a space to the closing quote, or to
// the colon after which a message goes on, if what lies between still reads
// like a path.
func spacedEnd(text string, start, end int, separator byte) int {
	if end >= len(text) || text[end] != ' ' {
		return end
	}
	closing := ": "
	if start > 0 && quotes.has(text[start-1]) {
		closing = text[start-1 : start]
	}
	rest, _, ok := strings.Cut(text[end:min(len(text), end+maxSpaced)], closing)
	if !ok || strings.ContainsAny(rest, "\n:,;\"()") {
		return end
	}
	if hasExtension(rest) || closing != ": " && strings.IndexByte(rest, separator) >= 0 {
		return end + len(rest)
	}
	return end
}

// homePath returns the end of ~/x or ~user/x at i, or 0.
func homePath(text string, i int) int {
	if !startsPath(text, i, false) {
		return 0
	}
	slash := word.run(text, i+1, 32)
	if slash >= len(text) || text[slash] != '/' || digits.has(text[i+1]) {
		return 0
	}
	end, segments := segmentsEnd(text, slash)
	if segments == 0 {
		return 0
	}
	return positionEnd(text, trimSentence(text, end))
}

// windowsBytes may stand in a segment of a Windows path. Spaces are looked at
// one by one.
var windowsBytes = segmentBytes.union(`\/!&'{}`)

// drivePath returns the end of C:\… whose colon stands at i, or 0.
func drivePath(text string, i int) int {
	if i == 0 || !letters.has(text[i-1]) || !startsWord(text, i-1) || i+2 >= len(text) {
		return 0
	}
	if text[i+1] != '\\' && (text[i+1] != '/' || text[i+2] == '/') || !windowsBytes.has(text[i+2]) {
		return 0
	}
	end := windowsEnd(text, i-1, i+1)
	if isLineBreak(text[i+1 : end]) {
		return 0
	}
	return end
}

// isLineBreak reports that what follows a letter and a colon is no folder but
// an escaped line break, as in "option a:\nyes".
func isLineBreak(rest string) bool {
	for i := 0; i < len(rest); i++ {
		if rest[i] == '\\' && (i+1 == len(rest) || strings.IndexByte("nrt", rest[i+1]) < 0) {
			return false
		}
	}
	return rest[0] == '\\'
}

// sharePath returns the end of \\server\share… at i, or 0. In escaped text
// every backslash is doubled.
func sharePath(text string, i int) int {
	server := backslashes.run(text, i, 5)
	width := (server - i) / 2
	if server-i != 2 && server-i != 4 || i > 0 && (alnum.has(text[i-1]) || text[i-1] == '\\') {
		return 0
	}
	name := dotted.run(text, server, 64)
	share := backslashes.run(text, name, 5)
	if name-server < 2 || share-name != width || share+1 >= len(text) || !word.has(text[share]) || !word.has(text[share+1]) {
		return 0
	}
	return windowsEnd(text, i, share)
}

// backslashes counts how deeply a share is escaped.
var backslashes = bytesOf(`\`)

// spacedNames are folders of Windows whose names have a space in them.
var spacedNames = []string{" Files (x86)", " Files", " and Settings", " Data"}

// windowsEnd reads segments from i. A quoted path may have spaces anywhere.
func windowsEnd(text string, start, i int) int {
	for i < len(text) {
		next := windowsRun(text, i)
		if next == i {
			break
		}
		i = next
	}
	i = trimSentence(text, i)
	return positionEnd(text, spacedEnd(text, start, i, '\\'))
}

// windowsRun reads on from i, over a known name with a space too.
func windowsRun(text string, i int) int {
	for _, name := range spacedNames {
		if strings.HasPrefix(text[i:], name+`\`) {
			return i + len(name)
		}
	}
	for i < len(text) && (windowsBytes.has(text[i]) && !closes(text, i) || text[i] >= utf8.RuneSelf && !isWidePunctuation(text[i:])) {
		i++
	}
	return i
}

// closes reports a quote or brace at i that ends the path rather than being
// part of a name, and the escape of one.
func closes(text string, i int) bool {
	switch text[i] {
	case '\'', '}':
		return i+1 >= len(text) || !alnum.has(text[i+1])
	case '\\':
		return i+1 < len(text) && text[i+1] == '"'
	}
	return false
}
