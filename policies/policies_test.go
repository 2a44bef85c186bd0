package policies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/policies"
)

var update = flag.Bool("update", false, "write the golden file anew")

// body is a tool that does nothing.
type body toolguard.Info

func (b body) Info() toolguard.Info { return toolguard.Info(b) }

func (body) Call(context.Context, json.RawMessage) (toolguard.Result, error) {
	return toolguard.Result{}, nil
}

func parse(t *testing.T, text string) *policies.Set {
	t.Helper()
	set, err := policies.Parse([]byte(text))
	require.NoError(t, err)
	return set
}

// describe makes a guard of what the set has for a tool and returns what is in force.
func describe(t *testing.T, set *policies.Set, info toolguard.Info) toolguard.Description {
	t.Helper()
	opts := set.For(info)
	guard, err := toolguard.New(body(info), &opts)
	require.NoError(t, err)
	return guard.Describe()
}

func TestDefaultIsTheLibrarysDefault(t *testing.T) {
	t.Parallel()
	for _, set := range []*policies.Set{policies.Default(), parse(t, `{"version":1}`), parse(t, `{"version":1,"defaults":{},"classes":{},"tools":{},"groups":{"llm":{}}}`)} {
		assert.Equal(t, toolguard.Options{}, set.Options("any"))
		assert.Equal(t, toolguard.Options{}, set.For(toolguard.Info{Name: "any", Class: "media", Dependency: "billing"}))
		assert.Nil(t, set.Dependencies())
		assert.NoError(t, set.Check())
	}
}

const levels = `{
  "version": 1,
  "defaults": {"retry": {"max_attempts": 2, "base_delay": "1s"}, "render": {"locale": "zh"}, "breaker": {"failures": 7}},
  "classes": {
    "payments": {"retry": {"factor": 3}, "breaker": {"failures": 2}},
    "plain": {}
  },
  "tools": {
    "refund": {"class": "payments", "retry": {"off": true}},
    "charge": {"class": "payments"},
    "search": {"class": "plain", "breaker": {"off": true}},
    "free": {"observe": {"results": true}}
  }
}`

func TestMoreSpecificPoliciesReplaceWholeOnes(t *testing.T) {
	t.Parallel()
	set := parse(t, levels)
	defaults := toolguard.RetryPolicy{MaxAttempts: 2, BaseDelay: time.Second}
	for _, c := range []struct {
		name    string
		info    toolguard.Info
		retry   toolguard.RetryPolicy
		breaker toolguard.BreakerPolicy
	}{
		{"tool over class", toolguard.Info{Name: "refund"}, toolguard.RetryPolicy{Off: true}, toolguard.BreakerPolicy{Failures: 2}},
		{"class over defaults, whole", toolguard.Info{Name: "charge"}, toolguard.RetryPolicy{Factor: 3}, toolguard.BreakerPolicy{Failures: 2}},
		{"an empty class inherits", toolguard.Info{Name: "search"}, defaults, toolguard.BreakerPolicy{Off: true}},
		{"no class", toolguard.Info{Name: "free"}, defaults, toolguard.BreakerPolicy{Failures: 7}},
		{"not in the document", toolguard.Info{Name: "other"}, defaults, toolguard.BreakerPolicy{Failures: 7}},
		{"the author's class", toolguard.Info{Name: "other", Class: "payments"}, toolguard.RetryPolicy{Factor: 3}, toolguard.BreakerPolicy{Failures: 2}},
		{"the document's class goes first", toolguard.Info{Name: "search", Class: "payments"}, defaults, toolguard.BreakerPolicy{Off: true}},
		{"an unknown class of the author", toolguard.Info{Name: "free", Class: "else"}, defaults, toolguard.BreakerPolicy{Failures: 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := set.For(c.info)
			assert.Equal(t, c.retry, o.Retry)
			assert.Equal(t, c.breaker, o.Breaker)
			assert.Equal(t, toolguard.RenderPolicy{Locale: "zh"}, o.Render)
			if c.info.Class == "" {
				assert.Equal(t, o, set.Options(c.info.Name))
			}
		})
	}
	assert.Equal(t, toolguard.ObservePolicy{Results: true}, set.Options("free").Observe)
}

