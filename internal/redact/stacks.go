package redact

import (
	"slices"
	"strings"
)

// stackRules find frames and whole traces of Go, Python, the JVM, JavaScript,
// .NET, PHP, Ruby, Rust, Elixir and Lua. Frames with nothing but white space between them become
// one finding, and so does a trace flattened into one line.
var stackRules = []rule{
	{stackFamily, "goroutine ", wordStart, true, goTrace},
	{stackFamily, "runtime error: ", wordStart, true, goPanic},
	{stackFamily, "interface conversion: ", wordStart, true, goPanic},
	{stackFamily, "assignment to entry in nil map", wordStart, true, goPanic},
	{stackFamily, "\n\t/", anywhere, true, goFrame},
	{stackFamily, pythonHeader, anywhere, true, headedTrace(pythonHeader)},
	{stackFamily, "stack traceback:", wordStart, true, headedTrace("stack traceback:")},
	{stackFamily, "stack backtrace:", wordStart, true, headedTrace("stack backtrace:")},
	{stackFamily, ".ex:", anywhere, true, elixirFrame},
	{stackFamily, ".exs:", anywhere, true, elixirFrame},
	{stackFamily, `File "`, wordStart, true, fileFrame},
	{stackFamily, "at ", wordStart, true, atFrame},
	{stackFamily, "... ", anywhere, true, moreFrames},
	{stackFamily, "#", anywhere, true, phpFrame},
	{stackFamily, ".rb:", anywhere, true, rubyFrame},
	{stackFamily, ".go:", anywhere, true, goPlace},
	{stackFamily, "0x", wordStart, true, pointer},
}

// goTrace reads a Go trace: a header, then lines that look like frames.
func goTrace(text string, start int) span {
	i := start + len("goroutine ")
	id := digits.run(text, i, 20)
	if id == i || !strings.HasPrefix(text[id:], " [") {
		return span{}
	}
	end := lineEnd(text, id)
	for end < len(text) && isGoLine(text[end+1:lineEnd(text, end+1)]) {
		end = lineEnd(text, end+1)
	}
	return span{start, end, stackTrace}
}

// goPanics are what Go's runtime says when it panics; "runtime error: " stands before
// most of them.
var goPanics = []string{
	"invalid memory address", "index out of range", "slice bounds out of range", "integer divide by zero", "integer overflow",
	"makeslice: ", "makechan: ", "hash of unhashable type ", "comparing uncomparable type ", "cannot convert slice",
	"negative shift amount", "growslice: ", "interface conversion: interface ", "interface conversion: *", "assignment to entry in nil map",
}

// goPanic reads what a program of Go said of its own death, up to where its author
// or the system goes on, and the word and the signal around it.
func goPanic(text string, i int) span {
	said := strings.TrimPrefix(text[i:], "runtime error: ")
	begins := func(known string) bool { return strings.HasPrefix(said, known) }
	if !slices.ContainsFunc(goPanics, begins) {
		return span{}
	}
	const word = "panic: "
	end := panicEnd(text, len(text)-len(said))
	if strings.HasSuffix(text[:i], word) {
		i -= len(word)
	}
	if strings.HasPrefix(text[end:], "\n[signal ") {
		end = lineEnd(text, end+1)
	}
	return span{i, end, stackTrace}
}

// panicEnd is where a message that begins at i ends.
func panicEnd(text string, i int) int {
	said := text[i:min(len(text), i+maxFrame)]
	for _, stop := range []string{"\n", "; ", " ("} {
		said, _, _ = strings.Cut(said, stop)
	}
	return i + len(said)
}

// lineEnd returns the position of the line break at or after i.
func lineEnd(text string, i int) int {
	if k := strings.IndexByte(text[i:], '\n'); k >= 0 {
		return i + k
	}
	return len(text)
}

// isGoLine reports a line of a Go trace: a position, a call, who started the
// goroutine, and what the runtime adds.
func isGoLine(line string) bool {
	line = strings.TrimSuffix(line, "\r")
	return strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "created by ") ||
		strings.HasPrefix(line, "[signal ") || strings.HasPrefix(line, "exit status ") ||
		strings.HasPrefix(line, "...additional frames") ||
		strings.HasSuffix(line, ")") && strings.Contains(line, ".") && strings.Contains(line, "(")
}

const pythonHeader = "Traceback (most recent call last):"

// headedTrace reads a header and the indented lines below it. What is not indented,
// such as the line that names Python's exception, is left for its message.
func headedTrace(header string) func(text string, start int) span {
	return func(text string, start int) span {
		end := indentedEnd(text, start+len(header))
		if end == start+len(header) && header != pythonHeader {
			return span{} // a sentence
		}
		return span{start, end, stackTrace}
	}
}

// elixirFrame reads "(app 1.2.3) lib/x.ex:12: Mod.fun/2", of which ".ex:" stands at i.
func elixirFrame(text string, i int) span {
	from := i + strings.IndexByte(text[i:], ':') + 1
	line := digits.run(text, from, 7)
	if line == from || !strings.HasPrefix(text[line:], ": ") {
		return span{}
	}
	end := nonSpace.run(text, line+len(": "), maxFrame)
	if arity := digits.runBack(text, end, 3); arity == end || text[arity-1] != '/' {
		return span{}
	}
	start := sourceName.runBack(text, i, maxFrame)
	if app := lineStart(text, start); text[app:start] != "" && text[app] == '(' && strings.HasSuffix(text[app:start], ") ") {
		start = app
	}
	return span{start, end, stackTrace}
}

// lineStart returns where the line of i starts, its indentation aside, as far as a
// frame may reach.
func lineStart(text string, i int) int {
	start := max(0, i-maxFrame)
	start += strings.LastIndexByte(text[start:i], '\n') + 1
	return spaces.run(text[:i], start, maxFrame)
}

