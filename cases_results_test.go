package toolguard_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

func returning(r toolguard.Result) run {
	return func(context.Context) (toolguard.Result, error) { return r, nil }
}

// noise is text that does not repeat, so that nothing takes it for a run.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(7)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// Report: open-webui/open-webui#29665, microsoft/playwright-mcp#277, anthropics/claude-code#70280 (case k05)
func TestEncodedImagesStayOutOfThePrompt(t *testing.T) {
	t.Parallel()
	image := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n"), noise(200_000)...))
	for name, r := range map[string]toolguard.Result{
		"in JSON":     {JSON: json.RawMessage(`{"caption":"a map","png":"` + image + `"}`)},
		"in text":     {Text: "a map: " + image},
		"as data URI": {Text: "a map: data:image/png;base64," + image},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := doIn(t.Context(), caseGuard(t, toolguard.Info{}, nil, returning(r)))
			require.True(t, env.OK)
			assert.Less(t, len(env.ForModel()), 1000)
			assert.Contains(t, env.ForModel(), "a map")
			require.Len(t, env.Notes, 1)
			assert.EqualValues(t, "base64_omitted", env.Notes[0].Kind)
			assert.Equal(t, "image/png", env.Notes[0].Media)
		})
	}
}

// Report: n8n-io/n8n#11219 (case k06)
func TestBinaryBodyIsNamedNotShown(t *testing.T) {
	t.Parallel()
	body := append([]byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), noise(5000)...)
	g := caseGuard(t, toolguard.Info{}, nil, returning(toolguard.Result{Text: string(body)}))
	env := doIn(t.Context(), g)
	require.True(t, env.OK, "the tool did its work")
	require.Len(t, env.Notes, 1)
	assert.EqualValues(t, "binary_omitted", env.Notes[0].Kind)
	assert.Equal(t, "application/pdf", env.Notes[0].Media)
	assert.Equal(t, len(body), env.Notes[0].Bytes)
	assert.Less(t, len(env.ForModel()), 500)

	part := toolguard.Part{MediaType: "application/pdf", Data: body}
	env = doIn(t.Context(), caseGuard(t, toolguard.Info{}, nil, returning(toolguard.Result{Text: "see part", Parts: []toolguard.Part{part}})))
	assert.Equal(t, []toolguard.Part{part}, env.Result.Parts, "as a part it goes to the host untouched")
	assert.Empty(t, env.Notes)
}

// Report: nicobailon/pi-mcp-adapter#160 (case k09)
func TestResultIsKeptOnce(t *testing.T) {
	t.Parallel()
	rows := json.RawMessage(`["` + strings.Repeat("row,", 10_000) + `"]`)
	long := json.RawMessage(`["` + strings.Repeat("row,", 80_000) + `"]`)
	seen := &eventLog{}
	opts := &toolguard.Options{Observer: seen}

	env := doIn(t.Context(), caseGuard(t, toolguard.Info{}, opts, returning(toolguard.Result{JSON: rows, Text: "the same as text"})))
	assert.Equal(t, string(rows), env.ForModel())

	env = doIn(t.Context(), caseGuard(t, toolguard.Info{}, opts, returning(toolguard.Result{JSON: long})))
	require.Len(t, env.Notes, 1)
	assert.EqualValues(t, "cut", env.Notes[0].Kind)
	assert.Nil(t, env.Result.JSON, "what was cut is text, and only that")
	assert.LessOrEqual(t, len(env.Result.Text), 64<<10)
	for _, e := range seen.events {
		assert.Empty(t, e.Result, "events have it only if asked to")
	}
}

// plainLookingError is an SDK's error type whose text looks like any other.
type plainLookingError struct{ text string }

func (e plainLookingError) Error() string { return e.text }

