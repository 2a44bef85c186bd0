package toolguardtest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/toolguard-go/toolguard"
)

// rpcCode, rpcStatus and rpcError have the shape of google.golang.org/grpc's.
type rpcCode uint32

func (c rpcCode) String() string { return fmt.Sprintf("Code(%d)", uint32(c)) }

type rpcStatus struct{ code rpcCode }

func (s *rpcStatus) Code() rpcCode { return s.code }

type rpcError struct{ status rpcStatus }

func (e *rpcError) Error() string {
	return fmt.Sprintf("rpc error: code = %v desc = upstream %s: %s", e.status.code, secretHost, secretQuery)
}

func (e *rpcError) GRPCStatus() *rpcStatus { return &e.status }

// RPCStatus returns an error with a gRPC status, by the number of its code.
func RPCStatus(code uint32) error { return &rpcError{rpcStatus{rpcCode(code)}} }

func rpcFaults() []Fault {
	var faults []Fault
	for _, row := range []struct {
		number   uint32
		name     string
		code     toolguard.Code
		definite bool
	}{
		{1, "canceled", toolguard.CodeUnknownError, false},
		{2, "unknown", toolguard.CodeUnknownError, false},
		{3, "invalid argument", toolguard.CodeRequestRejected, true},
		{4, "deadline exceeded", toolguard.CodeDownstreamTimeout, false},
		{5, "not found", toolguard.CodeNotFound, true},
		{6, "already exists", toolguard.CodeConflict, true},
		{7, "permission denied", toolguard.CodePermissionDenied, true},
		{8, "resource exhausted", toolguard.CodeResourceExhausted, false},
		{9, "failed precondition", toolguard.CodeConflict, true},
		{10, "aborted", toolguard.CodeRolledBack, true},
		{13, "internal", toolguard.CodeServerError, false},
		{14, "unavailable", toolguard.CodeServiceUnavailable, false},
		{16, "unauthenticated", toolguard.CodeAuthExpired, true},
	} {
		f := Failure("grpc "+row.name, row.code, func() error { return RPCStatus(row.number) })
		f.Proves = row.definite
		faults = append(faults, f)
	}
	return faults
}

// sqlError has the shape of a PostgreSQL driver's error.
type sqlError struct{ state string }

func (e *sqlError) Error() string {
	return fmt.Sprintf("ERROR: %s failed on %s (SQLSTATE %s)", secretQuery, secretDSN, e.state)
}

func (e *sqlError) SQLState() string { return e.state }

// SQLState returns an error with an SQLSTATE of five characters.
func SQLState(state string) error { return &sqlError{state} }

func sqlFaults() []Fault {
	state := func(name, state string, code toolguard.Code) Fault {
		return Failure("sql "+name, code, func() error { return SQLState(state) })
	}
	faults := []Fault{
		state("connection failure", "08006", toolguard.CodeConnectionLost),
		state("statement canceled", "57014", toolguard.CodeDownstreamTimeout),
		state("completion unknown", "40003", toolguard.CodeUnknownError),
		state("administrator shutdown", "57P01", toolguard.CodeConnectionLost),
		state("too many connections", "53300", toolguard.CodeResourceExhausted),
		Failure("sql bad connection", toolguard.CodeConnectionLost, func() error { return fmt.Errorf("%s: %w", secretDSN, driver.ErrBadConn) }).proof(),
		Failure("sql connection done", toolguard.CodeConnectionLost, func() error { return fmt.Errorf("%s: %w", secretDSN, sql.ErrConnDone) }),
		Failure("sql canceled with its context", toolguard.CodeUnknownError, func() error { return fmt.Errorf("loading the refund: %w", context.Canceled) }),
	}
	for _, f := range []Fault{
		state("unique violation", "23505", toolguard.CodeConflict),
		state("foreign key violation", "23503", toolguard.CodeRequestRejected),
		state("serialization failure", "40001", toolguard.CodeRolledBack),
		state("deadlock", "40P01", toolguard.CodeRolledBack),
		state("insufficient privilege", "42501", toolguard.CodePermissionDenied),
		Failure("sql no rows", toolguard.CodeNotFound, func() error { return fmt.Errorf("loading the refund: %w", sql.ErrNoRows) }),
	} {
		faults = append(faults, f.proof())
	}
	return faults
}

// authorFaults are what a tool's author says with toolguard's constructors.
func authorFaults() []Fault {
	author := func(name string, code toolguard.Code, make func() error) Fault {
		return Failure("author: "+name, code, make)
	}
	return []Fault{
		author("bad argument", toolguard.CodeInvalidArgument, func() error { return toolguard.Param("amount", "The amount must be below 100.") }),
		author("business rule", toolguard.CodeBusinessRule, func() error { return toolguard.Business("Refunds end after 30 days.") }),
		author("not found", toolguard.CodeNotFound, func() error { return toolguard.NotFound("There is no such order.") }),
		author("no permission", toolguard.CodePermissionDenied, func() error { return toolguard.Permission("Only managers may do this.") }),
		author("unavailable", toolguard.CodeServiceUnavailable, func() error { return toolguard.Unavailable("The refund desk is closed.") }),
		author("rate limited", toolguard.CodeRateLimited, func() error { return toolguard.RateLimited(2e9) }),
		author("not started", toolguard.CodeServiceUnavailable, func() error {
			return toolguard.NotStarted(toolguard.Unavailable("The refund desk is closed."))
		}),
		author("no effect", toolguard.CodeConnectionLost, func() error { return toolguard.NoEffect(connLost()) }),
		author("maybe done", toolguard.CodeNotFound, func() error {
			return toolguard.MaybeDone(toolguard.NotFound("The receipt is missing."))
		}).afterSaying(),
	}
}

// connLost returns a connection that was lost, as package net says it.
func connLost() error { return onAddress("read", errReset) }

// afterSaying makes the fault one that acts: its author says that it may have.
func (f Fault) afterSaying() Fault {
	f.Step, f.Acts = Commit(f.Step), true
	return f
}
