package mcpguard

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// ErrNotSent says that a call never left for the server, so that nothing can
// have been done. A [Send] wraps it around what went wrong.
var ErrNotSent = errors.New("mcpguard: the call was not sent")

// ErrLost says that the connection to the server ended while a call was in
// progress. A [Send] wraps it around what went wrong.
var ErrLost = errors.New("mcpguard: the connection to the server was lost")

var errNoAnswer = &toolguard.Error{Code: toolguard.CodeBadResponse, Message: "The server answered with nothing."}

// Numbers of protocol errors beside those of the package jsonrpc.
const (
	codeTimeout  = -32001 // of the TypeScript SDK; some servers mean a lost session
	codeClosed   = -32000
	codeNotFound = -32002
	codeRejected = -32005 // the SDK's own: its transport could not deliver the call
)

// passing adds the errors that a client has to answer to to those that are the
// host's control flow.
func passing(host func(error) bool) func(error) bool {
	return func(err error) bool { return ForClient(err) || host != nil && host(err) }
}

// ForClient reports whether a protocol error is one that the client itself has to
// answer to: that it speaks another protocol, lacks a capability, or has to send
// its user to a page first. A guard hands these on as they are.
func ForClient(err error) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return false
	}
	switch e.Code {
	case mcp.CodeURLElicitationRequired, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities, mcp.CodeHeaderMismatch:
		return true
	}
	return false
}

// protocolFailure says what the failure to get an answer means: a protocol error
// by its number, the loss of a connection by what was sent before. Other errors,
// those of the transport, are left to the guard, which knows them and what
// httpguard has recorded.
func protocolFailure(err error) error {
	if err == nil || ForClient(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch {
	case errors.Is(err, ErrNotSent), neverSent(err):
		return &toolguard.Error{Code: toolguard.CodeConnectionLost, Outcome: toolguard.OutcomeNotStarted, Cause: err}
	case lost(err), errors.Is(err, mcp.ErrSessionMissing), errors.Is(err, mcp.ErrConnectionClosed):
		return &toolguard.Error{Code: toolguard.CodeConnectionLost, Cause: err}
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code != codeRejected {
		return numbered(e)
	}
	return err
}

// lost reports whether the connection ended while the call was in progress.
func lost(err error) bool {
	for _, end := range []error{ErrLost, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// neverSent reports whether the SDK refused to send a call because the connection
// had ended before. A server may use the SDK's numbers, not its words.
func neverSent(err error) bool {
	if !errors.Is(err, mcp.ErrConnectionClosed) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, ": client is closing") || strings.Contains(text, ": server is closing")
}

// protocolError reports whether the server itself answered with an error.
func protocolError(err error) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && e.Code != codeRejected
}

// numbered reads a protocol error. Its text is the server's own; it is quoted like
// that of a tool, as data.
func numbered(e *jsonrpc.Error) error {
	said := errors.New(e.Message)
	switch e.Code {
	case jsonrpc.CodeInvalidParams:
		return &toolguard.Error{Code: toolguard.CodeInvalidArgument, Outcome: toolguard.OutcomeFailed, Cause: said}
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest, jsonrpc.CodeParseError:
		return &toolguard.Error{Code: toolguard.CodeRequestRejected, Outcome: toolguard.OutcomeNotStarted, Cause: said}
	case codeNotFound:
		return &toolguard.Error{Code: toolguard.CodeNotFound, Outcome: toolguard.OutcomeFailed, Cause: said}
	case codeTimeout:
		return &toolguard.Error{Code: toolguard.CodeDownstreamTimeout, Cause: said}
	case codeClosed:
		return &toolguard.Error{Code: toolguard.CodeConnectionLost, Cause: said}
	default:
		return &toolguard.Error{Code: toolguard.CodeServerError, Cause: said}
	}
}
