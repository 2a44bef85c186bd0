package toolguard

// heed takes into account that the attempt was told to stop: most failures are
// then no more than the echo of it, whatever the driver made of the context.
// A claim and the proof that nothing was dialed stay.
func (f *finding) heed(stop stopReason) {
	if stop == stopNone || !f.yields(stop) {
		return
	}
	f.code, f.definite, f.message, f.field = stop.code(), false, "", ""
}

// yields reports whether the reason to stop explains the failure better. A
// definite answer that arrived all the same is kept, and so is a failure of the
// service that had nothing to do with a context. Of an author's "unavailable"
// nobody can tell; it must not count against a service whose caller walked off.
func (f *finding) yields(stop stopReason) bool {
	switch f.code.row().category {
	case CategoryParam, CategoryBusiness, CategoryPermission:
		return false
	case CategoryTimeout:
		return true
	}
	switch f.code {
	case CodePanic, CodeExited:
		return false
	case "", CodeUnknownError, CodeCanceled, CodeConnectionLost, CodeBadResponse, CodeCommandFailed:
		return true
	}
	if f.rank == rankAuthor {
		return stop != stopAttemptTimeout && !f.definite
	}
	return f.stopped
}

// code is the code of an attempt that stopped when told to.
func (r stopReason) code() Code {
	switch r {
	case stopCallerDeadline:
		return CodeCallerDeadline
	case stopCallerCanceled:
		return CodeCanceled
	default:
		return CodeAttemptTimeout
	}
}
