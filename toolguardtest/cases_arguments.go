package toolguardtest

import (
	"encoding/json"
	"iter"
	"maps"
	"math/big"
	"strings"

	"github.com/toolguard-go/toolguard"
)

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// exact decodes a document with every number as an exact fraction.
func exact(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return fractions(v), nil
}

func fractions(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return "number " + r.String()
		}
	case []any:
		for i := range v {
			v[i] = fractions(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = fractions(v[k])
		}
	}
	return v
}

var argumentCases = []Case{
	{"a02", KindArguments, "empty text as arguments", "openai/openai-agents-js#664", func(x *trial) {
		x.refusedOr("", "{}")
		x.refusedOr(" \n", "{}")
	}},
	{"a03", KindArguments, "the same bad arguments again and again", "NousResearch/hermes-agent#83937", func(x *trial) {
		tool := x.put(OK("done"))
		for range 6 {
			env := x.call(`{"no_such_argument_of_this_tool"`)
			if env.OK || tool.Runs() > 0 || OutcomeOf(env) != toolguard.OutcomeNotStarted || env.Suggestion == "" {
				x.bad("bad arguments are answered, after %d runs, with %s", tool.Runs(), shown(env))
			}
		}
	}},
	{"a04", KindArguments, "what ran is not what the history holds", "cloudwego/eino#493", func(x *trial) {
		x.refusedOr(" "+x.s.Args+" ", x.s.Args)
	}},
	{"a06", KindArguments, "JSON that is no object", "lsdefine/GenericAgent#746", func(x *trial) {
		for _, args := range []string{`[1,2]`, `"x"`, `7`, `true`, `{"content": "` + strings.Repeat("x", 200_000)} {
			x.refused(args)
		}
	}},
	{"a07", KindArguments, "an empty object glued in front", "openai/openai-agents-js#712", func(x *trial) {
		x.refusedOr("{}"+x.s.Args, x.s.Args)
		x.refused(x.s.Args + x.s.Args)
		x.refused(x.s.Args + `{"b":2}`)
	}},
	{"a13", KindArguments, "a code fence around the arguments", "langgenius/dify#41958", func(x *trial) {
		x.refusedOr("```json\n"+x.s.Args+"\n```", x.s.Args)
	}},
	{"a14", KindArguments, "single quotes", "NousResearch/atropos#479", func(x *trial) {
		if len(x.members()) == 0 {
			x.Skip("the arguments of the subject have no member")
		}
		x.refused(strings.ReplaceAll(x.s.Args, `"`, `'`))
	}},
	{"a15", KindArguments, "arguments that are cut off", "livekit/agents#4974", func(x *trial) {
		text := strings.TrimSpace(x.s.Args)
		for n := 1; n < len(text); n += 1 + len(text)/16 {
			x.refused(text[:n])
		}
	}},
	{"a16", KindArguments, "a trailing comma", "modelcontextprotocol/rust-sdk#772", func(x *trial) {
		if len(x.members()) == 0 {
			x.Skip("the arguments of the subject have no member")
		}
		x.refusedOr(strings.TrimSuffix(strings.TrimSpace(x.s.Args), "}")+",}", x.s.Args)
	}},
	{"a17", KindArguments, "numbers that are none", "comet-ml/opik#7854", func(x *trial) {
		for _, n := range []string{"NaN", "Infinity", "-Infinity", "1e9999999", "0x1F"} {
			x.refused(`{"n":` + n + `}`)
		}
	}},
	{"a21", KindArguments, "text that hurts a parser", "nst/JSONTestSuite", func(x *trial) {
		for _, args := range []string{strings.Repeat("[", 100_000), `{"a":` + strings.Repeat(`{"a":`, 10_000), "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, "\x00"} {
			x.refused(args)
		}
	}},
	{"a21 duplicates", KindArguments, "one name twice", "nst/JSONTestSuite", func(x *trial) {
		for name, value := range x.members() {
			x.refused(`{"` + name + `":` + string(value) + `,` + strings.TrimPrefix(strings.TrimSpace(x.s.Args), "{"))
			return
		}
		x.Skip("the arguments of the subject have no member")
	}},
}

// each tries f with every member of the arguments whose value begins like this.
func (x *trial) each(kind, begins string, f func(name, value string)) {
	found := false
	for name, value := range x.members() {
		if strings.ContainsAny(string(value[:1]), begins) {
			found = true
			f(name, string(value))
		}
	}
	if !found {
		x.Skip("the arguments of the subject have no " + kind)
	}
}

const digits = "-0123456789"

