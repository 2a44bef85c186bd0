package toolguard_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
)

// What a colour or a zero-width character cuts into pieces is whole again once it is
// cleaned: in what a model reads, nothing of it may be left.
func TestSecretsInPiecesAreRedacted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\x1b[36mpassword\x1b[0m=\x1b[1mhunter2\x1b[0m", "pass\u200bword=hunter2", "pass\x00word: hunter2", "postgres:\u2060//svc:hunter2@db-7.internal/x",
		"p\bpassword=hunter2", "\x1b]0;x\apassword=hunter2", "waiting\rpassword=hunter2",
	} {
		for _, err := range []error{errors.New(text), toolguard.Business("%s", text), toolguard.Param("to", "%s", text)} {
			env := do(guardOf(t, goldenTool(toolguard.NonIdempotent, fails(err)), nil))
			assert.NotContains(t, env.ForModel(), "hunter2", "%q", text)
			assert.NotContains(t, env.ForModel(), "[0m", "%q", text)
			assert.NotContains(t, toolguard.NewRedactor(nil).Error(err, 300), "hunter2", "%q", text)
		}
		inJSON, _ := json.Marshal(map[string]string{"log": text})
		for _, r := range []toolguard.Result{{Text: text}, {JSON: inJSON}} {
			tool := goldenTool(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { return r, nil })
			env := do(guardOf(t, tool, &toolguard.Options{Render: toolguard.RenderPolicy{RedactResults: true}}))
			assert.NotContains(t, env.ForModel(), "hunter2", "%q", text)
		}
	}
}

// Encoded data in an error says what it is, and does not fill its quotation.
func TestEncodedDataInErrorsIsNamed(t *testing.T) {
	t.Parallel()
	image := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), noise(2000)...))
	text := "cannot decode " + image + " as a receipt"
	env := do(guardOf(t, goldenTool(toolguard.ReadOnly, fails(errors.New(text))), nil))
	assert.Contains(t, env.ForModel(), "cannot decode [base64 image/png 2 kB omitted] as a receipt")
}

// What is redacted in one string of a result takes nothing of the others with it.
func TestRedactedJSONKeepsItsOtherMembers(t *testing.T) {
	t.Parallel()
	for _, trace := range []string{
		"goroutine 17 [running]:\nmain.refund(0xc000)\n\t/srv/app/refund.go:42 +0x1d",
		"Traceback (most recent call last):\n  File \"/srv/app/x.py\", line 1, in f\n    charge(card)",
		"java.lang.Error: x\n\tat a.B.c(B.java:1)\n\t... 3 more", "panic: runtime error: index out of range [3] with length 3",
		"SELECT a FROM t WHERE b = 'cut", "-----BEGIN PRIVATE KEY-----\nFAKE\n",
	} {
		raw, err := json.Marshal(map[string]any{"a trace": trace, "order": 42, "password": "hunter2"})
		assert.NoError(t, err)
		tool := goldenTool(toolguard.ReadOnly, func(context.Context) (toolguard.Result, error) { return toolguard.Result{JSON: raw}, nil })
		env := do(guardOf(t, tool, &toolguard.Options{Render: toolguard.RenderPolicy{RedactResults: true}}))
		var got map[string]any
		assert.NoError(t, json.Unmarshal(env.Result.JSON, &got), "%s", env.Result.JSON)
		assert.Equal(t, 42.0, got["order"], trace)
		assert.Equal(t, "[redacted:secret]", got["password"], trace)
		assert.Contains(t, got["a trace"], "[redacted:", trace)
	}
}