// indentedEnd returns the end of the indented lines that follow i.
func indentedEnd(text string, i int) int {
	for i+1 < len(text) && text[i] == '\n' && (text[i+1] == ' ' || text[i+1] == '\t') {
		i = lineEnd(text, i+1)
	}
	return i
}

// maxFrame bounds the search for the end of a frame.
const maxFrame = 300

// frameName is what a function is called in the traces of all languages, and
// what a script's address is made of.
var frameName = word.union("$.<>/[]-:@`+~")

// atFrame reads "at " and pkg.Class.method(File.java:12), fn (file:///x.js:1:2),
// /x.js:1:2 or Ns.Class.Method(args) in file:line 3.
func atFrame(text string, i int) span {
	end := framePlace(text, i+len("at "))
	if end == 0 {
		end = bareFrame(text, i+len("at "))
	}
	if end == 0 {
		return span{}
	}
	return span{i, end, stackTrace}
}

// framePlace returns the end of the function and its position at i, or 0.
func framePlace(text string, i int) int {
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

// parenFrame reads the bracket behind a function's name: a position in a file,
// or the words a runtime has for none. In "at noon (12:30)" there is no file.
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

// bareFrame reads a line that is nothing but "at Ns.Class.Method(args)": a frame of
// .NET or of the JVM without its position.
func bareFrame(text string, i int) int {
	end := frameName.run(text, i, maxFrame)
	if lineStart(text, i-len("at ")) != i-len("at ") || i == len("at ") || end == len(text) || text[end] != '(' || !strings.Contains(text[i:end], ".") {
		return 0
	}
	k := strings.IndexByte(text[end:min(len(text), end+maxFrame)], ')')
	if after := end + k + 1; k > 0 && (after == len(text) || text[after] == '\n' || text[after] == '\r' || quotes.has(text[after])) {
		return after
	}
	return 0
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

// fileFrame reads File "x.py", line 3, in f, and the line of source below.
func fileFrame(text string, start int) span {
	end := min(len(text), start+maxFrame)
	k := strings.Index(text[start:end], `", line `)
	if k < 0 {
		return span{}
	}
	i := digits.run(text, start+k+len(`", line `), 7)
	if strings.HasPrefix(text[i:], ", in ") {
		i = nonSpace.run(text, i+len(", in "), maxFrame)
	}
	return span{start, indentedEnd(text, i), stackTrace}
}

// phpFrame reads #0 /srv/x.php(12): f() and #1 {main}.
func phpFrame(text string, start int) span {
	i := digits.run(text, start+1, 3)
	if i == start+1 {
		return span{}
	}
	line := text[i:min(len(text), i+maxFrame)]
	line = line[:lineEnd(line, 0)]
	if strings.HasPrefix(line, " {main}") || strings.HasPrefix(line, " /") && strings.Contains(line, ".php(") {
		return span{start, i + len(line), stackTrace}
	}
	return span{}
}

// moreFrames reads the JVM's "... 12 more".
func moreFrames(text string, start int) span {
	i := start + len("... ")
	n := digits.run(text, i, 6)
	if n > i && (strings.HasPrefix(text[n:], " more") || strings.HasPrefix(text[n:], " common frames")) {
		return span{start, lineEnd(text, n), stackTrace}
	}
	return span{}
}

// rubyFrame reads x.rb:12:in 'f', of which ".rb:" stands at i.
func rubyFrame(text string, i int) span {
	from := i + len(".rb:")
	line := digits.run(text, from, 7)
	if line == from || !strings.HasPrefix(text[line:], ":in ") {
		return span{}
	}
	end := line + len(":in ")
	name := text[end:min(len(text), end+maxFrame)]
	if name, _, _ = strings.Cut(name, "\n"); len(name) > 1 && quotes.has(name[0]) {
		end += 1 + strings.IndexByte(name[1:], '\'') + 1
	}
	return span{urlWord.runBack(text, i, maxFrame), end, stackTrace}
}

// goFrame reads "\n\t/x.go:12 +0x1d" and the line before it, which names the
// function.
func goFrame(text string, br int) span {
	line := text[br+1 : lineEnd(text, br+1)]
	if !strings.Contains(line[:min(len(line), maxFrame)], ".go:") {
		return span{}
	}
	start := max(0, br-maxFrame)
	start += strings.LastIndexByte(text[start:br], '\n') + 1
	return span{start, br + 1 + len(line), stackTrace}
}

// goPlace reads x.go:42 +0x1d, of which ".go:" stands at i: a frame torn out of
// its trace. A position alone is left, as in a compiler's message.
func goPlace(text string, i int) span {
	from := i + len(".go:")
	line := digits.run(text, from, 7)
	if line == from || !strings.HasPrefix(text[line:], " +0x") {
		return span{}
	}
	return span{sourceName.runBack(text, i, maxFrame), hex.run(text, line+len(" +0x"), 16), stackTrace}
}

// sourceName is what a file of Go and the path to it are called.
var sourceName = dotted.union(`/\@~+`)

// pointer reads an address in memory. Sixteen digits that begin with zeros are
// one, and so are twelve where programs of 64 bits live, or ten of Go's heap;
// shorter numbers are data.
func pointer(text string, i int) span {
	from := i + len("0x")
	end := hex.run(text, from, 17)
	number := text[from:end]
	if !endsWord(text, end) {
		return span{}
	}
	switch {
	case len(number) == 16 && strings.HasPrefix(number, "0000"),
		len(number) == 12 && (hasFold(number, 0, "7f") || hasFold(number, 0, "55") || hasFold(number, 0, "56")),
		len(number) == 10 && hasFold(number, 0, "c000"):
		return span{i, end, stackTrace}
	}
	return span{}
}