var typeCases = []Case{
	{"b02", KindTypes, "the whole object inside a string", "PrefectHQ/fastmcp#932", func(x *trial) {
		quoted, _ := json.Marshal(x.s.Args)
		x.refusedOr(string(quoted), x.s.Args)
	}},
	{"b05", KindTypes, "false inside a string", "software-mansion/argent#811", func(x *trial) {
		x.each("boolean", "tf", func(name, _ string) {
			x.refusedOr(x.changed(name, `"false"`), x.changed(name, "false"))
		})
	}},
	{"b06", KindTypes, "a string that looks like a number", "QwenLM/qwen-code#4618", func(x *trial) {
		x.each("string", `"`, func(name, _ string) { x.refusedOr(x.changed(name, `"0012"`), x.changed(name, `"0012"`)) })
	}},
	{"b10", KindTypes, "whole numbers above 2^53", "modelcontextprotocol/go-sdk#1201", func(x *trial) {
		x.each("number", digits, func(name, _ string) {
			x.refusedOr(x.changed(name, "9007199254740993"), x.changed(name, "9007199254740993"))
		})
	}},
	{"b13", KindTypes, "a value of the wrong type becomes a default", "Strike48-public/pick#382", func(x *trial) {
		x.each("number", digits, func(name, _ string) { x.refused(x.changed(name, `"maybe"`)) })
	}},
	{"b16", KindTypes, "a whole number written as a fraction", "json-schema-org/JSON-Schema-Test-Suite", func(x *trial) {
		x.each("number", digits, func(name, _ string) { x.refusedOr(x.changed(name, "50.0"), x.changed(name, "50")) })
	}},
	{"a16 string", KindTypes, "a number inside a string", "modelcontextprotocol/rust-sdk#772", func(x *trial) {
		x.each("number", digits, func(name, _ string) { x.refusedOr(x.changed(name, `"50"`), x.changed(name, "50")) })
	}},
}

// named makes a call under another name.
func (x *trial) named(name string) toolguard.Envelope {
	x.boxed()
	return x.send(scope(x.Context(), "1"), toolguard.Call{ID: "c", Tool: name, Args: json.RawMessage(x.s.Args)})
}

var nameCases = []Case{
	{"c01", KindNames, "a name no tool has", "google/adk-go#423", func(x *trial) {
		tool := x.put(OK("done"))
		for _, name := range []string{"no_such_tool_at_all", "", "\x00", strings.Repeat("x", 10_000)} {
			env := x.named(name)
			if env.OK || env.Error.Code != toolguard.CodeUnknownTool || env.Suggestion == "" || tool.Runs() > 0 {
				x.bad("the name %q is answered with %s", cut(name), shown(env))
			}
		}
	}},
	{"c04", KindNames, "hyphens for underscores", "NousResearch/hermes-agent#82876", func(x *trial) {
		name := x.s.Guard.Info().Name
		other := strings.Map(func(r rune) rune {
			switch r {
			case '_':
				return '-'
			case '-':
				return '_'
			}
			return r
		}, name)
		if other == name {
			x.Skip("the name of the tool has neither hyphens nor underscores")
		}
		tool := x.put(OK("done"))
		if env := x.named(other); env.OK != (tool.Runs() == 1) || env.OK && len(env.Notes) == 0 {
			x.bad("%q for %q ran %d times and is answered, without a word about the name, with %s", other, name, tool.Runs(), shown(env))
		}
	}},
	{"c02", KindNames, "a made-up name beside a real one", "openai/openai-agents-python#325", func(x *trial) {
		x.put(OK("done"))
		real := x.s.call("two")
		batch := x.boxed().DoAll(scope(x.Context(), "1"), []toolguard.Call{{ID: "one", Tool: "no_such_tool_at_all"}, real})
		if len(batch.Envelopes) != 2 || batch.Envelopes[0].OK || !batch.Envelopes[1].OK {
			x.bad("the batch has %d answers: %v", len(batch.Envelopes), batch.Envelopes)
		}
	}},
}

var schemaCases = []Case{
	{"d15", KindSchemas, "a map of arguments that checks none of them", "pathintegral-institute/mcpm.sh", func(x *trial) {
		if x.s.Guard.Describe().ConstrainsNothing {
			x.bad("the schema looks like a map of the arguments, but checks nothing: put it under \"properties\"")
		}
	}},
	{"d10", KindSchemas, "parts of a schema that are not enforced", "longbridge/developers#1264", func(x *trial) {
		for _, n := range x.s.Guard.Describe().NotEnforced {
			x.bad("this part of the schema is not enforced: %s", n)
		}
	}},
	{"d13", KindSchemas, "arguments that are dropped silently", "SocialGouv/iterion#1335", func(x *trial) {
		args := x.changed("no_such_argument_of_this_tool", "1")
		x.refusedOr(args, args)
	}},
}
