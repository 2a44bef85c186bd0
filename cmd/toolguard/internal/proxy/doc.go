// Package proxy stands between an MCP client and an MCP server and guards the
// calls of the server's tools.
//
// It is a relay of JSON-RPC messages. [relay] is the page to read: what comes from
// one side goes to the other as it is, but for three kinds of message. A tools/call
// is answered through a guard, whose attempts are requests of the proxy's own. A
// list of tools is learnt on its way to the client. A cancellation of a guarded
// call stops that.
//
//	client ── link ── relay ── server ── link ── MCP server
//	                    │
//	                  guards
//
// A [link] is a connection to one side: lines of a process, or streamable HTTP. A
// [server] keeps the link to the MCP server up: it starts a crashed one again and
// repeats the client's handshake.
package proxy
