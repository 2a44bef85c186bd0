package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/internal/schema/schematest"
)

// A few hundred bytes of schema must not buy hours of validation.
func TestValidationIsBounded(t *testing.T) {
	t.Parallel()
	perLevel := `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}],"maxProperties":1}`
	deep := strings.Repeat(`{"a":`, 50) + `{"b":1,"c":2}` + strings.Repeat("}", 50)
	for name, tt := range map[string]struct{ schema, args string }{
		"in place":  {doubling(30), `{"a":6}`},
		"per level": {perLevel, deep},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _ := compile(t, tt.schema, schema.Lenient).Validate(parse(t, tt.args))
			require.Len(t, found, 1)
			assert.Equal(t, schema.RuleInternal, found[0].Rule)
			assert.Equal(t, "steps", found[0].Want)
		})
	}
}

func TestLargeHonestDocuments(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"l":{"items":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}}`, schema.Strict)
	list := strings.Repeat(`{"n":1},`, honestItems)
	assert.Empty(t, check(t, s, `{"l":[`+list+`{"n":1}]}`))
	assert.Equal(t, []string{fmt.Sprintf("/l/%d/n type", honestItems)}, check(t, s, `{"l":[`+list+`{"n":""}]}`))
}

// Counts no document reaches would overflow into negative ones.
func TestHugeCounts(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"s":{"maxLength":1e300,"minLength":1.0},"l":{"minItems":1e300}}}`, schema.Strict)
	assert.Equal(t, []string{"/l min_items", "/s min_length"}, check(t, s, `{"s":"","l":[]}`))
	assert.Empty(t, check(t, s, `{"s":"abc"}`))
}

// case b10, case b12: numbers are compared exactly.
func TestExactNumbers(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"id":{"type":"integer","maximum":9007199254740992},"u":{"type":"integer","minimum":0},"e":{"enum":[0.1]}}}`, schema.Strict)
	assert.Empty(t, check(t, s, `{"id":9007199254740992,"u":18446744071636006420,"e":1e-1}`))
	assert.Equal(t, []string{"/id maximum"}, check(t, s, `{"id":9007199254740993}`))
	assert.Empty(t, check(t, s, `{"u":5.0}`)) // case b16
	assert.Equal(t, []string{"/u type"}, check(t, s, `{"u":5.5}`))
	assert.Equal(t, []string{"/id maximum"}, check(t, s, `{"id":1e400}`))
}

// The verdict is the library's, whichever path gave it, but for names that
// differ in case.
func TestVerdictIsTheLibrarys(t *testing.T) {
	t.Parallel()
	var valid, invalid int
	rapid.Check(t, func(t *rapid.T) {
		text, args := rapidSchema(t, 4, false), rapidObject(t)
		s, err := schema.Compile(json.RawMessage(text), schema.Strict)
		if err != nil {
			return
		}
		lenient := compile(t, text, schema.Lenient)
		require.Equal(t, s.Digest(), lenient.Digest(), text)
		require.Empty(t, lenient.NotEnforced(), text)
		require.Empty(t, lenient.Rewrites(), text)

		doc := parse(t, args)
		found, more := s.Validate(doc)
		again, _ := lenient.Validate(doc)
		require.Equal(t, found, again)
		wrong := more
		for _, v := range found {
			require.NotEqual(t, schema.RuleInternal, v.Rule)
			require.Equal(t, v.Path, doc.Pointer(v.Node))
			if v.Rule != schema.RuleCaseMismatch {
				wrong++
			}
		}
		if len(found) > 0 && wrong == 0 {
			return // accepted by the library perhaps, refused for a name
		}
		want := libraryAccepts(t, text, doc.Value(0))
		require.Equal(t, want, wrong == 0, "%s\n%s\n%v", text, args, found)
		if want {
			valid++
		} else {
			invalid++
		}
	})
	assert.Positive(t, valid)
	assert.Positive(t, invalid)
}

// libraryAccepts asks jsonschema/v5 alone, under our rule for formats.
func libraryAccepts(t require.TestingT, text string, v any) bool {
	s, err := schematest.Compile(json.RawMessage(strings.ReplaceAll(text, "1e30", "1e9")), nil)
	require.NoError(t, err, text)
	return s.Validate(v) == nil
}
