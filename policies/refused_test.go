package policies_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/policies"
)

func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{``, `policies: not strict JSON: empty in line 1`},
		{`{}`, `policies: /version: missing, want 1`},
		{`{"version":2}`, `policies: /version: 2, want 1`},
		{`{"version":1,"tool":{}}`, `policies: /tool: unknown member, did you mean "tools"?`},
		{`{"version":1,"defaults":{"class":"x"}}`, `policies: /defaults/class: unknown member`},
		{`{"version":1,"defaults":{"timeout":{"attempt":20}}}`, `policies: /defaults/timeout/attempt: 20, want a duration as a string`},
		{`{"version":1,"defaults":{"retry":{"rules":{"timeout":{"atempts":1}}}}}`, `policies: /defaults/retry/rules/timeout/atempts: unknown member, did you mean "attempts"?`},
		{`{"version":1,"tools":{"a":{},"a":{}}}`, `policies: /tools/a: given twice`},
		{`{"version":1,"groups":{"llm":{"retries":1}}}`, `policies: /groups/llm/retries: unknown member`},
		{`{"version":1,"groups":{"lmm":{}}}`, `policies: /groups/lmm: unknown member, did you mean "llm"?`},
		// Names.
		{`{"version":1,"classes":{"payments":{}},"tools":{"refund":{"class":"payment"}}}`, `policies: /tools/refund/class: "payment" is no class, did you mean "payments"?`},
		{`{"version":1,"tools":{"refund":{"class":"x"}}}`, `policies: /tools/refund/class: "x" is no class, want one of media`},
		{`{"version":1,"classes":{"":{}}}`, `policies: /classes/: a class needs a name`},
		{`{"version":1,"tools":{"":{}}}`, `policies: /tools/: a tool needs a name`},
		{`{"version":1,"tools":{"` + strings.Repeat("x", 300) + `":{}}}`, `want 1 to 256 bytes`},
		// What inherits without saying so.
		{`{"version":1,"tools":{"a/b":{"retry":{}}}}`, `policies: /tools/a~1b/retry: says nothing, want a member that is set; to inherit leave it out`},
		{`{"version":1,"classes":{"c":{"retry":{"off":false}}}}`, `policies: /classes/c/retry: says nothing`},
		{`{"version":1,"tools":{"refund":{"retry":null}}}`, `policies: /tools/refund/retry: null, want it left out, or a value`},
		{`{"version":1,"dependencies":null}`, `policies: /dependencies: null, want it left out, or a value`},
		{`{"version":1,"groups":{"identity":{"retries":null}}}`, `policies: /groups/identity/retries: null, want it left out, or a value`},
		// Values, wherever they stand.
		{`{"version":1,"defaults":{"loop":{"volatile":["at",""]}}}`, `policies: /defaults/loop/volatile/1: "", want the name of a member`},
		{`{"version":1,"tools":{"refund":{"retry":{"budget":3}}}}`, `policies: /tools/refund/retry/budget: 3, want between 0 and 1`},
		{`{"version":1,"classes":{"c":{"retry":{"factor":0.5}}}}`, `policies: /classes/c/retry/factor: 0.5, want `},
		{`{"version":1,"defaults":{"retry":{"rules":{"a.b[\"] c":{"attempts":1}}}}}`, `policies: /defaults/retry/rules/a.b["] c: a.b["] c, want a code or a category`},
		{`{"version":1,"defaults":{"retry":{"rules":{"timeout":{}}}}}`, `policies: /defaults/retry/rules/timeout/attempts: 0, want 1 or more`},
		{`{"version":1,"defaults":{"breaker":{"rate":1.5}}}`, `policies: /defaults/breaker/rate: 1.5, want between 0 and 1`},
		{`{"version":1,"defaults":{"concurrency":{"serialize_by":["id",""]}}}`, `policies: /defaults/concurrency/serialize_by/1: "", want the name of an argument`},
		{`{"version":1,"defaults":{"arguments":{"max_depth":20000}}}`, `policies: /defaults/arguments/max_depth: 20000, want between 0 and 10000`},
		{`{"version":1,"defaults":{"observe":{"queue":99999999}}}`, `policies: /defaults/observe/queue: 99999999, want between 0 and 1048576`},
		{`{"version":1,"defaults":{"render":{"max_result":5}}}`, `policies: /defaults/render/max_result: 5, want 256 or more`},
		{`{"version":1,"defaults":{"render":{"locale":"fr"}}}`, `policies: /defaults/render/locale: fr, want en or zh`},
		{`{"version":1,"defaults":{"render":{"hide_causes":true,"quote_causes":true}}}`, `policies: /defaults/render/quote_causes: true, want not together with HideCauses`},
		{`{"version":1,"defaults":{"timeout":{"classes":{"media":"0s"}}}}`, `policies: /defaults/timeout/classes/media: 0s, want above zero`},
		{`{"version":1,"defaults":{"timeout":{"budget":"10s"}}}`, `policies: /defaults/timeout/budget: 10s is shorter than one attempt's 1m0s`},
		{`{"version":1,"dependencies":{"max":{"billing":0}}}`, `policies: /dependencies/max/billing: 0, want 1 or more`},
		{`{"version":1,"dependencies":{"breaker":{"rate":2}}}`, `policies: /dependencies/breaker/rate: 2, want between 0 and 1`},
		{`{"version":1,"groups":{"mcp":{"first_byte":"25h"}}}`, `policies: /groups/mcp/first_byte: 25h0m0s, want at most 24h0m0s`},
		{`{"version":1,"groups":{"identity":{"retries":11}}}`, `policies: /groups/identity/retries: 11, want at most 10`},
		// Values that do not fit each other, given in different places.
		{`{"version":1,"defaults":{"timeout":{"budget":"90s"}},"groups":{"tool":{"attempt":"100s"}}}`,
			`policies: /defaults/timeout/budget: 1m30s is shorter than one attempt's 1m40s`},
		{`{"version":1,"defaults":{"breaker":{"rate":0.5,"window":"300s"}},"tools":{"slow":{"timeout":{"attempt":"200s"}}}}`,
			`policies: /defaults/breaker/window: 5m0s is shorter than twice the call budget 6m40s (tool "slow")`},
		{`{"version":1,"defaults":{"timeout":{"budget":"90s"}},"tools":{"video":{"class":"media"}}}`,
			`policies: /defaults/timeout/budget: 1m30s is shorter than one attempt's 5m0s (tool "video")`},
		{`{"version":1,"defaults":{"breaker":{"rate":0.5,"window":"300s"}},"classes":{"slow":{"timeout":{"attempt":"200s"}}}}`,
			`policies: /defaults/breaker/window: 5m0s is shorter than twice the call budget 6m40s (class "slow")`},
		{`{"version":1,"defaults":{"timeout":{"budget":"10s"}},"tools":{"a":{},"b":{}},"dependencies":{}}`,
			`policies: /defaults/timeout/budget: 10s is shorter than one attempt's 1m0s`},
		{`{"version":1,"tools":{"slow":{"timeout":{"attempt":"400s"}}},"dependencies":{"breaker":{"rate":0.5}}}`,
			`policies: /dependencies/breaker/window: 20m0s is shorter than twice the call budget 13m20s (tool "slow")`},
	} {
		t.Run(c.text[:min(len(c.text), 90)], func(t *testing.T) {
			t.Parallel()
			set, err := policies.Parse([]byte(c.text))
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "\n", "one error, however many tools it reaches")
			assert.Nil(t, set)
		})
	}
}