// Every policy goes the same way, none is forgotten.
func TestEveryPolicyIsInherited(t *testing.T) {
	t.Parallel()
	policy := map[string]string{
		"arguments": `{"max_bytes":N}`, "timeout": `{"max_abandoned":N}`, "retry": `{"budget_floor":N}`, "breaker": `{"max_keys":N}`,
		"concurrency": `{"max":N}`, "loop": `{"tool_calls":N}`, "dedupe": `{"reuse":"Ns"}`, "journaling": `{"max_result":N}`, "approval": `{"version":"N"}`,
		"observe": `{"queue":N}`, "render": `{"max_parts":N}`,
	}
	fields := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[toolguard.Options]()) {
		if f.Type.Kind() == reflect.Struct {
			fields++
		}
	}
	require.Len(t, policy, fields, "a policy of Options has no place in the document")
	comment, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for name, text := range policy {
		assert.Contains(t, string(comment), `"`+name+`"`, "the package comment leaves a policy out")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := func(n string) string { return `{"` + name + `":` + strings.ReplaceAll(text, "N", n) + `}` }
			one, two, three := parse(t, `{"version":1,"defaults":`+given("1")+`}`), parse(t, `{"version":1,"defaults":`+given("2")+`}`), parse(t, `{"version":1,"defaults":`+given("3")+`}`)
			set := parse(t, `{"version":1,"defaults":`+given("1")+`,"classes":{"c":`+given("2")+`,"d":{}},
			  "tools":{"own":{"class":"c",`+given("3")[1:]+`,"classed":{"class":"c"},"plain":{"class":"d"}}}`)
			assert.NotEqual(t, toolguard.Options{}, one.Options(""))
			assert.Equal(t, three.Options(""), set.Options("own"))
			assert.Equal(t, two.Options(""), set.Options("classed"))
			assert.Equal(t, one.Options(""), set.Options("plain"))
		})
	}
}

