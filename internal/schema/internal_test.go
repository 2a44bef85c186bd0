package schema

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/internal/accept"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// A refusal nobody can word is still a refusal.
func TestNoRefusalIsLost(t *testing.T) {
	t.Parallel()
	s, err := Compile(json.RawMessage(`{"required":["a"]}`), Strict)
	require.NoError(t, err)
	doc, err := strictjson.Parse([]byte(`{"a":1}`), strictjson.Limits{})
	require.NoError(t, err)
	found, _ := s.explainAll(&doc, []leaf{{rule: RuleRequired, keyword: "required", owner: s.tree.(map[string]any)}}, nil)
	assert.Equal(t, []Violation{{Rule: RuleOther, Want: "required", Kind: "object", Got: `{"a":1}`}}, found)
}

// A panic of the validator, or of what stands around it, refuses the document.
func TestPanicsRefuseTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := strictjson.Parse([]byte(`{"a":1}`), strictjson.Limits{})
	require.NoError(t, err)
	want := []Violation{{Rule: RuleInternal, Want: "panic", Kind: "object"}}

	broken := &Schema{fast: accept.Compile(nil, accept.Options{}), engine: &engine{}}
	found, _ := broken.Validate(&doc)
	assert.Equal(t, want, found, "inside the engine")

	broken.engine = nil
	found, _ = broken.Validate(&doc)
	assert.Equal(t, want, found, "outside the engine")

	require.Error(t, (&engine{}).validate(t.Context(), nil, 1))
	require.False(t, errors.Is((&engine{}).validate(t.Context(), nil, 1), errSteps))
}
