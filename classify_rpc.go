package toolguard

import (
	"fmt"
	"reflect"
	"strings"
)

// rpcCodes are the codes of gRPC by number. Unknown stays unknown: it is what a
// server makes of any error that is no status, business refusals included. A
// message over the size limit is ResourceExhausted too, and may be the answer
// to work that was done; so that one is not definite.
var rpcCodes = [...]struct {
	name string // as connect and twirp write it
	code Code
}{
	1:  {"canceled", CodeUnknownError},
	2:  {"unknown", CodeUnknownError},
	3:  {"invalid_argument", CodeRequestRejected},
	4:  {"deadline_exceeded", CodeDownstreamTimeout},
	5:  {"not_found", CodeNotFound},
	6:  {"already_exists", CodeConflict},
	7:  {"permission_denied", CodePermissionDenied},
	8:  {"resource_exhausted", CodeResourceExhausted},
	9:  {"failed_precondition", CodeConflict},
	10: {"aborted", CodeRolledBack},
	11: {"out_of_range", CodeRequestRejected},
	12: {"unimplemented", CodeRequestRejected},
	13: {"internal", CodeServerError},
	14: {"unavailable", CodeServiceUnavailable},
	15: {"data_loss", CodeServerError},
	16: {"unauthenticated", CodeAuthExpired},
}

const (
	rpcCanceled         = 1
	rpcDeadlineExceeded = 4
)

func byRPC(err error) finding {
	n, ok := grpcCode(err)
	if !ok {
		n, ok = ownCode(err)
	}
	if !ok || n == 0 || n >= uint64(len(rpcCodes)) {
		return finding{}
	}
	f := strong(rpcCodes[n].code, "rpc code "+rpcCodes[n].name)
	f.stopped = n == rpcCanceled || n == rpcDeadlineExceeded
	return f
}

// The method names below are constants on purpose: with a name it cannot see,
// the linker would keep every method of the whole program.

// grpcCode reads the status of an error with a GRPCStatus method.
func grpcCode(err error) (uint64, bool) {
	status, ok := resultOf(reflect.ValueOf(err).MethodByName("GRPCStatus"))
	if !ok || status.Kind() == reflect.Pointer && status.IsNil() {
		return 0, false
	}
	code, ok := resultOf(status.MethodByName("Code"))
	if !ok || !code.CanUint() {
		return 0, false
	}
	return code.Uint(), true
}

// ownCode reads a Code method whose result calls itself by the name of an RPC
// code, by number as in connect or as a string as in twirp.
func ownCode(err error) (uint64, bool) {
	code, ok := resultOf(reflect.ValueOf(err).MethodByName("Code"))
	if !ok || code.Type().PkgPath() == "" {
		return 0, false
	}
	name, numbered := rpcName(code)
	for n := range rpcCodes {
		if n > 0 && rpcCodes[n].name == name {
			return uint64(n), !numbered || code.Uint() == uint64(n)
		}
	}
	return 0, false
}

func rpcName(code reflect.Value) (name string, numbered bool) {
	if code.Kind() == reflect.String {
		return code.String(), false
	}
	if s, ok := code.Interface().(fmt.Stringer); ok && code.CanUint() {
		return strings.ToLower(s.String()), true
	}
	return "", false
}

// resultOf calls a method that takes nothing and returns one value.
func resultOf(method reflect.Value) (reflect.Value, bool) {
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return reflect.Value{}, false
	}
	v := method.Call(nil)[0]
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v, v.IsValid()
}

// apiCodes are the error codes of AWS services, which come with status 400
// where others send 429 or 403.
var apiCodes = map[string]Code{
	"Throttling": CodeRateLimited, "ThrottlingException": CodeRateLimited, "ThrottledException": CodeRateLimited,
	"RequestThrottled": CodeRateLimited, "RequestThrottledException": CodeRateLimited, "RequestLimitExceeded": CodeRateLimited,
	"TooManyRequestsException": CodeRateLimited, "ProvisionedThroughputExceededException": CodeRateLimited,
	"SlowDown": CodeRateLimited, "BandwidthLimitExceeded": CodeRateLimited,
	"AccessDenied": CodePermissionDenied, "AccessDeniedException": CodePermissionDenied, "UnauthorizedOperation": CodePermissionDenied,
	"ExpiredToken": CodeAuthExpired, "ExpiredTokenException": CodeAuthExpired, "RequestExpired": CodeAuthExpired,
	"NoSuchKey": CodeNotFound, "NoSuchBucket": CodeNotFound, "ResourceNotFoundException": CodeNotFound,
	"ConditionalCheckFailedException": CodeConflict, "ResourceInUseException": CodeConflict,
	"TransactionCanceledException": CodeConflict,
	"ServiceUnavailable":           CodeServiceUnavailable, "ServiceUnavailableException": CodeServiceUnavailable,
}

func byAPICode(err error) finding {
	e, ok := err.(interface{ ErrorCode() string })
	if !ok {
		return finding{}
	}
	name := e.ErrorCode()
	if code, ok := apiCodes[name]; ok {
		return strong(code, "api error "+name)
	}
	return finding{}
}
