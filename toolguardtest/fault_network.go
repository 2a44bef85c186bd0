package toolguardtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"syscall"

	"github.com/toolguard-go/toolguard"
)

// networkFaults are the errors of net and net/http, wrapped as a client wraps them.
func networkFaults() []Fault {
	return []Fault{
		Failure("connection refused", toolguard.CodeConnectionRefused, func() error {
			return sent(onAddress("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)))
		}).proof(),
		Failure("connection reset", toolguard.CodeConnectionLost, func() error {
			return sent(onAddress("read", os.NewSyscallError("read", syscall.ECONNRESET)))
		}),
		Failure("broken pipe", toolguard.CodeConnectionLost, func() error {
			return sent(onAddress("write", os.NewSyscallError("write", syscall.EPIPE)))
		}),
		Failure("end of file before the answer", toolguard.CodeConnectionLost, func() error { return sent(io.EOF) }),
		Failure("answer cut off", toolguard.CodeBadResponse, func() error {
			return fmt.Errorf("reading %s: %w", secretURL, io.ErrUnexpectedEOF)
		}),
		Failure("no route to host", toolguard.CodeConnectionRefused, func() error {
			return sent(onAddress("dial", os.NewSyscallError("connect", syscall.EHOSTUNREACH)))
		}).proof(),
		Failure("timeout of the client", toolguard.CodeDownstreamTimeout, func() error {
			return sent(onAddress("read", os.ErrDeadlineExceeded))
		}),
		Failure("deadline of another context", toolguard.CodeDownstreamTimeout, func() error { return sent(context.DeadlineExceeded) }),
		Failure("dns: no such host", toolguard.CodeDNSFailure, func() error {
			return sent(onAddress("dial", &net.DNSError{Err: "no such host", Name: secretHost, Server: secretAddr + ":53", IsNotFound: true}))
		}).proof(),
		Failure("dns: timeout", toolguard.CodeDNSFailure, func() error {
			return sent(onAddress("dial", &net.DNSError{Err: "i/o timeout", Name: secretHost, Server: secretAddr + ":53", IsTimeout: true, IsTemporary: true}))
		}).proof(),
		Failure("tls: unknown authority", toolguard.CodeTLSFailure, func() error {
			return sent(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
		}).proof(),
		Failure("tls: wrong host", toolguard.CodeTLSFailure, func() error {
			return sent(x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"other." + secretHost}}, Host: secretHost})
		}),
		Failure("tls: handshake alert", toolguard.CodeTLSFailure, func() error { return sent(onAddress("remote error", tls.AlertError(40))) }),
	}
}

// sent wraps an error as http.Client does.
func sent(err error) error { return &url.Error{Op: "Post", URL: secretURL, Err: err} }

// onAddress wraps an error as package net does.
func onAddress(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: &net.TCPAddr{IP: net.ParseIP(secretAddr), Port: 5432}, Err: err}
}

// localFaults come from the tool's own machine, or are nothing but text.
func localFaults() []Fault {
	return []Fault{
		Failure("program not installed", toolguard.CodeNotInstalled, func() error {
			return &exec.Error{Name: secretPath, Err: exec.ErrNotFound}
		}),
		Failure("file not found", toolguard.CodeUnknownError, func() error {
			return &os.PathError{Op: "open", Path: secretPath, Err: syscall.ENOENT}
		}),
		Failure("too many open files", toolguard.CodeResourceExhausted, func() error {
			return onAddress("dial", os.NewSyscallError("socket", syscall.EMFILE))
		}).proof(),
		Failure("text with a secret", toolguard.CodeUnknownError, func() error {
			return errors.New("billing failed for Authorization: Bearer " + secretToken)
		}),
		Failure("text with a connection string", toolguard.CodeUnknownError, func() error {
			return errors.New("cannot use " + secretDSN)
		}),
		Failure("text with a query", toolguard.CodeUnknownError, func() error {
			return errors.New("exec: " + secretQuery + " (id, card) VALUES (7, '" + secretPass + "')")
		}),
		Failure("text with part of a query", toolguard.CodeUnknownError, func() error {
			return errors.New("cannot run " + secretQuery)
		}),
		Failure("text of a panic", toolguard.CodeUnknownError, func() error {
			return errors.New("refund: panic: runtime error: invalid memory address or nil pointer dereference")
		}),
		Failure("text of a network error", toolguard.CodeConnectionRefused, func() error {
			return errors.New("dial tcp " + secretAddr + ":" + secretPort + ": connect: connection refused")
		}),
		Failure("text of a stack", toolguard.CodeUnknownError, func() error {
			return errors.New("panic: runtime error: index out of range [3] with length 2\n\ngoroutine 7 [running]:\nmain.refund(0xc000012345)\n\t" + secretPath + ":42 +0x1d")
		}),
	}
}
