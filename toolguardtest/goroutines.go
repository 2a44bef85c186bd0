package toolguardtest

import (
	"runtime"
	"strings"
	"sync/atomic"
)

// goroutines are the stacks of the goroutines of this bubble, this one aside, by
// their numbers. Outside of a bubble there are none. It stops all goroutines of the
// process for as long as it takes to write their stacks.
func goroutines() map[string]string {
	var own [256]byte
	number, bubble := identity(string(own[:runtime.Stack(own[:], false)]))
	if bubble == "" {
		return nil
	}
	var found map[string]string
	for stack := range strings.SplitSeq(allStacks(), "\n\n") {
		if n, b := identity(stack); b == bubble && n != number && !holds(stack) {
			if found == nil {
				found = make(map[string]string)
			}
			found[n] = strings.Clone(stack)
		}
	}
	return found
}

// holds reports whether a goroutine is one of the two that a bubble itself has.
func holds(stack string) bool {
	return strings.Contains(stack, "\ninternal/synctest.Run(") || strings.Contains(stack, "\ntesting/synctest.testingSynctestTest(")
}

// identity is the number of a goroutine and that of its bubble, "" outside of one.
// A stack begins "goroutine 7 [select (durable), synctest bubble 3]:".
func identity(stack string) (number, bubble string) {
	header, _, _ := strings.Cut(stack, "\n")
	rest, ok := strings.CutPrefix(header, "goroutine ")
	if !ok {
		return "", ""
	}
	number, rest, _ = strings.Cut(rest, " ")
	if _, after, ok := strings.Cut(rest, "synctest bubble "); ok {
		bubble, _, _ = strings.Cut(after, "]")
		bubble, _, _ = strings.Cut(bubble, ",")
	}
	return number, bubble
}

// stacksSize is how much room all stacks took last.
var stacksSize atomic.Int64

func allStacks() string {
	for size := max(stacksSize.Load(), 1<<16); ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < len(buf) {
			stacksSize.Store(min(size, int64(2*n+1<<12)))
			return string(buf[:n])
		}
	}
}
