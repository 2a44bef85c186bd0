package httpguard

// eventLines tells the data of an event stream from what only keeps it alive,
// across the borders of chunks. The zero value stands at the start of a line.
type eventLines struct {
	matched int  // bytes of "data" the line at hand has begun with
	kind    line // what the line at hand is
}

type line uint8

const (
	lineUndecided line = iota // so far a prefix of "data"
	lineData
	lineOther
)

const dataField = "data"

// data returns how many bytes of b belong to the values of data lines. Other
// fields do not count: an event without data is never dispatched.
func (l *eventLines) data(b []byte) int {
	n := 0
	for _, c := range b {
		switch {
		case c == '\n' || c == '\r':
			*l = eventLines{}
		case l.kind == lineData:
			n++
		case l.kind == lineUndecided:
			l.decide(c)
		}
	}
	return n
}

// decide takes the next byte of a line's field name.
func (l *eventLines) decide(c byte) {
	switch {
	case l.matched < len(dataField) && c == dataField[l.matched]:
		l.matched++
	case l.matched == len(dataField) && c == ':':
		l.kind = lineData
	default:
		l.kind = lineOther
	}
}
