package toolguard

import (
	"context"
	"database/sql"
	"reflect"
	"strings"
)

// foreignRules are asked about an error whose type the guard does not know, by
// the shapes such types usually have. Where several have something equally good
// to say, the first is believed.
var foreignRules = [...]func(error) finding{
	byTypeName, byAPICode, byRPC, bySQLState, byMySQL, byHTTP, byBehaviour,
}

func foreign(err error) finding {
	f := careful(standard, err)
	for _, rule := range foreignRules {
		f = careful(rule, err).over(f)
	}
	return f
}

// limitedTypes end the names of errors that mean a rate limit, whatever status
// came with it: GitHub sends 403.
var limitedTypes = [...]string{
	"RateLimitError", "RateLimitedError", "TooManyRequestsError", "TooManyRequestsException",
	"ThrottlingError", "ThrottlingException",
}

func byTypeName(err error) finding {
	name := typeName(err)
	for _, suffix := range limitedTypes {
		if strings.HasSuffix(name, suffix) {
			f := strong(CodeRateLimited, "error type named "+suffix)
			f.definite = httpStatus(err) >= 400 // without an answer it is only a name
			return f
		}
	}
	return finding{}
}

// byBehaviour asks the methods that many types share. Is catches those that
// stand for an error without wrapping it.
func byBehaviour(err error) finding {
	var f finding
	if e, ok := err.(interface{ Is(error) bool }); ok {
		switch {
		case e.Is(context.DeadlineExceeded):
			f = weak(CodeDownstreamTimeout, "context: deadline exceeded")
			f.stopped = true
		case e.Is(context.Canceled):
			f = sentinels[context.Canceled]
		case e.Is(sql.ErrNoRows):
			f = sentinels[sql.ErrNoRows]
		}
	}
	if e, ok := err.(interface{ Timeout() bool }); ok && f.rank == rankNone && e.Timeout() {
		f = weak(CodeDownstreamTimeout, "timeout")
	}
	return f
}

// structOf returns the struct behind err, through one pointer.
func structOf(err error) (reflect.Value, bool) {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v, v.Kind() == reflect.Struct
}

func typeName(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// fieldOf returns an exported field, promoted ones included.
func fieldOf(err error, name string) (reflect.Value, bool) {
	v, ok := structOf(err)
	if !ok {
		return reflect.Value{}, false
	}
	field, ok := v.Type().FieldByName(name)
	if !ok || !field.IsExported() {
		return reflect.Value{}, false
	}
	f, nilEmbedded := v.FieldByIndexErr(field.Index)
	return f, nilEmbedded == nil && f.CanInterface()
}

// fieldAs returns an exported field if it has the type T.
func fieldAs[T any](err error, name string) (T, bool) {
	var zero T
	f, ok := fieldOf(err, name)
	if !ok {
		return zero, false
	}
	value, ok := f.Interface().(T)
	return value, ok
}
