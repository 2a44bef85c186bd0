// Package policies reads what guards do from one JSON document: policies for
// all tools, for named classes of tools and for single tools, limits of shared
// dependencies, and the timeouts of the services an agent talks to.
//
//	{
//	  "version": 1,
//	  "defaults": {"timeout": {"attempt": "20s"}, "render": {"locale": "zh"}},
//	  "classes": {
//	    "payments": {"retry": {"off": true}, "concurrency": {"max": 4, "serialize_by": ["order_id"]}}
//	  },
//	  "tools": {
//	    "refund": {"class": "payments", "timeout": {"attempt": "45s"}}
//	  },
//	  "dependencies": {"max": {"billing": 4}, "breaker": {"failures": 3}},
//	  "groups": {
//	    "llm": {"connect": "10s", "idle": "300s"},
//	    "mcp": {"connect": "5s", "idle": "30s"},
//	    "tool": {"attempt": "60s", "media": "300s"},
//	    "identity": {"timeout": "5s", "retries": 1, "retry_delay": "1s"}
//	  }
//	}
//
// Only version is required. The groups above are the defaults.
//
// # Policies
//
// Defaults, a class and a tool hold any of "arguments", "timeout", "retry",
// "breaker", "concurrency", "loop", "dedupe", "journaling", "approval", "observe"
// and "render": the policies of [toolguard.Options], their members named after
// the fields in lower_snake. A tool's policy goes before its class's, a class's
// before the default's, and replaces it whole: a policy is never put together
// from two places. One that is absent is inherited; null is refused, as it could
// mean none at all.
//
// A tool belongs to the class the document gives it, else, with [Set.For], to
// that of its author, Info.Class. The class chooses the bundle of policies, and
// the attempt timeout under "timeout": {"classes": …} if that names it.
//
// # Groups
//
// A group is the timeouts of one kind of service. "llm" and "mcp" limit an HTTP
// client: connect, the wait for an answer (first_byte, as long as idle if not
// given), and silence while it is read. "identity" limits a whole exchange, and
// says how often and after what pause at most it may be repeated. "tool" limits
// an attempt of a tool whose timeout policy says nothing of it: media for tools
// of class "media", attempt for the others.
//
// # Errors
//
// Unknown and repeated members, wrong types and values that make no sense are
// refused, each with its JSON pointer:
//
//	policies: /tools/refund/retry/budget: 3, want between 0 and 1
//
// Everything wrong with the form of the document is reported at once, and, once
// that is sound, everything wrong with its values.
package policies
