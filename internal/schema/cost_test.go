package schema

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// No document of a megabyte takes long under any schema. The bound of the test
// leaves room for slow machines; unbounded, each takes seconds to minutes.
func TestCostlyDocumentsAreRefusedInTime(t *testing.T) {
	text := `"` + strings.Repeat("a", 1_000_000) + `"`
	for name, c := range map[string]struct {
		schema, document string
		rule             Rule
	}{
		"states":            {`{"properties":{"a":{"pattern":"((a{0,100}){0,10}b){0,1}c"}}}`, `{"a":` + text + `}`, RuleInternal},
		"any characters":    {`{"properties":{"a":{"pattern":".{900}x"}}}`, `{"a":` + text + `}`, RuleInternal},
		"under not":         {`{"properties":{"a":{"not":{"pattern":"(\\w{1,100}\\s){1,9}end"}}}}`, `{"a":` + text + `}`, RuleInternal},
		"behind a ref":      {`{"$defs":{"x":{"pattern":".{900}x"}},"properties":{"a":{"items":{"$ref":"#/$defs/x"}}}}`, `{"a":[` + text + `]}`, RuleInternal},
		"in a branch":       {`{"properties":{"a":{"anyOf":[{"pattern":".{900}x"},{"type":"integer"}]}}}`, `{"a":` + text + `}`, RuleInternal},
		"names":             {`{"patternProperties":{".{900}x":{}}}`, `{` + text + `:1}`, RuleInternal},
		"property names":    {`{"propertyNames":{"pattern":".{900}x"}}`, `{` + text + `:1}`, RuleInternal},
		"small divisor":     {`{"properties":{"a":{"items":{"multipleOf":1e-300}}}}`, `{"a":[` + strings.Repeat("1.5e300,", 80_000) + `1e-301]}`, RuleMultipleOf},
		"many of the wrong": {`{"properties":{"a":{"items":{"type":"integer"}}}}`, `{"a":[` + strings.Repeat(`"5",`, 100_000) + `1]}`, RuleType},
		"many unknown":      {`{"properties":{"alpha":{}},"additionalProperties":false}`, `{` + numbered(60_000) + `}`, RuleUnknownProperty},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Compile(json.RawMessage(c.schema), Strict)
			require.NoError(t, err)
			doc, err := strictjson.Parse([]byte(c.document), strictjson.Limits{})
			require.NoError(t, err)
			began := time.Now()
			found, _ := s.Validate(&doc)
			assert.Less(t, time.Since(began), 2*slowMachine*maxTime)
			require.NotEmpty(t, found)
			if found[0].Rule != RuleInternal { // on a slow machine all of them may be too much
				assert.Equal(t, c.rule, found[0].Rule)
			}
		})
	}
}

// What a step evaluates in the validator's place is told the same way.
func TestDetachedKeywords(t *testing.T) {
	t.Parallel()
	s, err := Compile(json.RawMessage(`{"unevaluatedProperties":false,"properties":{"a":{"pattern":"^b+$"},"n":{"multipleOf":0.01},"m":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`), Strict)
	require.NoError(t, err)
	assert.Empty(t, rulesFor(t, s, `{"a":"bb","n":1.13,"m":{"$anchor":"ok"}}`))
	assert.Equal(t, []Rule{RulePattern, RuleMultipleOf}, rulesFor(t, s, `{"a":"x","n":1.135}`))
	assert.Equal(t, []Rule{RuleOther}, rulesFor(t, s, `{"m":{"$anchor":"9"}}`), "the metaschema keeps its own patterns")
}

func numbered(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = `"k` + strconv.Itoa(i) + `":1`
	}
	return strings.Join(names, ",")
}

// While an honest share of the steps is taken, a slow machine is waited for;
// beyond it time decides. Whoever does not wait any more is heard at once.
func TestClock(t *testing.T) {
	t.Parallel()
	const steps, limit = 1000, time.Second
	for name, c := range map[string]struct {
		after time.Duration
		left  int
		want  error
	}{
		"in time":               {limit, 0, nil},
		"late":                  {limit + 1, 0, errSteps},
		"late, few steps taken": {limit + 1, 900, nil},
		"too late for anything": {slowMachine*limit + 1, 1000, errSteps},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newClock(t.Context(), steps, limit)
				time.Sleep(c.after)
				var why error
				for range stepsPerLook {
					assert.NoError(t, why, "it looks once in a while")
					why = clock.stops(c.left)
				}
				assert.Equal(t, c.want, why)
			})
		})
	}
}

func TestNobodyWaitsForViolations(t *testing.T) {
	t.Parallel()
	s, err := Compile(json.RawMessage(`{"properties":{"a":{"items":{"type":"integer"}}}}`), Strict)
	require.NoError(t, err)
	doc, err := strictjson.Parse([]byte(`{"a":[`+strings.Repeat(`"5",`, 1000)+`1]}`), strictjson.Limits{})
	require.NoError(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	found, _ := s.Violations(gone, &doc)
	assert.Equal(t, []Violation{{Rule: RuleInternal, Want: "gone", Kind: "object"}}, found)

	late, cancel := context.WithCancel(t.Context())
	require.NoError(t, s.engine.turn.Acquire(t.Context(), 1))
	time.AfterFunc(time.Millisecond, cancel)
	require.ErrorIs(t, s.engine.validate(late, map[string]any{}, 1), errGone, "it waits for its turn")
	s.engine.turn.Release(1)
	require.NoError(t, s.engine.validate(t.Context(), map[string]any{}, 1))
}
