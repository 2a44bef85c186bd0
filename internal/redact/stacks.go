package redact

import "strings"

// stacks finds stack traces of Go, Python, the JVM, JavaScript, .NET, PHP,
// Ruby and Rust. Frames with nothing but white space between them are one
// finding, and so is a trace flattened into one line.
func stacks(text string, found []span) []span {
	from := len(found)
	found = goroutines(text, found)
	found = tracebacks(text, found)
	found = frames(text, found)
	return join(text, found, from)
}

// join makes one of neighbouring frames.
func join(text string, found []span, from int) []span {
	if len(found) == from {
		return found
	}
	out := append(found[:from:from], merge(found[from:])...)
	kept := out[:from+1]
	for _, s := range out[from+1:] {
		last := &kept[len(kept)-1]
		if spaces.run(text, last.end, unlimited) >= s.start {
			last.end = s.end
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// goroutines finds Go traces: a header, then lines that look like frames.
func goroutines(text string, found []span) []span {
	const header = "goroutine "
	for i := 0; ; {
		k := strings.Index(text[i:], header)
		if k < 0 {
			return found
		}
		start := i + k
		i = start + len(header)
		id := digits.run(text, i, 20)
		if id == i || !strings.HasPrefix(text[id:], " [") {
			continue
		}
		i = lineEnd(text, id)
		for end := i; end < len(text) && isGoLine(text[end+1:lineEnd(text, end+1)]); {
			end = lineEnd(text, end+1)
			i = end
		}
		found = append(found, span{start, i, stackTrace})
	}
}

// lineEnd returns the position of the line break at or after i.
func lineEnd(text string, i int) int {
	if k := strings.IndexByte(text[i:], '\n'); k >= 0 {
		return i + k
	}
	return len(text)
}

func isGoLine(line string) bool {
	line = strings.TrimSuffix(line, "\r")
	return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "created by ") ||
		strings.HasPrefix(line, "[signal ") || strings.HasPrefix(line, "exit status ") ||
		strings.HasPrefix(line, "...additional frames") ||
		strings.HasSuffix(line, ")") && strings.Contains(line, ".") && strings.Contains(line, "(")
}

// tracebacks finds Python's header and the indented lines below it. The line
// that names the exception is left for its message.
func tracebacks(text string, found []span) []span {
	const header = "Traceback (most recent call last):"
	for i := 0; ; {
		k := strings.Index(text[i:], header)
		if k < 0 {
			return found
		}
		start := i + k
		i = indentedEnd(text, start+len(header))
		found = append(found, span{start, i, stackTrace})
	}
}

// indentedEnd returns the end of the indented lines that follow i.
func indentedEnd(text string, i int) int {
	for i+1 < len(text) && text[i] == '\n' && (text[i+1] == ' ' || text[i+1] == '\t') {
		i = lineEnd(text, i+1)
	}
	return i
}

// frames finds single frames by what starts them.
func frames(text string, found []span) []span {
	for i := 0; i < len(text); i++ {
		end := 0
		switch c := text[i]; {
		case c == 'a' && strings.HasPrefix(text[i:], "at ") && startsWord(text, i):
			end = atFrame(text, i+len("at "))
		case c == 'F' && strings.HasPrefix(text[i:], `File "`):
			end = fileFrame(text, i+len(`File "`))
		case c == '#' && i+1 < len(text) && digits.has(text[i+1]):
			end = phpFrame(text, i+1)
		case c == '.' && i+2 < len(text):
			i, end = dotFrame(text, i)
		case c == '\n' && strings.HasPrefix(text[i:], "\n\t/"):
			i, end = goFrame(text, i)
		}
		if end > 0 {
			found = append(found, span{i, end, stackTrace})
			i = end - 1
		}
	}
	return found
}

// maxFrame bounds the search for the end of a frame.
const maxFrame = 300

var frameName = word.union("$.<>/[]-:@`+~")

// atFrame reads what follows "at ": pkg.Class.method(File.java:12), fn
// (file:///x.js:1:2), /x.js:1:2 or Ns.Class.Method(args) in file:line 3.
func atFrame(text string, i int) int {
	for _, modifier := range []string{"async ", "new "} {
		if strings.HasPrefix(text[i:], modifier) {
			i += len(modifier)
		}
	}
	text = text[:min(len(text), i+maxFrame)]
	end := frameName.run(text, i, maxFrame)
	if end == i {
		return 0
	}
	open := skipSpaces(text, skipAlias(text, end))
	if open < len(text) && text[open] == '(' {
		return parenFrame(text, open)
	}
	if name := text[i:end]; strings.ContainsAny(name, "/") && hasPosition(name) {
		return end
	}
	return 0
}

// skipAlias skips JavaScript's " [as method]".
func skipAlias(text string, i int) int {
	if strings.HasPrefix(text[i:], " [as ") {
		if k := strings.IndexByte(text[i:], ']'); k >= 0 {
			return i + k + 1
		}
	}
	return i
}

func parenFrame(text string, open int) int {
	k := strings.IndexByte(text[open:], ')')
	if k < 0 {
		return 0
	}
	inner, end := text[open+1:open+k], open+k+1
	switch inner {
	case "Native Method", "Unknown Source", "native", "<anonymous>":
		return end
	}
	if strings.ContainsAny(inner, "./:") && hasPosition(inner) && hasLetter(inner) || strings.HasPrefix(inner, "node:") {
		return end
	}
	return dotNetEnd(text, end)
}

// dotNetEnd reads " in C:\src\a.cs:line 12".
func dotNetEnd(text string, end int) int {
	if !strings.HasPrefix(text[end:], " in ") {
		return 0
	}
	k := strings.Index(text[end:], ":line ")
	if k < 0 {
		return 0
	}
	return digits.run(text, end+k+len(":line "), 7)
}

// hasPosition reports that name ends in ":12".
func hasPosition(name string) bool {
	start := digits.runBack(name, len(name), 7)
	return start < len(name) && start > 1 && name[start-1] == ':'
}

// fileFrame reads what follows `File "`: x.py", line 3, in f, and the line of
// source below.
func fileFrame(text string, i int) int {
	end := min(len(text), i+maxFrame)
	k := strings.Index(text[i:end], `", line `)
	if k < 0 {
		return 0
	}
	i = digits.run(text, i+k+len(`", line `), 7)
	if strings.HasPrefix(text[i:], ", in ") {
		i = nonSpace.run(text, i+len(", in "), maxFrame)
	}
	return indentedEnd(text, i)
}

// phpFrame reads what follows "#": 0 /srv/x.php(12): f().
func phpFrame(text string, i int) int {
	i = digits.run(text, i, 3)
	head := text[i:min(len(text), i+maxFrame)]
	if line := lineEnd(head, 0); strings.HasPrefix(head, " /") && strings.Contains(head[:line], ".php(") || strings.HasPrefix(head[:line], " {main}") {
		return i + line
	}
	return 0
}

// dotFrame reads frames with nothing before the file: "... 12 more" of the JVM
// and Ruby's x.rb:12:in 'f'.
func dotFrame(text string, dot int) (start, end int) {
	if strings.HasPrefix(text[dot:], "... ") {
		n := digits.run(text, dot+4, 6)
		if n > dot+4 && (strings.HasPrefix(text[n:], " more") || strings.HasPrefix(text[n:], " common frames")) {
			return dot, lineEnd(text, n)
		}
	}
	if strings.HasPrefix(text[dot:], ".rb:") || strings.HasPrefix(text[dot:], ".rs:") {
		return sourceFrame(text, dot)
	}
	return dot, 0
}

func sourceFrame(text string, dot int) (start, end int) {
	line := digits.run(text, dot+4, 7)
	if line == dot+4 || !strings.HasPrefix(text[line:], ":in ") {
		return dot, 0
	}
	end = line + len(":in ")
	name := text[end:min(len(text), end+maxFrame)]
	if name, _, _ = strings.Cut(name, "\n"); len(name) > 1 && quotes.has(name[0]) {
		end += 1 + strings.IndexByte(name[1:], '\'') + 1
	}
	return urlWord.runBack(text, dot, maxFrame), end
}

// goFrame reads "\n\t/x.go:12 +0x1d" and the line before it, which names the
// function.
func goFrame(text string, br int) (start, end int) {
	line := text[br+1 : lineEnd(text, br+1)]
	if !strings.Contains(line[:min(len(line), maxFrame)], ".go:") {
		return br, 0
	}
	start = max(0, br-maxFrame)
	start += strings.LastIndexByte(text[start:br], '\n') + 1
	return start, br + 1 + len(line)
}
