package toolguard_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// fullPolicies sets every field of every policy.
var fullPolicies = []struct {
	policy any
	want   string
}{
	{toolguard.ArgumentPolicy{Off: true, Schema: toolguard.SchemaLenient, MaxBytes: 1 << 10, MaxDepth: 8, ControlCharacters: true},
		`{"off":true,"schema":"lenient","max_bytes":1024,"max_depth":8,"control_characters":true}`},
	{toolguard.TimeoutPolicy{Off: true, Attempt: time.Minute, Budget: 5 * time.Minute, Grace: 1500 * time.Millisecond, MaxAbandoned: 2, Classes: map[string]time.Duration{"media": 10 * time.Minute, "batch": 2 * time.Hour}},
		`{"off":true,"attempt":"60s","budget":"300s","grace":"1500ms","max_abandoned":2,"classes":{"batch":"2h","media":"600s"}}`},
	{toolguard.RetryPolicy{Off: true, MaxAttempts: 4, BaseDelay: time.Second, RateLimitDelay: 2 * time.Second, Factor: 1.5, MaxDelay: 3 * time.Second, MaxRetryAfter: 4 * time.Second, Budget: 0.25, BudgetFloor: 5, Rules: map[string]toolguard.RetryRule{"timeout": {Attempts: 2, Delay: time.Second, Factor: 2}}},
		`{"off":true,"max_attempts":4,"base_delay":"1s","rate_limit_delay":"2s","factor":1.5,"max_delay":"3s","max_retry_after":"4s","budget":0.25,"budget_floor":5,"rules":{"timeout":{"attempts":2,"delay":"1s","factor":2}}}`},
	{toolguard.RetryRule{Attempts: 2, Delay: time.Second, Factor: 1},
		`{"attempts":2,"delay":"1s","factor":1}`},
	{toolguard.BreakerPolicy{Off: true, Failures: 3, Rate: 0.5, Window: 20 * time.Minute, MinCalls: 6, OpenFor: 10 * time.Second, MaxKeys: 9},
		`{"off":true,"failures":3,"rate":0.5,"window":"1200s","min_calls":6,"open_for":"10s","max_keys":9}`},
	{toolguard.ConcurrencyPolicy{Off: true, Max: 4, Wait: time.Second, SerializeBy: []string{"order_id"}},
		`{"off":true,"max":4,"wait":"1s","serialize_by":["order_id"]}`},
	{toolguard.LoopPolicy{Off: true, Repeats: 4, Tries: 11, Cycles: 5, Streak: 2, Pause: time.Minute, ToolCalls: 9, NoteAfter: 5, TurnCalls: 90, Volatile: []string{"at"}},
		`{"off":true,"repeats":4,"tries":11,"cycles":5,"streak":2,"pause":"60s","tool_calls":9,"note_after":5,"turn_calls":90,"volatile":["at"]}`},
	{toolguard.DedupePolicy{Off: true, Reuse: 5 * time.Second, NoReuse: true, NoJoin: true},
		`{"off":true,"reuse":"5s","no_reuse":true,"no_join":true}`},
	{toolguard.JournalPolicy{Off: true, Lease: time.Minute, MaxResult: 1024, Checked: true, AuditArguments: true},
		`{"off":true,"lease":"60s","max_result":1024,"checked":true,"audit_arguments":true}`},
	{toolguard.ApprovalPolicy{Off: true, Effects: []toolguard.Effect{toolguard.NonIdempotent}, Risks: []toolguard.Risk{toolguard.RiskHigh}, Repeats: true, Version: "v2", Expiry: time.Hour, Wait: time.Minute},
		`{"off":true,"effects":["non_idempotent"],"risks":["high"],"repeats":true,"version":"v2","expiry":"1h","wait":"60s"}`},
	{toolguard.SessionPolicy{Max: 10, Idle: time.Minute, History: 32, MaxKept: 1024},
		`{"max":10,"idle":"60s","history":32,"max_kept":1024}`},
	{toolguard.ObservePolicy{Off: true, Queue: 64, Patience: time.Second, Arguments: true, Results: true},
		`{"off":true,"queue":64,"patience":"1s","arguments":true,"results":true}`},
	{toolguard.BatchPolicy{Off: true, Parallel: 4, Timeout: 10 * time.Second, MaxCalls: 16, StopTools: []string{"begin"}, StopCodes: []string{"permission"}},
		`{"off":true,"parallel":4,"timeout":"10s","max_calls":16,"stop_tools":["begin"],"stop_codes":["permission"]}`},
	{toolguard.RenderPolicy{Off: true, Locale: "zh", Format: toolguard.FormatText, HideCauses: true, QuoteCauses: true, RedactResults: true, RedactEmails: true, MaxResult: 512, MaxParts: 1024, Contact: "ops <ops@example.com>"},
		`{"off":true,"locale":"zh","format":"text","hide_causes":true,"quote_causes":true,"redact_results":true,"redact_emails":true,"max_result":512,"max_parts":1024,"contact":"ops <ops@example.com>"}`},
}

