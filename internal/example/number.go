package example

import (
	"encoding/json"
	"math/big"
	"strings"
)

// maxNumberText bounds the numbers of a schema that are looked at.
const maxNumberText = 64

// rat reads a number of the schema. One that is out of proportion reads as
// none: exact arithmetic on 1e1000000 takes tens of milliseconds.
func rat(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if !ok || len(n) > maxNumberText || len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

// limits are what a schema says of a number.
type limits struct {
	low, high           *big.Rat // nil: none
	lowIsOut, highIsOut bool
	unit                *big.Rat // nil: any number; else its multiples
}

// limitsOf reads the limits of a schema.
func limitsOf(m map[string]any, integer bool) limits {
	var l limits
	l.low, l.lowIsOut = bound(m["minimum"], m["exclusiveMinimum"], 1)
	l.high, l.highIsOut = bound(m["maximum"], m["exclusiveMaximum"], -1)
	unit, ok := rat(m["multipleOf"])
	switch {
	case ok && unit.Sign() > 0 && integer:
		l.unit = new(big.Rat).SetInt(unit.Num()) // the least integer multiple of p/q is p
	case ok && unit.Sign() > 0:
		l.unit = unit
	case integer:
		l.unit = big.NewRat(1, 1)
	}
	return l
}

// bound combines an inclusive and an exclusive limit, which up to draft 4 is a
// boolean beside the inclusive one.
func bound(inclusive, exclusive any, sign int) (*big.Rat, bool) {
	in, hasIn := rat(inclusive)
	out, hasOut := rat(exclusive)
	switch {
	case hasOut && (!hasIn || out.Cmp(in) != -sign):
		return out, true
	case hasIn:
		return in, exclusive == true
	}
	return nil, false
}

// number makes a number: 1 if it may, else something near a limit.
func (b *builder) number(m map[string]any, integer bool) (any, bool) {
	l := limitsOf(m, integer)
	var fitting []*big.Rat
	for _, r := range l.candidates() {
		r = l.shift(r, b.salt)
		if l.admit(r) {
			fitting = append(fitting, r)
		}
	}
	if len(fitting) == 0 {
		return nil, false
	}
	return spell(fitting[b.choose(len(fitting))])
}

// candidates lists numbers in the order of preference. Most fit only some schemas.
func (l limits) candidates() []*big.Rat {
	one := big.NewRat(1, 1)
	if l.unit != nil {
		return l.multiples()
	}
	list := []*big.Rat{one}
	if l.low != nil {
		list = append(list, l.low, new(big.Rat).Add(l.low, one))
	}
	if l.high != nil {
		list = append(list, l.high, new(big.Rat).Sub(l.high, one))
	}
	if l.low != nil && l.high != nil {
		middle := new(big.Rat).Add(l.low, l.high)
		list = append(list, middle.Quo(middle, big.NewRat(2, 1)))
	}
	return list
}

// multiples lists candidates that are multiples of the unit; only the first, 1,
// may not be one.
func (l limits) multiples() []*big.Rat {
	list := []*big.Rat{big.NewRat(1, 1), l.unit}
	if l.low != nil {
		at := l.below(l.low)
		list = append(list, at, l.shift(at, 1), l.shift(at, 2))
	}
	if l.high != nil {
		at := l.below(l.high)
		list = append(list, at, l.shift(at, -1))
	}
	return append(list, new(big.Rat))
}

// below returns the largest multiple of the unit up to r.
func (l limits) below(r *big.Rat) *big.Rat {
	q := new(big.Rat).Quo(r, l.unit)
	floor := new(big.Int).Div(q.Num(), q.Denom()) // Euclidean: floor, as Denom > 0
	return q.Mul(new(big.Rat).SetInt(floor), l.unit)
}

// shift returns r plus n units.
func (l limits) shift(r *big.Rat, n int) *big.Rat {
	step := big.NewRat(int64(n), 1)
	if l.unit != nil {
		step.Mul(step, l.unit)
	}
	return step.Add(step, r)
}

// admit reports whether r is within the limits.
func (l limits) admit(r *big.Rat) bool {
	if l.unit != nil && !new(big.Rat).Quo(r, l.unit).IsInt() {
		return false
	}
	return admits(l.low, l.lowIsOut, r, 1) && admits(l.high, l.highIsOut, r, -1)
}

// admits compares with one limit; sign is the side on which r may lie.
func admits(limit *big.Rat, isOut bool, r *big.Rat, sign int) bool {
	if limit == nil {
		return true
	}
	c := r.Cmp(limit)
	return c == sign || c == 0 && !isOut
}

// spell writes r as an exact decimal, if it is a short one.
func spell(r *big.Rat) (any, bool) {
	digits, exact := r.FloatPrec()
	if !exact || digits > maxNumberText {
		return nil, false
	}
	return json.Number(r.FloatString(digits)), true
}
