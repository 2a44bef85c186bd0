// Package retryafter reads how long a server asks its clients to wait.
//
// It understands Retry-After (RFC 9110 §10.2.3) in seconds, with a fraction if
// there is one, and in the three forms of an HTTP date, and the millisecond
// headers Retry-After-Ms and X-Ms-Retry-After-Ms. The headers that tell when a
// rate limit resets are left alone: RateLimit-Reset is a number of seconds in
// one dialect and an epoch time, in seconds or milliseconds, in others.
package retryafter

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Max is the longest wait that is reported; longer ones are cut to it.
const Max = 365 * 24 * time.Hour

// Parse returns the wait the headers of an answer ask for. Milliseconds, being
// finer, win over Retry-After; of several values of one header the longest wins.
// It returns false if no header says anything that can be understood.
func Parse(h http.Header, now time.Time) (time.Duration, bool) {
	for _, name := range [...]string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if d, ok := longest(h.Values(name), milliseconds); ok {
			return d, true
		}
	}
	return longest(h.Values("Retry-After"), func(value string) (time.Duration, bool) {
		return ParseValue(value, now)
	})
}

// ParseValue returns the wait one Retry-After value asks for: a number of
// seconds or an HTTP date, which is measured against now and not against the
// answer's Date header. A date in the past is a wait of 0. The result is between
// 0 and [Max], rounded up, never earlier than asked. Negative and garbled values
// give false, so that the caller's own backoff applies.
func ParseValue(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if d, ok := number(value, time.Second); ok {
		return d, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(0, at.Sub(now)), Max), true
}

func longest(values []string, parse func(string) (time.Duration, bool)) (wait time.Duration, found bool) {
	for _, value := range values {
		if d, ok := parse(value); ok {
			wait, found = max(wait, d), true
		}
	}
	return wait, found
}

func milliseconds(value string) (time.Duration, bool) {
	return number(strings.TrimSpace(value), time.Millisecond)
}

// number reads plain decimal digits with at most one point. ParseFloat alone
// would also take signs, exponents, hexadecimal, "inf" and "nan".
func number(s string, unit time.Duration) (time.Duration, bool) {
	if s == "" || s[0] == '.' || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	// Compared as floats: the product may be beyond any Duration, or infinite.
	if f *= float64(unit); f >= float64(Max) {
		return Max, true
	}
	return time.Duration(math.Ceil(f)), true
}