func TestToolGroup(t *testing.T) {
	t.Parallel()
	const group = `"groups":{"tool":{"attempt":"20s","media":"90s"}}`
	const batch = `"defaults":{"timeout":{"grace":"2s","classes":{"batch":"600s"}}},`
	for _, c := range []struct {
		name, text string
		info       toolguard.Info
		want       time.Duration
	}{
		{"a default", `{"version":1}`, toolguard.Info{Name: "t"}, 60 * time.Second},
		{"the default for media", `{"version":1}`, toolguard.Info{Name: "t", Class: "media"}, 300 * time.Second},
		{"attempt", `{"version":1,` + group + `}`, toolguard.Info{Name: "t"}, 20 * time.Second},
		{"media", `{"version":1,` + group + `}`, toolguard.Info{Name: "t", Class: "media"}, 90 * time.Second},
		{"media by the document", `{"version":1,"tools":{"t":{"class":"media"}},` + group + `}`, toolguard.Info{Name: "t"}, 90 * time.Second},
		{"media by the document, default", `{"version":1,"tools":{"t":{"class":"media"}}}`, toolguard.Info{Name: "t"}, 300 * time.Second},
		{"beside other settings", `{"version":1,` + batch + group + `}`, toolguard.Info{Name: "t"}, 20 * time.Second},
		{"a class with a timeout", `{"version":1,` + batch + group + `}`, toolguard.Info{Name: "t", Class: "batch"}, 600 * time.Second},
		{"the same by the document", `{"version":1,"tools":{"t":{"class":"batch"}},` + batch + group + `}`, toolguard.Info{Name: "t"}, 600 * time.Second},
		{"a bundle of the author's", `{"version":1,"classes":{"payments":{"retry":{"off":true}}},` + group + `}`, toolguard.Info{Name: "t", Class: "payments"}, 20 * time.Second},
		{"a bundle leaves media alone", `{"version":1,"classes":{"payments":{}},"tools":{"t":{"class":"payments"}},` + group + `}`, toolguard.Info{Name: "t", Class: "media"}, 90 * time.Second},
		{"a bundle called media", `{"version":1,"classes":{"media":{"retry":{"off":true}}}}`, toolguard.Info{Name: "t", Class: "media"}, 300 * time.Second},
		{"an attempt of its own", `{"version":1,"tools":{"t":{"class":"media","timeout":{"attempt":"7s"}}},` + group + `}`, toolguard.Info{Name: "t"}, 7 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, describe(t, parse(t, c.text), c.info).Timeout.Attempt)
		})
	}
	off := parse(t, `{"version":1,"defaults":{"timeout":{"off":true}},`+group+`}`)
	assert.Equal(t, toolguard.TimeoutPolicy{Off: true}, off.Options("t").Timeout)
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	set := parse(t, `{
	  "version": 1,
	  "defaults": {"breaker": {"failures": 7}},
	  "tools": {"own": {"breaker": {"failures": 3}}},
	  "dependencies": {"max": {"billing": 4}, "breaker": {"failures": 2}}
	}`)
	d := set.Dependencies()
	require.NotNil(t, d)
	assert.Equal(t, map[string]int{"billing": 4}, d.Max)
	assert.Same(t, d, set.Options("a").Dependencies)
	assert.Same(t, d, set.Options("b").Dependencies, "or nothing would be shared")

	shared := describe(t, set, toolguard.Info{Name: "a", Dependency: "billing"})
	assert.True(t, shared.SharedBreaker)
	assert.Equal(t, 2, shared.Breaker.Failures)
	assert.Equal(t, 7, describe(t, set, toolguard.Info{Name: "a"}).Breaker.Failures)

	own := toolguard.Info{Name: "own", Dependency: "billing"}
	opts := set.For(own)
	_, err := toolguard.New(body(own), &opts)
	assert.ErrorContains(t, err, "the breaker of dependency billing", "a breaker of its own is not dropped silently")

	assert.NotNil(t, parse(t, `{"version":1,"dependencies":{}}`).Dependencies(), "that is asking for shared breakers")
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		group    string
		attempts int
		timeout  toolguard.TimeoutPolicy
	}{
		{`{}`, 2, toolguard.TimeoutPolicy{Attempt: 5 * time.Second, Budget: 11 * time.Second}},
		{`{"timeout":"2s","retries":2,"retry_delay":"500ms"}`, 3, toolguard.TimeoutPolicy{Attempt: 2 * time.Second, Budget: 7 * time.Second}},
		{`{"retries":0}`, 1, toolguard.TimeoutPolicy{Attempt: 5 * time.Second, Budget: 5 * time.Second}},
		{`{"timeout":"24h","retries":10,"retry_delay":"24h"}`, 11, toolguard.TimeoutPolicy{Attempt: 24 * time.Hour, Budget: 504 * time.Hour}},
	} {
		t.Run(c.group, func(t *testing.T) {
			t.Parallel()
			set := parse(t, `{"version":1,"defaults":{"render":{"locale":"zh"}},"groups":{"identity":`+c.group+`}}`)
			o := set.Identity()
			assert.Equal(t, c.timeout, o.Timeout)
			assert.Equal(t, "zh", o.Render.Locale)
			guard, err := toolguard.New(body{Name: "whoami", Effect: toolguard.ReadOnly}, &o)
			require.NoError(t, err)
			assert.Equal(t, c.attempts, guard.Describe().MaxAttempts)
			if c.attempts > 1 {
				assert.Equal(t, o.Retry.BaseDelay, o.Retry.MaxDelay)
				assert.Equal(t, o.Retry.BaseDelay, o.Retry.RateLimitDelay, "after a rate limit too")
			}
		})
	}
	assert.Equal(t, time.Second, policies.Default().Identity().Retry.BaseDelay)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	set := parse(t, levels)
	assert.NoError(t, set.Check("refund", "charge", "search", "free", "another"))
	assert.EqualError(t, set.Check("refunds", "search"), `policies: /tools/charge: no such tool, want one of refunds, search
policies: /tools/free: no such tool, want one of refunds, search
policies: /tools/refund: no such tool, did you mean "refunds"?`)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	set, err := policies.Load(iotest.OneByteReader(strings.NewReader(levels)))
	require.NoError(t, err)
	assert.Equal(t, parse(t, levels), set)
	broken := errors.New("disk on fire")
	_, err = policies.Load(iotest.ErrReader(broken))
	assert.ErrorIs(t, err, broken)
	_, err = policies.Load(io.MultiReader(strings.NewReader(`{"version":1}`), endless{}))
	assert.ErrorContains(t, err, "size")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// The document of the package comment is one, and its groups are the defaults.
func TestPackageComment(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(source), "//\t{")
	text, _, _ = strings.Cut("{"+text, "//\n")
	set := parse(t, strings.ReplaceAll(text, "//\t", ""))
	assert.Equal(t, 45*time.Second, set.Options("refund").Timeout.Attempt)
	for _, group := range []string{"llm", "mcp", "tool", "identity"} {
		want, err := policies.Default().HTTPOptions(group)
		require.NoError(t, err)
		got, err := set.HTTPOptions(group)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.Equal(t, policies.Default().Identity().Retry, set.Identity().Retry)
	assert.Contains(t, string(source), `policies: /tools/refund/retry/budget: 3, want between 0 and 1`)
}

func indented(t *testing.T, set *policies.Set) string {
	t.Helper()
	text, err := set.MarshalJSON()
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, text, "", "  "))
	return b.String() + "\n"
}

