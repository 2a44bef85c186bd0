package toolguard_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

type foldedBase struct {
	Note string `json:"note"`
	Kind string `json:"kind"`
}

type foldedInput struct {
	foldedBase
	Amount int64 `json:"amount"`
	Kind   int   `json:"kind"`
	Plain  int   // no tag: the field's name
	Skip   int   `json:"-"`
	//lint:ignore SA5008 the odd tag is the point
	Dash int                   `json:"-,"`
	When time.Time             `json:"when"`
	Raw  json.RawMessage       `json:"raw"`
	Any  any                   `json:"any"`
	Next *foldedInput          `json:"next"`
	List []foldedInput         `json:"list"`
	Map  map[string]foldedBase `json:"map"`
	//lint:ignore SA5008 the odd tag is the point
	Bad int `json:"a\"b"`
}

// Whatever the schema lets pass, no member reaches a field of another spelling.
func TestMemberInAnotherCaseReachesNoField(t *testing.T) {
	t.Parallel()
	ran := false
	g := guardOf(t, toolguard.Action(toolguard.Info{Name: "tool", Schema: json.RawMessage(`{"additionalProperties":true}`), Effect: toolguard.NonIdempotent},
		func(context.Context, foldedInput) error { ran = true; return nil }), nil)
	for args, admitted := range map[string]bool{
		`{"amount":1,"Plain":2,"-":3}`:              true,
		`{"AMOUNT":1}`:                              false,
		`{"amount":1,"Amount":2}`:                   false,
		`{"\u0041mount":1}`:                         false,
		`{"plain":1}`:                               false,
		`{"Skip":1,"skip":2}`:                       true,
		`{"NOTE":"promoted"}`:                       false,
		`{"Kind":1}`:                                false,
		`{"\u212aind":1}`:                           false, // the Kelvin sign folds to k
		`{"li\u017ft":[]}`:                          false, // the long s to s
		`{"next":{"next":{"Amount":1}}}`:            false,
		`{"list":[{"amount":1},{"aMount":1}]}`:      false,
		`{"map":{"NOTE":{"note":"a key is free"}}}`: true,
		`{"map":{"x":{"NOTE":"a"}}}`:                false,
		`{"raw":{"AMOUNT":1},"any":{"AMOUNT":1}}`:   true,
		`{"other":1}`:                               true,
		`{"BAD":1}`:                                 false,
	} {
		ran = false
		env := g.Do(context.Background(), toolguard.Call{Args: json.RawMessage(args)})
		assert.Equal(t, admitted, ran, args)
		if !admitted {
			assert.Equal(t, toolguard.CodeSchemaViolation, codeOf(env), args)
			assert.Equal(t, "case_mismatch", env.Error.Violations[0].Rule, args)
		}
	}
}
