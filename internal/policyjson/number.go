package policyjson

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

const wantDuration = `a duration as a string, such as "60s" or "200ms"`

func (r *reader) duration(node int32, v reflect.Value) {
	if r.doc.Nodes[node].Kind == strictjson.Number {
		r.want(node, wantDuration+": a bare number has no unit")
		return
	}
	if !r.is(node, strictjson.String, wantDuration) {
		return
	}
	d, err := time.ParseDuration(r.doc.Str(node))
	switch {
	case err != nil:
		r.want(node, wantDuration)
	case d < 0:
		r.want(node, "a duration that is not negative")
	default:
		v.SetInt(int64(d))
	}
}

func (r *reader) number(node int32, v reflect.Value) {
	if v.CanFloat() {
		r.float(node, v)
		return
	}
	if !r.is(node, strictjson.Number, "a whole number") {
		return
	}
	raw := string(r.doc.Raw(node))
	if strings.HasPrefix(raw, "-") {
		r.want(node, "a whole number that is not negative")
		return
	}
	n, err := strconv.ParseUint(raw, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && n > highest(v.Type()):
		r.want(node, "at most "+strconv.FormatUint(highest(v.Type()), 10))
	case err != nil:
		r.want(node, "a whole number, written with digits only")
	case v.CanUint():
		v.SetUint(n)
	default:
		v.SetInt(int64(n))
	}
}

// highest is the largest value of an integer type.
func highest(t reflect.Type) uint64 {
	bits := t.Bits()
	if t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64 {
		bits--
	}
	return math.MaxUint64 >> (64 - bits)
}

func (r *reader) float(node int32, v reflect.Value) {
	if !r.is(node, strictjson.Number, "a number") {
		return
	}
	f, err := strconv.ParseFloat(string(r.doc.Raw(node)), v.Type().Bits())
	switch {
	case err != nil:
		r.want(node, "a number of usual size")
	case f < 0:
		r.want(node, "a number that is not negative")
	default:
		v.SetFloat(f)
	}
}
