package toolguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

// sentinels are plain text errors known by identity.
var sentinels = map[error]finding{
	context.Canceled: {rank: rankWeak, code: CodeUnknownError, detail: "context: canceled", stopped: true},

	// An end of file is a broken connection only where a connection is seen
	// above it; anywhere else it is an answer that was too short.
	io.EOF:              {rank: rankWeak, code: CodeBadResponse, detail: "io: end of file", eof: true},
	io.ErrUnexpectedEOF: {rank: rankWeak, code: CodeBadResponse, detail: "io: unexpected end of file", eof: true},
	io.ErrClosedPipe:    weak(CodeConnectionLost, "io: closed pipe"),
	fs.ErrClosed:        weak(CodeConnectionLost, "io: already closed"),

	http.ErrSchemeMismatch: {rank: rankStrong, code: CodeTLSFailure, detail: "tls: the server speaks http", dial: true},
	exec.ErrNotFound:       strong(CodeNotInstalled, "exec: not found"),
	exec.ErrDot:            strong(CodeNotInstalled, "exec: found in the current directory only"),
	exec.ErrWaitDelay:      strong(CodeCommandFailed, "exec: output kept open"),

	sql.ErrNoRows:   strong(CodeNotFound, "sql: no rows"),
	sql.ErrConnDone: weak(CodeConnectionLost, "sql: connection already returned"),
	// Committed or rolled back, and no telling which.
	sql.ErrTxDone: weak(CodeUnknownError, "sql: transaction already over"),
	// By its contract a driver returns it only if the server did nothing yet.
	driver.ErrBadConn: {rank: rankStrong, code: CodeConnectionLost, detail: "sql: bad connection", dial: true},

	isolate.ErrExited:  {rank: rankStrong, code: CodeExited, detail: "goexit", spelled: true},
	isolate.ErrTimeout: {rank: rankWeak, code: CodeUnknownError, detail: "no return in time", spelled: true},
}

// standard knows the types of the standard library. It calls no method that
// would ask the error's cause anything.
func standard(err error) finding {
	switch err {
	case context.DeadlineExceeded:
		return finding{rank: rankWeak, code: CodeDownstreamTimeout, detail: "context: deadline exceeded", stopped: true}
	case os.ErrDeadlineExceeded:
		return weak(CodeDownstreamTimeout, "net: i/o timeout")
	case net.ErrClosed:
		return strong(CodeConnectionLost, "net: closed connection")
	}
	for _, rule := range [...]func(error) finding{byNetwork, byTLS, byLocal, byDecoder} {
		if f := rule(err); f != (finding{}) {
			return f
		}
	}
	return finding{}
}

func byNetwork(err error) finding {
	switch e := err.(type) {
	case *net.OpError:
		return opFinding(e.Op)
	case *net.DNSError:
		return finding{rank: rankStrong, code: CodeDNSFailure, detail: "dns: " + dnsDetail(e), dial: true}
	case *url.Error:
		if e.Op == "parse" {
			return weak(CodeUnknownError, "url: parse")
		}
		return finding{network: true}
	case *os.SyscallError:
		connecting := e.Syscall == "connect" || e.Syscall == "connectex"
		return finding{network: connecting, dial: connecting}
	case syscall.Errno:
		return errnoFinding(e)
	}
	return finding{}
}

// opFinding: only these operations end before a request can begin. A refused
// read or write is an answer to something that was sent.
func opFinding(op string) finding {
	switch op {
	case "dial", "proxyconnect", "socks connect":
		return finding{network: true, dial: true}
	case "remote error", "local error": // crypto/tls names its alerts so
		return strong(CodeTLSFailure, "tls: alert")
	default:
		return finding{network: true}
	}
}

func dnsDetail(e *net.DNSError) string {
	switch {
	case e.IsNotFound:
		return "no such host"
	case e.IsTimeout:
		return "timeout"
	default:
		return "lookup failed"
	}
}

// errnos maps system errors; the Windows ones have numbers no Unix uses.
var errnos = []struct {
	code   Code
	detail string
	errnos []syscall.Errno
}{
	{CodeConnectionRefused, "net: connection refused", []syscall.Errno{syscall.ECONNREFUSED, 10061}},
	{CodeConnectionLost, "net: connection reset", []syscall.Errno{syscall.ECONNRESET, syscall.ECONNABORTED, 10053, 10054}},
	{CodeConnectionLost, "net: broken pipe", []syscall.Errno{syscall.EPIPE}},
	{CodeConnectionLost, "net: not connected", []syscall.Errno{syscall.ENOTCONN, syscall.ESHUTDOWN, 10057, 10058}},
	{CodeConnectionLost, "net: unreachable", []syscall.Errno{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN, 10051, 10065}},
	{CodeDownstreamTimeout, "net: connection timed out", []syscall.Errno{syscall.ETIMEDOUT, 10060}},
	{CodeResourceExhausted, "os: too many open files", []syscall.Errno{syscall.EMFILE, syscall.ENFILE, 10024}},
	{CodeResourceExhausted, "os: out of space or memory", []syscall.Errno{syscall.ENOSPC, syscall.ENOMEM, syscall.EDQUOT}},
}

func errnoFinding(errno syscall.Errno) finding {
	for _, row := range errnos {
		if slices.Contains(row.errnos, errno) {
			return strong(row.code, row.detail)
		}
	}
	return finding{}
}

// byTLS: a certificate is refused before any request is sent, and so is a first
// record that is not TLS; an alert may come after.
func byTLS(err error) finding {
	f := strong(CodeTLSFailure, "tls: certificate not trusted")
	switch e := err.(type) {
	case *tls.CertificateVerificationError:
		f.dial = true
	case x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError, x509.SystemRootsError,
		x509.ConstraintViolationError, x509.UnhandledCriticalExtension, x509.InsecureAlgorithmError:
	case tls.RecordHeaderError:
		f.detail, f.dial = "tls: not a tls record", e.Conn != nil
	case tls.AlertError, *tls.ECHRejectionError:
		f.detail = "tls: alert"
	default:
		return finding{}
	}
	return f
}

// byLocal: programs, files, and code that misbehaved.
//
// A missing or forbidden file is neither a missing business object nor the
// caller's missing right: it may be the tool's own template. So it stays
// unknown; a tool whose business is files says [NotFound] itself.
func byLocal(err error) finding {
	switch e := err.(type) {
	case *exec.Error:
		return strong(CodeNotInstalled, "exec: cannot run")
	case *exec.ExitError:
		return strong(CodeCommandFailed, "exec: exit code "+strconv.Itoa(e.ExitCode()))
	case *fs.PathError:
		if e.Op == "fork/exec" {
			return strong(CodeNotInstalled, "exec: cannot start")
		}
		return weak(CodeUnknownError, "local file")
	case *os.LinkError:
		return weak(CodeUnknownError, "local file")
	case *isolate.PanicError:
		return strong(CodePanic, "panic")
	}
	return finding{}
}

// byDecoder: whatever the tool could not decode came from elsewhere. The model's
// own arguments are parsed before the tool runs.
func byDecoder(err error) finding {
	switch err.(type) {
	case *json.SyntaxError, *json.UnmarshalTypeError:
		return weak(CodeBadResponse, "json: cannot decode")
	case *strconv.NumError, *time.ParseError, base64.CorruptInputError:
		return weak(CodeBadResponse, "cannot decode")
	case *json.UnsupportedValueError, *json.UnsupportedTypeError, *json.MarshalerError:
		return weak(CodeUnknownError, "json: cannot encode the result")
	}
	return finding{}
}
