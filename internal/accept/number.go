package accept

import (
	"bytes"
	"encoding/json"
	"math/big"
)

// Numbers beyond these bounds are not looked at. Exact arithmetic on them is
// slow enough to be an attack: 1e1000000 costs tens of milliseconds.
const (
	maxDigits   = 1000
	maxExponent = 400
)

// A number is an exact decimal: mantissa × 10^exponent if small, else raw.
type number struct {
	mantissa int64
	exponent int
	small    bool
	raw      []byte
}

// parseNumber reads JSON number text. It reports false for a number that is
// out of bounds, or not a number at all.
func parseNumber(raw []byte) (number, bool) {
	var m mantissa
	at := 0
	if len(raw) > 0 && raw[0] == '-' {
		at = 1
	}
	for at < len(raw) && m.add(raw[at]) {
		at++
	}
	exponent, ok := parseExponent(raw[at:])
	if !ok || m.digits == 0 || m.digits > maxDigits {
		return number{}, false
	}
	if raw[0] == '-' {
		m.value = -m.value
	}
	return number{
		mantissa: m.value,
		exponent: exponent - m.fraction,
		small:    m.significant <= smallDigits,
		raw:      raw,
	}, true
}

// smallDigits always fit an int64, with room to compare.
const smallDigits = 18

// mantissa collects the digits before the exponent.
type mantissa struct {
	value       int64
	digits      int
	significant int // digits without leading zeros
	fraction    int // digits behind the point
	point       bool
}

// add takes one character, false if it does not belong to the mantissa.
func (m *mantissa) add(c byte) bool {
	if c == '.' {
		m.point = true
		return true
	}
	if c < '0' || c > '9' {
		return false
	}
	m.digits++
	if m.point {
		m.fraction++
	}
	if m.significant > 0 || c != '0' {
		m.significant++
	}
	if m.significant <= smallDigits {
		m.value = m.value*10 + int64(c-'0')
	}
	return true
}

// parseExponent reads what follows the digits: nothing, or e and an integer.
func parseExponent(raw []byte) (int, bool) {
	if len(raw) == 0 {
		return 0, true
	}
	if raw[0]|0x20 != 'e' || len(raw) < 2 {
		return 0, false
	}
	raw = raw[1:]
	negative := raw[0] == '-'
	if negative || raw[0] == '+' {
		raw = raw[1:]
	}
	exponent := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		exponent = exponent*10 + int(c-'0')
		if exponent > maxExponent {
			return 0, false
		}
	}
	if negative {
		exponent = -exponent
	}
	return exponent, len(raw) > 0
}

// schemaNumber reads a number of the schema.
func (s schema) schemaNumber(v any) *number {
	text, ok := v.(json.Number)
	n, usable := parseNumber([]byte(text))
	if !ok || !usable {
		s.beyond = true
		return nil
	}
	return &n
}

// rat is the slow, exact form. It cannot fail for a parsed number, and the
// bounds on digits and exponent bound its cost.
func (n number) rat() *big.Rat {
	r, ok := new(big.Rat).SetString(string(n.raw))
	if !ok {
		panic("accept: parsed number is no number: " + string(n.raw))
	}
	return r
}

// isInteger goes by value: 5.0 and 1e2 are integers, in draft 4 too, where
// jsonschema/v5 is more generous than the specification.
func (n number) isInteger() bool {
	if !n.small {
		return n.rat().IsInt()
	}
	if n.exponent >= 0 {
		return true
	}
	unit, ok := scale(1, -n.exponent)
	if !ok {
		return n.mantissa == 0
	}
	return n.mantissa%unit == 0
}

