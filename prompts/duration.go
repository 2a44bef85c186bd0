package prompts

import (
	"strconv"
	"time"
)

// unit is a word for a duration, from small to large.
type unit uint8

const (
	millisecond unit = iota
	second
	minute
	hour
	day
	unitEnd
)

const unitCount = int(unitEnd)

var unitNames = [unitCount]string{"millisecond", "second", "minute", "hour", "day"}

// appendDuration writes a positive d in at most two units, rounded up, so that
// a wait is never named too short. Below a second it is a full second, except
// where fine asks for milliseconds.
func (c *Catalogue) appendDuration(dst []byte, d time.Duration, fine bool) []byte {
	if fine && d < time.Second {
		return c.appendUnit(dst, roundUp(int64(d), 1e6)/1e6, millisecond)
	}
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	if s >= 3600 {
		s = roundUp(s, 60)
	}
	if s >= 86400 {
		s = roundUp(s, 3600)
	}
	return c.appendSeconds(dst, s)
}

// roundUp returns the smallest multiple of m that is at least n.
func roundUp(n, m int64) int64 { return (n + m - 1) / m * m }

func (c *Catalogue) appendSeconds(dst []byte, s int64) []byte {
	start := len(dst)
	for _, u := range [...]struct {
		unit    unit
		seconds int64
	}{{day, 86400}, {hour, 3600}, {minute, 60}, {second, 1}} {
		if s < u.seconds {
			continue
		}
		if len(dst) > start {
			dst = append(dst, c.marks.unitGap...)
		}
		dst = c.appendUnit(dst, s/u.seconds, u.unit)
		s %= u.seconds
	}
	return dst
}

func (c *Catalogue) appendUnit(dst []byte, n int64, u unit) []byte {
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, c.units[u]...)
}
