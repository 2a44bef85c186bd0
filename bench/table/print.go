package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
)

// writeFacts says what the numbers depend on.
func writeFacts(w io.Writer, rows []*row) {
	fmt.Fprintf(w, "%s, %s/%s, %s, %d processors; %d samples of each row, the middle one %.1f times the least on average.\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, cpuModel(), runtime.NumCPU(), len(rows[0].nanos), noise(rows))
}

// cpuModel is what the system calls the processor.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, model, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown processor"
}

// noise is how much the usual sample of a row is slower than its best, which
// tells how busy the machine was.
func noise(rows []*row) float64 {
	var sum float64
	for _, r := range rows {
		sum += r.nanos[len(r.nanos)/2] / r.min()
	}
	return sum / float64(len(rows))
}

// cells are the columns of the table; the first of a row names its case.
type cells []string

var head = cells{"case", "variant", "P", "min ns", "B", "allocs", "ratio", "beside", "promise"}

// writeTable writes Markdown that reads well as plain text, too.
func writeTable(w io.Writer, rows []*row) {
	lines := []cells{head}
	for _, r := range rows {
		lines = append(lines, r.lines(rows)...)
	}
	widths := make([]int, len(head))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	rule := make(cells, len(head))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	for _, line := range slices.Insert(lines, 1, rule) {
		writeLine(w, line, widths)
	}
}

func writeLine(w io.Writer, line cells, widths []int) {
	var b bytes.Buffer
	for i, cell := range line {
		pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
		if i >= 2 && i <= 6 {
			cell, pad = pad+cell, "" // numbers
		}
		fmt.Fprintf(&b, "| %s%s ", cell, pad)
	}
	fmt.Fprintf(w, "%s|\n", b.Bytes())
}

// lines are the row's: one, or one for each of its promises.
func (r *row) lines(rows []*row) []cells {
	first := cells{
		r.c.Name, r.v.Name, fmt.Sprint(r.procs), fmt.Sprintf("%.0f", r.min()),
		fmt.Sprint(r.bytes), fmt.Sprint(r.allocs), "", "", "",
	}
	var lines []cells
	for i, bound := range r.v.Bounds {
		line := slices.Clone(first)
		if i > 0 {
			line = make(cells, len(first))
		}
		v := r.judge(rows, bound)
		line[6], line[7], line[8] = fmt.Sprintf("%.2f", v.ratio), v.beside, v.String()
		lines = append(lines, line)
	}
	if lines == nil {
		lines = []cells{first}
	}
	return lines
}