func TestGolden(t *testing.T) {
	t.Parallel()
	given, err := os.ReadFile("testdata/given.json")
	require.NoError(t, err)
	got := indented(t, parse(t, string(given)))
	if *update {
		require.NoError(t, os.WriteFile("testdata/full.json", []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/full.json")
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run go test ./policies -update if the change is meant, and note it in the changelog")
}

// A set written and read again gives every tool the same.
func TestWrittenAndReadAgain(t *testing.T) {
	t.Parallel()
	given, err := os.ReadFile("testdata/given.json")
	require.NoError(t, err)
	for _, text := range []string{`{"version":1}`, levels, string(given), `{"version":1,"groups":{"identity":{"retries":0}},"tools":{"t":{"class":"media"}}}`} {
		before := parse(t, text)
		written := indented(t, before)
		after := parse(t, written)
		assert.Equal(t, written, indented(t, after))
		assert.Equal(t, before.Identity(), after.Identity())
		for _, name := range []string{"refund", "charge", "search", "free", "other", "render_video"} {
			for _, class := range []string{"", "payments", "plain", "media", "batch"} {
				for _, dependency := range []string{"", "billing"} {
					info := toolguard.Info{Name: name, Class: class, Dependency: dependency}
					want, got := before.For(info), after.For(info)
					assert.Equal(t, want.Dependencies == nil, got.Dependencies == nil)
					want.Dependencies, got.Dependencies = nil, nil
					assert.Equal(t, want, got, "%v", info)
				}
			}
		}
	}
}

// A host may have the document inside one of its own.
func TestSetInsideAnotherDocument(t *testing.T) {
	t.Parallel()
	var config struct{ Guards policies.Set }
	require.NoError(t, json.Unmarshal([]byte(`{"Guards":`+levels+`}`), &config))
	assert.Equal(t, parse(t, levels), &config.Guards)
	err := json.Unmarshal([]byte(`{"Guards":{"version":1,"tool":{}}}`), &config)
	assert.ErrorContains(t, err, `policies: /tool: unknown member, did you mean "tools"?`)
	assert.Equal(t, parse(t, levels), &config.Guards, "an error leaves the set alone")
}

// Whatever a host does to its options, the set and the other hosts keep theirs.
func TestSetIsImmutable(t *testing.T) {
	t.Parallel()
	const text = `{"version":1,"defaults":{
	  "timeout": {"classes": {"batch": "60s"}}, "retry": {"rules": {"timeout": {"attempts": 2}}},
	  "concurrency": {"serialize_by": ["id"]}, "loop": {"volatile": ["at"]},
	  "approval": {"effects": ["idempotent"], "risks": ["high"]}}}`
	set := parse(t, text)
	o := set.Options("t")
	for _, field := range reflect.VisibleFields(reflect.TypeOf(o)) {
		if field.Type.Kind() == reflect.Struct {
			wipe(t, field.Name, reflect.ValueOf(&o).Elem().FieldByIndex(field.Index))
		}
	}
	assert.Equal(t, parse(t, text), set)
	_ = set.For(toolguard.Info{Name: "t", Class: "media"})
	assert.Equal(t, parse(t, text), set)
}

// wipe overwrites what the lists and maps of a policy hold.
func wipe(t *testing.T, name string, policy reflect.Value) {
	t.Helper()
	for i := range policy.NumField() {
		field, of := policy.Field(i), name+"."+policy.Type().Field(i).Name
		switch field.Kind() {
		case reflect.Slice:
			require.NotZero(t, field.Len(), "the document gives nothing for %s", of)
			field.Index(0).SetZero()
		case reflect.Map:
			require.NotZero(t, field.Len(), "the document gives nothing for %s", of)
			field.SetMapIndex(field.MapKeys()[0], reflect.Zero(field.Type().Elem()))
		}
	}
}

func TestSetIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	given, err := os.ReadFile("testdata/given.json")
	require.NoError(t, err)
	set := parse(t, string(given))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			o := set.For(toolguard.Info{Name: "refund", Class: "payments", Dependency: "billing"})
			_, err := toolguard.New(body{Name: "refund", Dependency: "billing"}, &o)
			assert.NoError(t, err)
			_, err = set.MarshalJSON()
			assert.NoError(t, err)
			_, _, _ = set.Identity(), set.Check("x"), set.Dependencies()
			_, err = set.HTTPClient("llm")
			assert.NoError(t, err)
		})
	}
	wg.Wait()
}