// Report: modelcontextprotocol/python-sdk#2386, modelcontextprotocol/typescript-sdk#1429 (case l01)
func TestTextOfTypedErrorsStaysInside(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 5432}, Err: errors.New("password of svc_billing refused")}
	for name, err := range map[string]error{
		"of the standard library": dial,
		"wrapped":                 fmt.Errorf("ledger at db7: %w", dial),
		"of an SDK":               plainLookingError{"ledger at db7: password of svc_billing refused by 10.9.8.7"},
		"joined":                  errors.Join(errors.New("ledger at db7"), plainLookingError{"svc_billing"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := &eventLog{}
			g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Observer: seen}, fails(err))
			env := doIn(t.Context(), g)
			for _, secret := range []string{"10.9.8.7", "5432", "svc_billing", "db7", "ledger"} {
				assert.NotContains(t, env.ForModel(), secret)
				assert.NotContains(t, env.String(), secret)
			}
			assert.Empty(t, env.Error.Quote)
			event := seen.of(toolguard.EventCall)[0]
			assert.Equal(t, env.Error.Incident, event.Incident, "the incident leads to what happened")
			assert.ErrorIs(t, event.Err, err)
		})
	}
}

// Report: hashicorp/go-retryablehttp#206, initializ/forge#494, thrasher-corp/gocryptotrader#2387 (case l03)
func TestQueriesOfNestedURLsAreRedacted(t *testing.T) {
	t.Parallel()
	inner := &url.Error{Op: "Get", URL: "https://b.example/d?X-Amz-Signature=5d41402abc4b2a76b9719d911017c592", Err: errors.New("no good answer")}
	outer := &url.Error{Op: "Get", URL: "https://a.example/d?api_key=Zk4pQ81vTn", Err: inner}
	for _, quoted := range []bool{false, true} {
		for name, err := range map[string]error{"typed": outer, "as text": errors.New(outer.Error())} {
			g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Render: toolguard.RenderPolicy{QuoteCauses: quoted}}, fails(err))
			env := doIn(t.Context(), g)
			assert.NotContains(t, env.ForModel(), "Zk4pQ81vTn", name)
			assert.NotContains(t, env.ForModel(), "5d41402abc4b2a76b9719d911017c592", name)
			assert.Equal(t, quoted || name == "as text", env.Error.Quote != "", name)
		}
	}
}

// Report: managoat/fountain#2359, RamaAditya49/titen#171 (case l04)
func TestSecretOfTwoPiecesIsRedactedWhole(t *testing.T) {
	t.Parallel()
	pieces := []string{"refused: xoxb-2387", "4409-AbCdEfGhIjKl is revoked"}
	env := doIn(t.Context(), caseGuard(t, toolguard.Info{}, nil, fails(errors.New(strings.Join(pieces, "")))))
	assert.Contains(t, env.Error.Quote, "is revoked")
	assert.NotContains(t, env.Error.Quote, "2387")
	assert.NotContains(t, env.Error.Quote, "AbCdEf")
}

// Report: topcheer/ggcode#704 (case l05)
func TestRedactionComesBeforeCutting(t *testing.T) {
	t.Parallel()
	const secret = "ghp_Q7wErTyUiOpAsDfGhJkLzXcVbNm1234567"
	for padding := 200; padding < 340; padding++ {
		text := strings.Repeat("word ", padding/5) + strings.Repeat("x", padding%5) + " " + secret + strings.Repeat(" word", 100)
		quote := doIn(t.Context(), caseGuard(t, toolguard.Info{}, nil, fails(errors.New(text)))).Error.Quote
		assert.NotContains(t, quote, secret[:8], "after %d bytes", padding)
		open, closed := strings.LastIndexByte(quote, '['), strings.LastIndexByte(quote, ']')
		assert.LessOrEqual(t, open, closed, "the mask is whole after %d bytes: %s", padding, quote)
	}
}

// Report: steve-goldberg/NocoBot#4 (case l09)
func TestErrorsAreBoundedLikeResults(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("the disk is full; ", 60_000)
	for name, err := range map[string]error{
		"a cause":        errors.New(huge),
		"an author's":    toolguard.Business("%s", huge),
		"a typed one":    plainLookingError{huge},
		"quoted causes":  fmt.Errorf("save: %w", plainLookingError{huge}),
		"wrapped deeply": toolguard.NoEffect(fmt.Errorf("save: %w", errors.New(huge))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := caseGuard(t, toolguard.Info{}, &toolguard.Options{Render: toolguard.RenderPolicy{QuoteCauses: name == "quoted causes"}}, fails(err))
			env := doIn(t.Context(), g)
			assertAnswer(t, &env, name)
			assert.LessOrEqual(t, len(env.String()), 1<<10)
		})
	}
}