// readAs reads text into a new value of like's type.
func readAs(text string, like any) (any, error) {
	target := reflect.New(reflect.TypeOf(like))
	err := json.Unmarshal([]byte(text), target.Interface())
	return target.Elem().Interface(), err
}

func TestPoliciesReadAndWriteThemselves(t *testing.T) {
	t.Parallel()
	for _, c := range fullPolicies {
		v := reflect.ValueOf(c.policy)
		t.Run(v.Type().Name(), func(t *testing.T) {
			t.Parallel()
			for i := range v.NumField() {
				require.False(t, v.Field(i).IsZero(), "the test leaves out %s", v.Type().Field(i).Name)
			}
			text, err := c.policy.(json.Marshaler).MarshalJSON()
			require.NoError(t, err)
			assert.Equal(t, c.want, string(text))
			_, err = json.Marshal(c.policy)
			require.NoError(t, err)
			got, err := readAs(c.want, c.policy)
			require.NoError(t, err)
			assert.Equal(t, c.policy, got)
			empty, err := json.Marshal(reflect.Zero(v.Type()).Interface())
			require.NoError(t, err)
			assert.Equal(t, `{}`, string(empty))
			_, err = readAs(`{"bogus_member":1}`, c.policy)
			assert.ErrorContains(t, err, "toolguard: "+v.Type().Name()+": /bogus_member: unknown member")
		})
	}
}

// Every policy of Options is among those tested.
func TestEveryPolicyOfOptionsIsJSON(t *testing.T) {
	t.Parallel()
	tested := map[reflect.Type]bool{}
	for _, c := range fullPolicies {
		tested[reflect.TypeOf(c.policy)] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[toolguard.Options]()) {
		if f.Type.Kind() == reflect.Struct {
			assert.True(t, tested[f.Type], "%v", f.Type)
		}
	}
}

func TestPolicyErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		like       any
	}{
		{`{"maxAttempts":2}`, `toolguard: RetryPolicy: /maxAttempts: unknown member, did you mean "max_attempts"?`, toolguard.RetryPolicy{}},
		{`{"base_delay":200}`, `toolguard: RetryPolicy: /base_delay: 200, want a duration as a string`, toolguard.RetryPolicy{}},
		{`{"rules":{"timeout":{"atempts":2}}}`, `toolguard: RetryPolicy: /rules/timeout/atempts: unknown member, did you mean "attempts"?`, toolguard.RetryPolicy{}},
		{`{"format":"yaml"}`, `toolguard: RenderPolicy: /format: Format "yaml" is none of`, toolguard.RenderPolicy{}},
		{`{"max":1,"max":2}`, `toolguard: ConcurrencyPolicy: /max: given twice`, toolguard.ConcurrencyPolicy{}},
		{`{"off":true,"attempt":"-1s"}`, `toolguard: TimeoutPolicy: /attempt: "-1s", want a duration that is not negative`, toolguard.TimeoutPolicy{}},
		{`null`, `toolguard: BreakerPolicy: null, want an object`, toolguard.BreakerPolicy{}},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			got, err := readAs(c.text, c.like)
			require.ErrorContains(t, err, c.want)
			assert.Zero(t, got)
		})
	}
	_, err := json.Marshal(toolguard.TimeoutPolicy{Budget: -1})
	assert.ErrorContains(t, err, "toolguard: TimeoutPolicy: /budget: -1ns cannot be written")
}