func TestRefusesAllValuesAtOnceInOrder(t *testing.T) {
	t.Parallel()
	_, err := policies.Parse([]byte(`{
	  "version": 1,
	  "tools": {"b": {"class": "c"}, "a": {"class": "c", "breaker": {"rate": 2}}},
	  "classes": {"c": {"retry": {"factor": 0.5, "budget": 3}}},
	  "defaults": {"render": {"locale": "fr"}, "retry": {"budget": 4}}
	}`))
	require.EqualError(t, err, `policies: /classes/c/retry/budget: 3, want between 0 and 1
policies: /classes/c/retry/factor: 0.5, want between 1 and 100
policies: /defaults/render/locale: fr, want en or zh; other languages are given as Options.Words
policies: /defaults/retry/budget: 4, want between 0 and 1
policies: /tools/a/breaker/rate: 2, want between 0 and 1`)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{levels, document, `{"version":1}`, `{"version":1,"tools":{"a":{"retry":{"rules":{"]\"[":{"attempts":1}}}}}}`, `{"version":1,"groups":{"identity":{"retries":99999999999}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := policies.Parse(text)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "policies: ") {
					t.Fatalf("an error without a name: %q", line)
				}
			}
			return
		}
		written, err := set.MarshalJSON()
		require.NoError(t, err)
		_, err = policies.Parse(written)
		require.NoError(t, err, string(written))
	})
}
