package policyjson

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxListed bounds how many names a message lists.
const maxListed = 12

// Near returns the candidate that name is most likely a slip of, or "". Case,
// underscores, hyphens and spaces do not count; beyond that a third of the
// letters may be wrong, two at most.
func Near(name string, candidates []string) string {
	best, fewest := "", 3
	plain := squash(name)
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		other := squash(c)
		limit := min(2, max(len(plain), len(other))/3)
		if max(len(plain), len(other))-min(len(plain), len(other)) > limit {
			continue
		}
		if n := edits(plain, other); n <= limit && n < fewest {
			best, fewest = c, n
		}
	}
	return best
}

// Suggestion ends a message about a name that is none of the known ones: with
// the one that was probably meant, else with all if they are few.
func Suggestion(name string, known []string) string {
	if near := Near(name, known); near != "" {
		return ", did you mean " + strconv.Quote(near) + "?"
	}
	if len(known) == 0 || len(known) > maxListed {
		return ""
	}
	return ", want one of " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

func squash(name string) []rune {
	return []rune(strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- ", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name))
}

// edits counts insertions, deletions, substitutions and swaps of neighbours,
// each place edited once (optimal string alignment).
func edits(a, b []rune) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			n := min(table[i-1][j], table[i][j-1]) + 1
			if a[i-1] == b[j-1] {
				n = min(n, table[i-1][j-1])
			} else {
				n = min(n, table[i-1][j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				n = min(n, table[i-2][j-2]+1)
			}
			table[i][j] = n
		}
	}
	return table[len(a)][len(b)]
}
