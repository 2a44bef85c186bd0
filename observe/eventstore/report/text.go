package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// WriteText writes the report as tables for a terminal.
func (r *Report) WriteText(to io.Writer) error {
	w := &errWriter{to: to}
	w.printf("Tool calls from %s to %s\n", stamp(r.From), stamp(r.To))
	w.printf("\n")
	for _, sentence := range r.Summary {
		w.printf("%s\n", sentence)
	}
	if r.All.Calls == 0 {
		return w.err
	}
	r.writeTools(w)
	r.writeUnknowns(w)
	for i := range r.Tools {
		r.Tools[i].writeDetails(w)
	}
	w.printf("\n%s\n", r.provenance())
	if r.Cut {
		w.printf("\nExamples and unknowns are of the newest %d records of this period; there are more.\n", r.Records)
	}
	return w.err
}

// errWriter keeps the first error.
type errWriter struct {
	to  io.Writer
	err error
}

func (w *errWriter) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.to, format, args...)
	}
}

func (w *errWriter) table(rows [][]string, right string) {
	t := tabwriter.NewWriter(w.to, 0, 0, 2, ' ', 0)
	widths := widthsOf(rows)
	for _, row := range rows {
		for i, cell := range row {
			if i < len(right) && right[i] == 'r' {
				cell = strings.Repeat(" ", widths[i]-len([]rune(cell))) + cell
			}
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); w.err == nil {
		w.err = err
	}
}

func widthsOf(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	return widths
}

func (r *Report) writeTools(w *errWriter) {
	rows := [][]string{{"TOOL", "CALLS", "FAILED", "RATE", "BEFORE", "TREND", "REFUSED", "RETRIES", "P50", "P95", "P99", "UNKNOWN"}}
	all := append([]Tool{r.All}, r.Tools...)
	for i := range all {
		t := &all[i]
		rows = append(rows, []string{
			nameOf(t.Tool, 40), number(t.Calls), number(t.Failures), percent(t.Rate, t.Calls), percent(t.RateBefore, t.CallsBefore), string(t.Trend),
			number(t.Refused), number(t.Retries), short(t.P50), short(t.P95), short(t.P99), number(t.Unknown),
		})
	}
	w.printf("\n")
	w.table(rows, "lrrrrlrrrrrr")
}

// fates are in the order they are listed.
var fates = []Fate{FateHappened, FateDidNot, FateWaits, FateClosed, FateUnknown}

func (r *Report) writeUnknowns(w *errWriter) {
	if len(r.Unknowns) == 0 {
		return
	}
	w.printf("\nUnknown outcomes, and what became of them\n")
	var rows [][]string
	for _, f := range fates {
		if n := r.Unknowns[f]; n > 0 {
			rows = append(rows, []string{"  " + string(f), number(int64(n))})
		}
	}
	w.table(rows, "lr")
}

func (t *Tool) writeDetails(w *errWriter) {
	if len(t.ByCode) == 0 {
		return
	}
	w.printf("\n%s: what calls that did not succeed came to\n", nameOf(t.Tool, 60))
	var rows [][]string
	for _, c := range t.ByCode {
		rows = append(rows, []string{"  " + c.Category, shown(string(c.Code), 40), number(c.Calls), percent(share(c.Calls, t.Calls), t.Calls)})
	}
	w.table(rows, "llrr")
	for _, list := range []struct {
		title string
		all   []Example
	}{{"newest failures, one of each kind first", t.Newest}, {t.slowestTitle(), t.Slowest}} {
		if len(list.all) == 0 {
			continue
		}
		w.printf("  %s\n", list.title)
		rows := [][]string{}
		for _, e := range list.all {
			rows = append(rows, []string{"    " + stamp(e.Time), short(e.Took), shown(string(e.Code), 30), e.Outcome, shown(e.Name, 40), shown(e.Error, 60)})
		}
		w.table(rows, "lrllll")
	}
}

// provenance says what the numbers are of.
func (r *Report) provenance() string {
	return fmt.Sprintf("Numbers and percentiles are of all calls. Examples are of the %s kept one by one: all that had more to tell than a success, and a sample of the others.",
		number(int64(r.All.Kept)))
}

// slowestTitle says so where a slower call may not have been kept.
func (t *Tool) slowestTitle() string {
	if int64(t.Kept) >= t.Calls {
		return "slowest calls"
	}
	return fmt.Sprintf("slowest calls of the %s kept out of %s", number(int64(t.Kept)), number(t.Calls))
}

// shown makes text from a store fit into a cell: it may have been written by
// anybody.
func shown(s string, limit int) string {
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '\uFFFD'
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return s
}

// nameOf is a tool's name as it is shown. A call has none if it was to be resumed
// under a key that the journal does not have.
func nameOf(tool string, limit int) string {
	if tool == "" {
		return "(no entry)"
	}
	return shown(tool, limit)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// number groups thousands.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(share float64, of int64) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// short is a duration in three digits; "–" where there is none.
func short(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return took(d)
}

// took is a duration in three digits.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + "ms"
	case d < time.Minute:
		return digits(d.Seconds()) + "s"
	default:
		return d.Round(time.Second).String()
	}
}

func digits(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}
