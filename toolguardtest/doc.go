// Package toolguardtest tests what an agent does when its tools fail.
//
// A [Tool] follows a script of [Step] values: it answers, fails, panics, hangs,
// acts and then loses the answer. It counts its effects in a [Ledger]. [Faults]
// is a catalogue of what goes wrong in practice; [Matrix] runs a guarded tool, a
// toolbox or a whole agent loop against all of it and holds every answer against
// the promises of a guard. [NewServer] and [NewTransport] bring the same trouble to
// a tool's real HTTP code. Scripted models ([Obedient], [Stubborn] and others) and
// transcript assertions test a loop; the Test functions ([TestTool], [TestObserver],
// [TestApprover], [TestJournal], [TestAdapter]) check what an implementation owes.
// [Cases] are what people have reported. [NewApprover] and [JournalFor] stand in for a
// person and for a store, and a [FaultyJournal] fails under a guard.
//
// All of it works in fake time: run it inside [testing/synctest.Test], where a
// timeout of 300 s costs nothing. What hangs is released when the test ends, so
// that a bubble can end too.
//
// The package is for tests. It imports the standard library and toolguard only.
package toolguardtest
