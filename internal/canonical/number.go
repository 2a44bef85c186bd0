package canonical

import (
	"bytes"
	"slices"
	"strconv"
)

// AppendNumber appends the number spelled by raw, which must be valid JSON, in
// its one form: all significant digits and no others, laid out by the rules of
// ECMAScript's Number::toString that RFC 8785 refers to. So 1, 1.0 and 10e-1
// are "1", 1e21 is "1e+21", 0.0000001 is "1e-7", and -0 is "0". For a number
// that is the shortest spelling of a float64 this is what RFC 8785 writes.
func AppendNumber(dst, raw []byte) []byte {
	if isPlain(raw) {
		return append(dst, raw...)
	}
	dst, start, point := appendSignificant(dst, raw)
	digits := len(dst) - start
	switch {
	case digits == 0:
		return append(dst, '0')
	case digits <= point && point <= maxPlain:
		return appendZeros(dst, point-digits)
	case 0 < point && point <= maxPlain:
		return slices.Insert(dst, start+point, '.')
	case -6 < point && point <= 0:
		return slices.Insert(dst, start, []byte("0.00000")[:2-point]...)
	}
	if digits > 1 {
		dst = slices.Insert(dst, start+1, '.')
	}
	dst = append(dst, 'e')
	if point > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(point-1), 10)
}

// AppendInteger appends the number spelled by raw without fraction and
// exponent. It reports false, and appends nothing, if the number is not an
// integer or takes more than maxDigits digits.
func AppendInteger(dst, raw []byte, maxDigits int) ([]byte, bool) {
	out, start, point := appendSignificant(dst, raw)
	digits := len(out) - start
	switch {
	case digits == 0:
		return append(out, '0'), true
	case digits > point || point > maxDigits:
		return dst, false
	}
	return appendZeros(out, point-digits), true
}

// maxPlain is the most digits before the point that are written out.
const maxPlain = 21

// isPlain reports whether raw is an integer in canonical form already.
func isPlain(raw []byte) bool {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) > maxPlain || len(digits) < len(raw) && digits[0] == '0' {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// appendSignificant appends the sign and the significant digits of raw, which
// begin at start: the number is 0.DIGITS × 10^point. Zero has neither.
func appendSignificant(dst, raw []byte) (out []byte, start, point int) {
	negative := raw[0] == '-'
	if negative {
		raw = raw[1:]
		dst = append(dst, '-')
	}
	mantissa, exponent := raw, 0
	if e := bytes.IndexAny(raw, "eE"); e >= 0 {
		mantissa, exponent = raw[:e], parseExponent(raw[e+1:])
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	start = len(dst)
	dst = append(append(dst, whole...), fraction...)
	digits := bytes.TrimLeft(dst[start:], "0")
	point = len(whole) + exponent - (len(dst) - start - len(digits))
	digits = bytes.TrimRight(digits, "0")
	if len(digits) == 0 && negative {
		start--
	}
	dst = dst[:start+copy(dst[start:], digits)]
	return dst, start, point
}

// parseExponent reads an exponent of any length; the parser bounds its value.
func parseExponent(text []byte) (n int) {
	negative := text[0] == '-'
	for _, c := range bytes.TrimLeft(text, "+-") {
		n = n*10 + int(c-'0')
	}
	if negative {
		return -n
	}
	return n
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}