// compare returns -1, 0 or 1, exactly.
func (n number) compare(m number) int {
	a, b, ok := align(n, m)
	switch {
	case !ok:
		return n.rat().Cmp(m.rat())
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// isMultipleOf expects m to be positive.
func (n number) isMultipleOf(m number) bool {
	a, b, ok := align(n, m)
	if ok {
		return a%b == 0
	}
	x, y := n.big(), m.big()
	if n.exponent > m.exponent {
		x.Mul(x, powerOfTen(n.exponent-m.exponent))
	} else {
		y.Mul(y, powerOfTen(m.exponent-n.exponent))
	}
	return x.Rem(x, y).Sign() == 0
}

// big returns the mantissa, of any length. A fraction of the two numbers would
// be reduced first, which takes a hundred times as long.
func (n number) big() *big.Int {
	if n.small {
		return big.NewInt(n.mantissa)
	}
	digits, _, _ := bytes.Cut(bytes.ToLower(n.raw), []byte("e"))
	v, ok := new(big.Int).SetString(string(bytes.ReplaceAll(digits, []byte("."), nil)), 10)
	if !ok {
		panic("accept: parsed number is no number: " + string(n.raw))
	}
	return v
}

func powerOfTen(exponent int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
}

// IsMultiple reports whether v is a multiple of divisor, exactly. It is false
// for what is out of the bounds of this package, or not a positive divisor.
func IsMultiple(v, divisor json.Number) bool {
	n, known := parseNumber([]byte(v))
	m, usable := parseNumber([]byte(divisor))
	return known && usable && m.compare(number{small: true}) > 0 && n.isMultipleOf(m)
}

// align brings two small numbers to one exponent.
func align(n, m number) (a, b int64, ok bool) {
	if !n.small || !m.small {
		return 0, 0, false
	}
	a, b, ok = n.mantissa, m.mantissa, true
	switch {
	case n.exponent > m.exponent:
		a, ok = scale(a, n.exponent-m.exponent)
	case n.exponent < m.exponent:
		b, ok = scale(b, m.exponent-n.exponent)
	}
	return a, b, ok
}

// scale returns v × 10^digits unless it overflows.
func scale(v int64, digits int) (int64, bool) {
	const limit = (1<<63 - 1) / 10
	if v == 0 {
		return 0, true
	}
	for ; digits > 0; digits-- {
		if v > limit || v < -limit {
			return 0, false
		}
		v *= 10
	}
	return v, true
}

// hasPoint reports whether number text is not written as plain digits.
func hasPoint(raw []byte) bool { return bytes.ContainsAny(raw, ".eE") }

// numberRules are the keywords for numbers.
type numberRules struct {
	min, max, above, below, multiple *number
}

// numberRules returns nil if no keyword constrains numbers.
func (s schema) numberRules() *numberRules {
	r := numberRules{
		min:      s.limit("minimum"),
		max:      s.limit("maximum"),
		above:    s.limit("exclusiveMinimum"),
		below:    s.limit("exclusiveMaximum"),
		multiple: s.limit("multipleOf"),
	}
	// Draft 4 makes minimum exclusive by a boolean beside it.
	if s.m["exclusiveMinimum"] == true {
		r.min, r.above = nil, r.min
	}
	if s.m["exclusiveMaximum"] == true {
		r.max, r.below = nil, r.max
	}
	if r.multiple != nil && r.multiple.compare(number{small: true}) <= 0 {
		s.beyond = true
	}
	if r == (numberRules{}) {
		return nil
	}
	return &r
}

// limit reads a number, nil if it is absent or the boolean of draft 4.
func (s schema) limit(keyword string) *number {
	v, ok := s.m[keyword]
	if _, isBool := v.(bool); !ok || isBool {
		return nil
	}
	return s.schemaNumber(v)
}

// accept compares n with every limit that is set.
func (r *numberRules) accept(n number) bool {
	return (r.min == nil || n.compare(*r.min) >= 0) &&
		(r.max == nil || n.compare(*r.max) <= 0) &&
		(r.above == nil || n.compare(*r.above) > 0) &&
		(r.below == nil || n.compare(*r.below) < 0) &&
		(r.multiple == nil || n.isMultipleOf(*r.multiple))
}
