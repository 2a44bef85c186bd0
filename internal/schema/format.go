package schema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// formats are the asserted formats, for all drafts alike.
// The map is never written to.
var formats = map[string]func(string) bool{
	"date-time": isDateTime,
	"date":      isDate,
	"email":     isEmail,
	"uri":       isURI,
	"uuid":      isUUID,
	"ipv4":      isIPv4,
	"ipv6":      isIPv6,
}

// isDate relies on the fixed width of the layout: "2024-1-2" does not fit.
func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isDateTime wants the letter T, which RFC 3339 lets be lower case, and a zone:
// a time without one is a different instant for everybody who reads it.
func isDateTime(s string) bool {
	const date = len(time.DateOnly)
	if len(s) <= date || (s[date] != 'T' && s[date] != 't') {
		return false
	}
	return isDate(s[:date]) && isTime(s[date+1:])
}

// isTime checks an RFC 3339 full-time. The time package is of no use here:
// it refuses leap seconds and lower case, and takes a comma for a point.
func isTime(s string) bool {
	const clock = len("15:04:05")
	if len(s) <= clock || s[2] != ':' || s[5] != ':' {
		return false
	}
	if !upTo(s[:2], 23) || !upTo(s[3:5], 59) || !upTo(s[6:8], 60) {
		return false
	}
	rest := s[clock:]
	if rest[0] == '.' {
		rest = strings.TrimLeft(rest[1:], "0123456789")
		if len(rest) == len(s)-clock-1 {
			return false // a point, but no digit
		}
	}
	return isZone(rest)
}

// isZone checks a time-offset.
func isZone(s string) bool {
	if s == "Z" || s == "z" {
		return true
	}
	return len(s) == 6 && (s[0] == '+' || s[0] == '-') && s[3] == ':' &&
		upTo(s[1:3], 23) && upTo(s[4:], 59)
}

// upTo reports whether the two bytes of s are digits of a number up to limit.
func upTo(s string, limit int) bool {
	hi, lo := s[0]-'0', s[1]-'0'
	return hi <= 9 && lo <= 9 && int(hi)*10+int(lo) <= limit
}

// isEmail leaves the grammar to net/mail, but wants the bare address.
func isEmail(s string) bool {
	if len(s) > 254 || strings.ContainsAny(s, "<>") {
		return false
	}
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && s == strings.TrimSpace(s)
}

// isURI wants a scheme. Characters outside ASCII pass, as models and people
// write them; spaces in a host do not.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs()
}

// isUUID checks the shape only: versions and variants keep being invented.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if !isHex(s[i]) {
				return false
			}
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// isIPv4 refuses leading zeros, which some readers take for octal.
func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

// isIPv6 refuses zones, which mean something on one host only.
func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}
