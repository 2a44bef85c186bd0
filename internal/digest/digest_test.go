package digest

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/strictjson"
	"github.com/toolguard-go/toolguard/internal/strictjson/jsontest"
)

func parse(t require.TestingT, text string) *strictjson.Doc {
	doc, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	require.NoError(t, err, text)
	return &doc
}

// Stored digests must be found again after an upgrade.
func TestDigestsAreFrozen(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Sum(sha256.Sum256([]byte("\x00\x00\x00\x00\x00\x00\x00\x06refundj{\"a\":[1,\"x\"],\"b\":9007199254740993}"))),
		Of("refund", parse(t, `{"b": 9007199254740993.0, "a": [1e0, "\u0078"]}`), nil))
	assert.Equal(t, "219ff479b536a1baf6cb8d3852b41b1e47cfb03f45db9365a83d2440ac77d09e", Of("refund", parse(t, `{"order":"A-1","amount":12.50}`), nil).String())
	assert.Equal(t, "8b7f30e75b2a4697f1dd6330b8cdb0eef8320c5ec654b4a6c43bb697f70619f6", OfRaw("refund", []byte(`{"order":`)).String())
}

func TestDigestTellsApart(t *testing.T) {
	t.Parallel()
	doc := parse(t, `{"id":9007199254740993,"note":"x"}`)
	base := Of("pay", doc, nil)
	assert.NotEqual(t, base, Of("pay2", doc, nil))
	assert.NotEqual(t, base, Of("", doc, nil))
	assert.NotEqual(t, base, Of("pay", parse(t, `{"id":9007199254740992,"note":"x"}`), nil))
	assert.NotEqual(t, base, OfRaw("pay", doc.Text))
	assert.NotEqual(t, base, OfRaw("pay", []byte(`{"id":9007199254740993,"note":"x"}`)))
	assert.NotEqual(t, OfRaw("a", []byte("rb")), OfRaw("ar", []byte("b")))
	assert.NotEqual(t, OfRaw("a", []byte("{}")), OfRaw("a", []byte("{} ")))
	assert.NotEqual(t, Sum{}, base)
}

func TestOmittedMembersDoNotCount(t *testing.T) {
	t.Parallel()
	omit := func(name string) bool { return name == "key" }
	with := Of("pay", parse(t, `{"key":"k1","id":1}`), omit)
	assert.Equal(t, with, Of("pay", parse(t, `{"id":1,"key":"k2"}`), omit))
	assert.Equal(t, with, Of("pay", parse(t, `{"id":1}`), nil))
	assert.NotEqual(t, with, Of("pay", parse(t, `{"id":2}`), omit))
}

func TestSpellingDoesNotCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		value, speller := jsontest.Object(pick, 3), jsontest.Speller{Pick: pick}
		a, b := parse(t, speller.Spell(value)), parse(t, speller.Spell(value))
		require.Equal(t, Of("tool", a, nil), Of("tool", b, nil))
	})
}

func TestSumText(t *testing.T) {
	t.Parallel()
	sum := OfRaw("tool", []byte("x"))
	text, err := json.Marshal(map[string]Sum{"sum": sum})
	require.NoError(t, err)
	assert.JSONEq(t, `{"sum":"`+sum.String()+`"}`, string(text))
	var back struct{ Sum Sum }
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, sum, back.Sum)
	for _, bad := range []string{"", "00", strings.Repeat("0", 63), strings.Repeat("g", 64), strings.Repeat("0", 66)} {
		require.Error(t, back.Sum.UnmarshalText([]byte(bad)))
		assert.Equal(t, sum, back.Sum)
	}
}

// The pooled buffers are shared: calls must not see each other's.
func TestConcurrentDigests(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for _, size := range []int{1, 100, 1000, 100_000} {
		doc := parse(t, `{"text":"`+strings.Repeat("x", size)+`"}`)
		want := Of("tool", doc, nil)
		wg.Go(func() {
			for range 200 {
				assert.Equal(t, want, Of("tool", doc, nil))
			}
		})
	}
	wg.Wait()
}

const small = `{"city":"Berlin","days":3,"units":"metric","tags":["a","b"],"ok":true}   `

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget on purpose")
	}
	doc := parse(t, small)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { Of("weather", doc, nil) }))
	assert.Zero(t, testing.AllocsPerRun(1000, func() { OfRaw("weather", doc.Text) }))
}

func BenchmarkOf(b *testing.B) {
	doc := parse(b, small)
	b.ReportAllocs()
	for b.Loop() {
		Of("weather", doc, nil)
	}
}

func BenchmarkParseAndDigest(b *testing.B) {
	text := []byte(small)
	b.ReportAllocs()
	for b.Loop() {
		doc, _ := strictjson.Parse(text, strictjson.Limits{})
		Of("weather", &doc, nil)
	}
}
