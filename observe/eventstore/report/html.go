package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"time"

	"github.com/toolguard-go/toolguard/internal/histogram"
	"github.com/toolguard-go/toolguard/observe/eventstore"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "percent": percent, "short": short, "stamp": stamp, "shown": shown, "name": nameOf, "share": share, "times": times,
	"of100": func(part, whole int64) float64 { return 100 * share(part, whole) },
}).Parse(pageText))

// WriteHTML writes the report as one page that needs nothing else: no network, no
// script.
func (r *Report) WriteHTML(to io.Writer) error {
	return page.Execute(to, view{
		Report: r, Step: r.step(), Provenance: r.provenance(), Series: r.seriesChart(), Latency: r.latencyCharts(), Breakers: r.breakerChart(), Flow: r.flow.chart(), FateList: r.fateList(),
	})
}

// view is what the page shows.
type view struct {
	*Report
	Step       string // of the series
	Provenance string
	Series     seriesChart
	Latency    latencyChart
	Breakers   breakerChart
	Flow       flowChart
	FateList   []fateCount
}

// step says how long a column of the series is.
func (r *Report) step() string {
	each := eventstore.Period
	if len(r.series) > 0 {
		each = r.series[0].length
	}
	switch n := int(each / time.Minute); {
	case n == 1:
		return "minute"
	case n%60 == 0:
		return fmt.Sprintf("%d h", n/60)
	default:
		return fmt.Sprintf("%d minutes", n)
	}
}

// Most is how many calls had the code most did that did not succeed.
func (t Tool) Most() int64 { return t.ByCode[0].Calls }

// SlowestTitle says what the slowest are the slowest of.
func (t Tool) SlowestTitle() string { return "S" + t.slowestTitle()[1:] }

type fateCount struct {
	Fate  Fate
	Count int
}

func (r *Report) fateList() (all []fateCount) {
	for _, f := range fates {
		if n := r.Unknowns[f]; n > 0 {
			all = append(all, fateCount{f, n})
		}
	}
	return all
}

// Shapes are drawn in boxes of 1000 by 100 that stretch; words stand around them
// as HTML, so that they stay readable on a narrow screen.
const (
	boxWidth  = 1000.0
	boxHeight = 100.0
)

// rect is a bar. Class chooses its colour, Title says what it is.
type rect struct {
	X, Y, W, H   float64
	Class, Title string
}

// seriesChart is the share of calls that did not succeed, over time.
type seriesChart struct {
	Bars   []rect
	Legend []legend
	Top    string // the share at the top
	Half   string
	Ticks  []tick
}

type legend struct {
	Class, Name string
	Calls       int64
}

// tick is a label below a chart, at a share of its width.
type tick struct {
	At   float64 // per cent
	Text string
}

func (r *Report) seriesChart() (c seriesChart) {
	top := 0.0
	for i := range r.series {
		top = max(top, share(r.series[i].failed(), r.series[i].calls))
	}
	top = niceShare(top)
	c.Top, c.Half = fmt.Sprintf("%.3g%%", 100*top), fmt.Sprintf("%.3g%%", 50*top)
	width := boxWidth / float64(max(len(r.series), 1))
	for i := range r.series {
		s := &r.series[i]
		y := boxHeight
		for n, calls := range s.byCategory {
			if calls == 0 {
				continue
			}
			h := boxHeight * share(calls, s.calls) / top
			y -= h
			c.Bars = append(c.Bars, rect{
				X: width*float64(i) + width*.1, Y: y, W: width * .8, H: h, Class: categories[n].String(),
				Title: fmt.Sprintf("%s: %d of %d calls %s (%s)", stamp(s.from), calls, s.calls, categories[n], percent(share(calls, s.calls), s.calls)),
			})
		}
	}
	for _, category := range categories {
		if n := r.All.ByCategory[category.String()]; n > 0 {
			c.Legend = append(c.Legend, legend{category.String(), category.String(), n})
		}
	}
	c.Ticks = timeTicks(r.From, r.To)
	return c
}

func (s *slot) failed() (n int64) {
	for _, calls := range s.byCategory {
		n += calls
	}
	return n
}

// niceShare rounds up to what is easy to read.
func niceShare(top float64) float64 {
	for _, nice := range []float64{.01, .02, .05, .1, .2, .5} {
		if top <= nice {
			return nice
		}
	}
	return 1
}

