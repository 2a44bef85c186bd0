package toolguardtest

import (
	"regexp"
	"runtime"
	"strings"
)

var (
	bubble    = regexp.MustCompile(`synctest bubble (\d+)`)
	goroutine = regexp.MustCompile(`^goroutine (\d+) \[`)
)

// goroutines are the stacks of the goroutines of this bubble, this one aside, by
// their numbers. Outside of a bubble there are none.
func goroutines() map[string]string {
	stacks := strings.Split(strings.TrimSpace(string(allStacks())), "\n\n")
	own := bubble.FindStringSubmatch(header(stacks[0]))
	if own == nil {
		return nil
	}
	found := map[string]string{}
	for _, s := range stacks[1:] {
		b := bubble.FindStringSubmatch(header(s))
		id := goroutine.FindStringSubmatch(s)
		if b != nil && id != nil && b[1] == own[1] {
			found[id[1]] = s
		}
	}
	return found
}

func header(stack string) string {
	line, _, _ := strings.Cut(stack, "\n")
	return line
}

// allStacks begins with the stack of the calling goroutine.
func allStacks() []byte {
	for size := 1 << 16; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return buf[:n]
		}
	}
}
