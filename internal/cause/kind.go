package cause

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"syscall"
	"time"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

// Kind says whose code an error's methods are.
type Kind uint8

const (
	// KindForeign errors may do anything when asked anything.
	KindForeign Kind = iota
	// KindNil is a nil pointer, map, slice, func or channel inside an error: asked
	// for its text it would most likely panic.
	KindNil
	// KindText is what [errors.New] makes, and [fmt.Errorf] without %w.
	KindText
	// KindWrap is what [fmt.Errorf] makes of one %w.
	KindWrap
	// KindWrapMany is what [fmt.Errorf] makes of several %w.
	KindWrapMany
	// KindJoin is what [errors.Join] makes.
	KindJoin
	// KindStandard is a type of the standard library whose Unwrap only reads a field.
	KindStandard
	// KindOwn is a type the caller of this package vouches for.
	KindOwn
)

// Plain reports whether an error of this kind is nothing but text.
func (k Kind) Plain() bool {
	return k == KindText || k == KindWrap || k == KindWrapMany || k == KindJoin
}

// textType is that of [errors.New].
var textType = reflect.TypeOf(errors.New(""))

// kinds lists the types whose methods run no code from elsewhere, the Error
// method aside: a *url.Error asks its cause for a text, whoever that is.
var kinds = func() map[reflect.Type]Kind {
	one, two := errors.New("one"), errors.New("two")
	m := map[reflect.Type]Kind{
		textType:                                          KindText,
		reflect.TypeOf(fmt.Errorf("text %d", 1)):          KindText,
		reflect.TypeOf(fmt.Errorf("text: %w", one)):       KindWrap,
		reflect.TypeOf(fmt.Errorf("%w and %w", one, two)): KindWrapMany,
		reflect.TypeOf(errors.Join(one)):                  KindJoin,
	}
	for _, err := range []error{
		context.DeadlineExceeded, os.ErrDeadlineExceeded, net.ErrClosed, syscall.Errno(0),
		(*net.OpError)(nil), (*net.DNSError)(nil), (*net.AddrError)(nil), (*url.Error)(nil),
		(*os.SyscallError)(nil), (*os.LinkError)(nil), (*fs.PathError)(nil),
		(*exec.Error)(nil), (*exec.ExitError)(nil),
		(*tls.CertificateVerificationError)(nil), tls.RecordHeaderError{}, tls.AlertError(0),
		x509.UnknownAuthorityError{}, x509.HostnameError{}, x509.CertificateInvalidError{}, x509.SystemRootsError{},
		(*json.SyntaxError)(nil), (*json.UnmarshalTypeError)(nil), (*json.UnsupportedValueError)(nil), (*json.UnsupportedTypeError)(nil),
		(*strconv.NumError)(nil), (*time.ParseError)(nil),
		(*isolate.PanicError)(nil),
	} {
		m[reflect.TypeOf(err)] = KindStandard
	}
	return m
}()

// kindOf calls nothing of err's. Typed nils come first: their type may be known.
func kindOf(err error, own func(error) bool) Kind {
	if IsNil(err) {
		return KindNil
	}
	t := reflect.TypeOf(err)
	if t == textType {
		return KindText // as most are
	}
	if k, ok := kinds[t]; ok {
		return k
	}
	if own != nil && own(err) {
		return KindOwn
	}
	return KindForeign
}

// IsNil reports whether err is nil or holds a nil pointer, map, slice, func or
// channel. It calls no method of err.
func IsNil(err error) bool {
	if err == nil {
		return true
	}
	v := reflect.ValueOf(err)
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return v.IsNil()
	default:
		return false
	}
}
