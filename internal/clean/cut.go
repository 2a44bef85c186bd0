package clean

import (
	"strconv"
	"unicode/utf8"
)

// markerRoom is what a cut's marker takes at most.
const markerRoom = len("\n[...  bytes omitted ...]\n") + 19

// cut shortens a text longer than limit. It keeps two thirds of limit from the start of s and one from its end, and
// says between them how much is missing. A result is most often understood
// from its head, and a log from its tail.
func cut(s string, limit int, t *tally) string {
	room := limit - markerRoom
	head := runeStart(s, room*2/3)
	tail := runeStart(s, len(s)-(room-room*2/3)+utf8.UTFMax-1)
	t.add(Cut, 1, tail-head, "")
	return s[:head] + "\n[... " + strconv.Itoa(tail-head) + " bytes omitted ...]\n" + s[tail:]
}

// runeStart moves i back to where a character starts.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}
