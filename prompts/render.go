package prompts

import (
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// What a phrase names of a list: so many items, and no more of them than fit into
// so many bytes.
const (
	maxListed      = 12
	maxListedBytes = 280
)

var noVars Vars

// render appends p with the values of v, which may be nil.
func (c *Catalogue) render(dst []byte, p *phrase, v *Vars) []byte {
	if v == nil {
		v = &noVars
	}
	start := len(dst)
	for i := 0; i < len(p.parts); i++ {
		part, from := &p.parts[i], len(dst)
		switch part.op {
		case opText:
			dst = append(dst, part.text...)
		case opValue:
			dst = c.appendValue(dst, part.id, v)
		default:
			if v.has(part.id) != (part.op == opPresent) {
				i += part.skip
			}
		}
		if from > start && from < len(dst) && (dst[from-1]^dst[from])&utf8.RuneSelf != 0 {
			dst = spaceAt(dst, from)
		}
	}
	return dst
}

func (c *Catalogue) appendValue(dst []byte, id varID, v *Vars) []byte {
	switch {
	case id.isNumber():
		return strconv.AppendInt(dst, int64(v.number(id)), 10)
	case !v.has(id):
		return append(dst, c.absent[id]...)
	case id == varText:
		return c.appendQuotable(dst, v.Text)
	case id.isText():
		return c.AppendLine(dst, v.text(id))
	case id.isDuration():
		return c.appendDuration(dst, v.duration(id), id == varTimeout)
	case id == varAt:
		return appendInstant(dst, v.At)
	default:
		more := 0
		if id == varAllowed {
			more = v.AllowedMore
		}
		return c.appendList(dst, v.list(id), more, c.lastSeparator(id))
	}
}

// lastSeparator returns what stands before the last item of a list.
func (c *Catalogue) lastSeparator(id varID) string {
	switch id {
	case varAlternatives, varVerify, varNear, varAllowed:
		return c.marks.or
	case varMissing:
		return c.marks.and
	default:
		return c.marks.comma
	}
}

// appendList joins items, and counts those that are too many to be listed and
// the more that were not given.
func (c *Catalogue) appendList(dst []byte, items []string, more int, last string) []byte {
	shown := fitting(items)
	more += len(items) - len(shown)
	for i, item := range shown {
		switch {
		case i == 0:
		case i == len(shown)-1 && more == 0:
			dst = append(dst, last...)
		default:
			dst = append(dst, c.marks.comma...)
		}
		dst = c.AppendLine(dst, item)
	}
	if more > 0 {
		dst = append(dst, c.marks.comma...)
		dst = c.render(dst, &c.more, &Vars{Count: more})
	}
	return dst
}

// fitting returns the items that are named: the first in any case.
func fitting(items []string) []string {
	size := 0
	for i, item := range items {
		if size += len(item) + len(", "); i >= maxListed || i > 0 && size > maxListedBytes {
			return items[:i]
		}
	}
	return items
}

// appendInstant rounds up, so that nobody comes too early. It prints the offset
// and not the zone's name, because names such as CST have several meanings.
func appendInstant(dst []byte, t time.Time) []byte {
	if up := t.Truncate(time.Minute); up.Before(t) {
		t = up.Add(time.Minute)
	}
	if _, offset := t.Zone(); offset == 0 {
		return t.AppendFormat(dst, "2006-01-02 15:04 UTC")
	}
	return t.AppendFormat(dst, "2006-01-02 15:04 -07:00")
}

// spaceAt puts a space at dst[i], where ASCII and something else meet, if they
// are a Latin and a Chinese character.
func spaceAt(dst []byte, i int) []byte {
	latin := dst[i-1]
	han, _ := utf8.DecodeRune(dst[i:])
	if latin >= utf8.RuneSelf {
		latin = dst[i]
		han, _ = utf8.DecodeLastRune(dst[:i])
	}
	if latin <= ' ' || !unicode.Is(unicode.Han, han) {
		return dst
	}
	dst = append(dst, 0)
	copy(dst[i+1:], dst[i:])
	dst[i] = ' '
	return dst
}
