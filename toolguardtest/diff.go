package toolguardtest

import "strings"

const (
	diffContext = 3
	diffLines   = 2000 // longer texts are compared by their first difference only
)

// diff shows how two texts differ, line by line, with a few lines around.
func diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	if len(a) > diffLines || len(b) > diffLines {
		return firstDifference(a, b)
	}
	return strings.Join(shorten(edits(a, b)), "\n")
}

// edits marks each line: "  " is in both, "- " in a only, "+ " in b only.
func edits(a, b []string) []string {
	common := longest(a, b)
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

// longest has the length of the longest common subsequence of a[i:] and b[j:].
func longest(a, b []string) [][]int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if table[i][j] = max(table[i+1][j], table[i][j+1]); a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			}
		}
	}
	return table
}

// shorten leaves out the lines that are far from any difference.
func shorten(lines []string) []string {
	near := make([]bool, len(lines))
	for i, l := range lines {
		if !strings.HasPrefix(l, "  ") {
			for k := max(0, i-diffContext); k < min(len(lines), i+diffContext+1); k++ {
				near[k] = true
			}
		}
	}
	var out []string
	for i, l := range lines {
		switch {
		case near[i]:
			out = append(out, l)
		case i == 0 || near[i-1]:
			out = append(out, "  …")
		}
	}
	return out
}

func firstDifference(a, b []string) string {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return strings.Join(append(prefixed("- ", a, i), prefixed("+ ", b, i)...), "\n")
		}
	}
	return ""
}

func prefixed(mark string, lines []string, from int) (out []string) {
	for i := from; i < min(len(lines), from+diffContext+1); i++ {
		out = append(out, mark+lines[i])
	}
	return out
}
