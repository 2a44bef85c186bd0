// Package near finds the names that a wrong one may have been meant for.
package near

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Bounds on the search for names that may have been meant.
const (
	maxNear       = 3   // answers
	maxCandidates = 500 // names compared
	maxNameRunes  = 64  // longer names are not slips
)

// Names returns the candidates that name may be a slip of, closest first and
// three at most: equal but for case, underscores, hyphens, dots and spaces, or
// within two edits (one for names of up to four characters, none for a single
// one).
func Names(name string, candidates []string) []string {
	type match struct {
		name string
		off  int
	}
	var found []match
	plain := []rune(Squash(name))
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		if c == name {
			continue
		}
		if off, ok := distance(plain, []rune(Squash(c))); ok {
			found = append(found, match{c, off})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, m := range found[:min(len(found), maxNear)] {
		out = append(out, m.name)
	}
	return out
}

// Squash drops what people and models spell differently in one name: case,
// underscores, hyphens, dots and spaces.
func Squash(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// distance counts insertions, deletions, substitutions and swaps of neighbours
// (Damerau and Levenshtein, each place edited once), if they are few enough.
func distance(a, b []rune) (int, bool) {
	short := min(len(a), len(b))
	limit := 2
	if short <= 4 {
		limit = min(1, short-1)
	}
	if max(len(a), len(b)) > maxNameRunes || max(len(a), len(b))-short > max(limit, 0) {
		return 0, false
	}
	off := edits(a, b)
	return off, off <= limit || off == 0 && short > 0
}

// edits is the optimal string alignment distance. Both names are short.
func edits(a, b []rune) int {
	// Three rows of the usual table: two back, one back, this one.
	back, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], back[j-2]+1)
			}
		}
		back, last, row = last, row, back
	}
	return last[len(b)]
}
