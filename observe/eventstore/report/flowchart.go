package report

import "fmt"

// flowChart draws calls as bands between three columns: all calls, how each was
// answered, and what is known of its effect.
type flowChart struct {
	Bands []band
	Nodes []node
}

type band struct{ Path, Class, Title string }

// node is a word beside a column, at a share of the height.
type node struct {
	Column int
	rect
	Name  string
	Calls int64
	At    float64 // per cent of the height, of its middle
}

const (
	columnWidth = 14.0
	gap         = 6.0 // between the nodes of a column
)

// columns are where the three columns begin.
var columns = [3]float64{0, (boxWidth - columnWidth) / 2, boxWidth - columnWidth}

func (f *flow) chart() (c flowChart) {
	if f.calls == 0 {
		return c
	}
	var byWay [len(ways)]int64
	var byOutcome [len(outcomes)]int64
	for w := range f.links {
		for o, n := range f.links[w] {
			byWay[w] += n
			byOutcome[o] += n
		}
	}
	all := c.column(0, f.calls, []int64{f.calls}, []string{"calls"}, []string{"all"})
	middle := c.column(1, f.calls, byWay[:], ways[:], []string{"ran", "refused", "memory", "elsewhere"})
	right := c.column(2, f.calls, byOutcome[:], outcomeWords[:], []string{"succeeded", "not_started", "failed", "unknown_outcome"})
	c.spread()
	from, to := all[0].Y, [len(outcomes)]float64{}
	for w := range ways {
		h := all[0].H * share(byWay[w], f.calls)
		c.band(0, from, h, middle[w].Y, middle[w].H, "all", fmt.Sprintf("%s: %d calls", ways[w], byWay[w]))
		from += h
		out := middle[w].Y
		for o, n := range f.links[w] {
			leaves, arrives := middle[w].H*share(n, byWay[w]), right[o].H*share(n, byOutcome[o])
			c.band(1, out, leaves, right[o].Y+to[o], arrives, right[o].Class, fmt.Sprintf("%s, %s: %d calls", ways[w], outcomeWords[o], n))
			out += leaves
			to[o] += arrives
		}
	}
	return c
}

// column stacks the nodes of one column; those without calls take no room.
func (c *flowChart) column(n int, all int64, calls []int64, names, classes []string) []rect {
	used := 0
	for _, k := range calls {
		if k > 0 {
			used++
		}
	}
	room, y := boxHeight-gap*float64(max(used-1, 0)), 0.0
	rects := make([]rect, len(calls))
	for i, k := range calls {
		rects[i] = rect{X: columns[n], Y: y, W: columnWidth, H: room * share(k, all), Class: classes[i], Title: fmt.Sprintf("%s: %d calls", names[i], k)}
		if k > 0 {
			c.Nodes = append(c.Nodes, node{Column: n, rect: rects[i], Name: names[i], Calls: k, At: y + rects[i].H/2})
			y += rects[i].H + gap
		}
	}
	return rects
}

// apart is how far the words of a column stand from each other, at least.
const apart = 11.0

// spread moves words that would stand over each other: down first, then up from
// the lower edge.
func (c *flowChart) spread() {
	for column := range columns {
		var of []*node
		for i := range c.Nodes {
			if c.Nodes[i].Column == column {
				of = append(of, &c.Nodes[i])
			}
		}
		for i := 1; i < len(of); i++ {
			of[i].At = max(of[i].At, of[i-1].At+apart)
		}
		edge := boxHeight - apart/2
		for i := len(of) - 1; i >= 0; i-- {
			of[i].At = min(of[i].At, edge)
			edge = of[i].At - apart
		}
	}
}

// band draws calls from column n to the next.
func (c *flowChart) band(n int, from, h, to, arrives float64, class, title string) {
	if h <= 0 || arrives <= 0 {
		return
	}
	left, right := columns[n]+columnWidth, columns[n+1]
	bend := (left + right) / 2
	c.Bands = append(c.Bands, band{Class: class, Title: title, Path: fmt.Sprintf(
		"M%.2f %.2f C%.2f %.2f %.2f %.2f %.2f %.2f L%.2f %.2f C%.2f %.2f %.2f %.2f %.2f %.2f Z",
		left, from, bend, from, bend, to, right, to, right, to+arrives, bend, to+arrives, bend, from+h, left, from+h)})
}
