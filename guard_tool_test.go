package toolguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

var errHandOver = errors.New("hand over")

// A guard can stand where the bare tool stood: a framework that knows of no envelope
// reads all the same what was repaired, what failed, and what the host took over.
func TestAGuardStandsWhereTheToolStood(t *testing.T) {
	t.Parallel()
	body := inOrder(answers("sunny"), answers("sunny"), fails(toolguard.NotFound("no such city")), fails(errHandOver))
	var tool toolguard.Tool = guardOf(t, toolOf(toolguard.ReadOnly, body.call), &toolguard.Options{
		PassThrough: func(err error) bool { return errors.Is(err, errHandOver) },
	})
	call := func(args string) (toolguard.Result, error) {
		return tool.Call(context.Background(), json.RawMessage(args))
	}

	bare, err := call(`{}`)
	require.NoError(t, err)
	assert.Equal(t, "sunny", bare.Text)

	repaired, err := call(`{"city":"Bern",}`)
	require.NoError(t, err)
	assert.Contains(t, repaired.Text, `"result":"sunny"`)
	assert.Contains(t, repaired.Text, "comma", "what was repaired is told")

	refused, err := call(`{}`)
	require.NoError(t, err)
	assert.Contains(t, refused.Text, "no such city")
	assert.True(t, json.Valid([]byte(refused.Text)))

	_, err = call(`{}`)
	assert.Same(t, errHandOver, err)
}