func timeTicks(from, to time.Time) []tick {
	form := "15:04"
	if to.Sub(from) > 36*time.Hour {
		form = "Jan 2"
	}
	var ticks []tick
	for n := range 5 {
		at := from.Add(to.Sub(from) * time.Duration(n) / 4)
		ticks = append(ticks, tick{25 * float64(n), at.UTC().Format(form)})
	}
	return ticks
}

// latencyChart has a row for each tool, all over one logarithmic axis.
type latencyChart struct {
	Rows  []latencyRow
	Ticks []tick
}

type latencyRow struct {
	Tool          string
	Calls         int64
	P50, P95, P99 time.Duration
	Bars          []rect
	Marks         []rect
}

// maxRows is how many tools the chart shows, those with the most calls.
const maxRows = 10

func (r *Report) latencyCharts() (c latencyChart) {
	tools := slices.Clone(r.Tools)
	slices.SortStableFunc(tools, func(a, b Tool) int { return int(b.Calls - a.Calls) })
	tools = tools[:min(len(tools), maxRows)]
	low, high := spanOf(tools)
	for i := range tools {
		if tools[i].Calls > 0 {
			c.Rows = append(c.Rows, tools[i].latency(low, high))
		}
	}
	for d := time.Duration(1); d <= time.Duration(math.MaxInt64)/10; d *= 10 {
		if at := place(d, low, high); at >= 0 && at <= 1 && high > low {
			c.Ticks = append(c.Ticks, tick{100 * at, d.String()})
		}
	}
	return c
}

// spanOf returns the classes of the shortest and the longest calls.
func spanOf(tools []Tool) (low, high int) {
	low = len(histogram.Durations{})
	for i := range tools {
		for class, n := range tools[i].took {
			if n > 0 {
				low, high = min(low, class), max(high, class+1)
			}
		}
	}
	return min(low, high), high
}

// place is where a duration stands between two classes, from 0 to 1.
func place(d time.Duration, low, high int) float64 {
	from, to := math.Log(float64(histogram.Bound(low))), math.Log(float64(histogram.Bound(high)))
	if to <= from {
		return 0
	}
	return (math.Log(float64(max(d, 1))) - from) / (to - from)
}

func (t *Tool) latency(low, high int) latencyRow {
	row := latencyRow{Tool: t.Tool, Calls: t.Calls, P50: t.P50, P95: t.P95, P99: t.P99}
	most := uint32(1)
	for _, n := range t.took {
		most = max(most, n)
	}
	for class, n := range t.took {
		if n == 0 {
			continue
		}
		x, next := place(histogram.Bound(class), low, high), place(histogram.Bound(class+1), low, high)
		h := max(boxHeight*float64(n)/float64(most), 2)
		row.Bars = append(row.Bars, rect{
			X: boxWidth * x, Y: boxHeight - h, W: boxWidth * max(next-x, .002), H: h,
			Title: fmt.Sprintf("%s to %s: %d calls", short(histogram.Bound(class)), short(histogram.Bound(class+1)), n),
		})
	}
	for _, m := range []struct {
		name string
		at   time.Duration
	}{{"p50", t.P50}, {"p95", t.P95}, {"p99", t.P99}} {
		row.Marks = append(row.Marks, rect{X: boxWidth*place(m.at, low, high) - 1, W: 2, H: boxHeight, Class: m.name, Title: m.name + " " + short(m.at)})
	}
	return row
}

// breakerChart has a lane for each tool.
type breakerChart struct {
	Lanes []breakerLane
	Ticks []tick
}

type breakerLane struct {
	Tool  string
	Trips int
	Bars  []rect
}

func (r *Report) breakerChart() (c breakerChart) {
	all := r.To.Sub(r.From).Seconds()
	for _, l := range r.breakers {
		lane := breakerLane{Tool: l.tool, Trips: l.trips}
		for _, s := range l.segments {
			lane.Bars = append(lane.Bars, rect{
				X: boxWidth * s.from.Sub(r.From).Seconds() / all, W: max(boxWidth*s.to.Sub(s.from).Seconds()/all, 1), H: boxHeight,
				Class: s.state.String(), Title: fmt.Sprintf("%s from %s to %s", s.state, stamp(s.from), stamp(s.to)),
			})
		}
		c.Lanes = append(c.Lanes, lane)
	}
	c.Ticks = timeTicks(r.From, r.To)
	return c
}
