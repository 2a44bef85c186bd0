// Package mcpguard puts toolguard around the tools of an MCP server, in a
// program that uses the official Go SDK: on the side of the server for tools of
// one's own, on the side of the client for those of others.
//
// # Server
//
// [Guards.Server] returns receiving middleware. Every call of every tool of the server
// is then guarded: a handler that panics, hangs or returns an error ends in an
// envelope, which is the result's text with IsError set.
//
//	guards, err := mcpguard.New(nil)
//	server.AddReceivingMiddleware(guards.Server())
//
// # Client
//
// [Guards.Client] returns sending middleware. ClientSession.CallTool then never
// fails for what the server or the way to it does.
//
//	guards, err := mcpguard.New(&mcpguard.Options{Source: "files"})
//	client.AddSendingMiddleware(guards.Client(nil))
//
// # Toolbox
//
// [Tools] returns a server's tools for a toolguard.Toolbox, beside those of the host.
//
// # What it goes by
//
// Schemas and hints are read from the server's own list of tools. Schemas are
// enforced leniently: what does not compile is repaired or left out, for that
// tool alone. Hints make a guard more careful, never less, unless
// [Options.TrustHints] is set. Where nobody has said what a tool does, it counts
// as not repeatable, and identical calls of it are all run.
//
// A result with IsError is the tool's own word that it failed: nothing was done.
// If it speaks of a timeout or an outage, or may speak of a lost connection, it is
// not known whether something was; with [Options.DoubtErrors] that is so of every one. A
// protocol error is read by its number. Errors that a client has to answer to,
// such as one that asks for a newer protocol or sends the user to a page, are
// handed on untouched, and so are results that ask for input.
//
// The images, links and structured content of a result with IsError follow the
// guard's words, as they were.
//
// What a server asks of the client while a tool runs, such as a person's answer,
// takes time that is not the tool's: see [Guards.Questions].
//
// A connection that is lost before a call was sent proves that nothing was done;
// afterwards it is not known. See [Redial] for getting it back.
package mcpguard
