package evidence

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// script plays the life of one request.
type script func(a *Attempt)

func begin(a *Attempt, method string) *Entry {
	e, _ := a.Begin(method != http.MethodGet, method+" http://service/")
	return e
}

func answered(method string, status int) script {
	return func(a *Attempt) {
		e := begin(a, method)
		e.WantConn()
		e.GotConn()
		e.WroteHeaders()
		e.WroteRequest()
		e.Answered(status, time.Time{})
	}
}

func dialFailed(method string) script {
	return func(a *Attempt) {
		e := begin(a, method)
		e.WantConn()
		e.Failed()
	}
}

func lost(method string) script {
	return func(a *Attempt) {
		e := begin(a, method)
		e.WantConn()
		e.GotConn()
		e.WroteHeaders()
		e.Failed()
	}
}

func inFlight(method string) script { return func(a *Attempt) { begin(a, method).WantConn() } }
func untraced(method string) script { return func(a *Attempt) { begin(a, method).Failed() } }
func stopped(method string) script  { return func(a *Attempt) { begin(a, method).NotSent() } }

func resent(method string, status int) script {
	return func(a *Attempt) {
		e := begin(a, method)
		e.GotConn()
		e.WroteHeaders()
		e.GotConn()
		e.WroteHeaders()
		e.Answered(status, time.Time{})
	}
}

func TestWhatIsProven(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		play        []script
		nothingSent bool
		unsafe      int
		definite    bool
		status      int
	}{
		"no request":                         {nil, false, 0, false, 0},
		"dial failed":                        {[]script{dialFailed("POST")}, true, 0, true, 0},
		"dial failed twice":                  {[]script{dialFailed("GET"), dialFailed("POST")}, true, 0, true, 0},
		"stopped before sending":             {[]script{stopped("POST")}, true, 0, true, 0},
		"transport without trace":            {[]script{untraced("POST")}, false, 1, false, 0},
		"still under way, not yet connected": {[]script{inFlight("POST")}, false, 1, false, 0},
		"lost after the headers":             {[]script{lost("POST")}, false, 1, false, 0},
		"safe request lost":                  {[]script{lost("GET")}, false, 0, true, 0},
		"posted, then dial failed":           {[]script{answered("POST", 201), dialFailed("POST")}, false, 1, false, 0},
		"posted, then receipt not found":     {[]script{answered("POST", 200), answered("GET", 404)}, false, 1, false, 404},
		"refused":                            {[]script{answered("POST", 422)}, false, 1, true, 422},
		"looked up, then refused":            {[]script{answered("GET", 200), answered("POST", 409)}, false, 1, true, 409},
		"refused twice":                      {[]script{answered("POST", 401), answered("POST", 400)}, false, 2, true, 400},
		"sent elsewhere, then refused":       {[]script{answered("POST", 307), answered("POST", 400)}, false, 2, true, 400},
		"redirected after the fact":          {[]script{answered("POST", 303), answered("GET", 404)}, false, 1, false, 404},
		"request timeout":                    {[]script{answered("POST", 408)}, false, 1, false, 408},
		"client gave up":                     {[]script{answered("POST", 499)}, false, 1, false, 499},
		"balancer gave up":                   {[]script{answered("POST", 460)}, false, 1, false, 460},
		"server error":                       {[]script{answered("POST", 503)}, false, 1, false, 503},
		"conflict on the second sending":     {[]script{resent("POST", 409)}, false, 1, false, 409},
		"only looked up":                     {[]script{answered("GET", 500)}, false, 0, true, 500},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a Attempt
			for _, play := range tt.play {
				play(&a)
			}
			status, ok := a.LastStatus()
			assert.Equal(t, len(tt.play) > 0, a.Used())
			assert.Equal(t, tt.nothingSent, a.NothingSent(), "nothing sent")
			assert.Equal(t, tt.unsafe, a.UnsafeRequests(), "unsafe requests")
			assert.Equal(t, tt.definite, a.DefiniteOnly(), "definite only")
			assert.Equal(t, tt.status, status)
			assert.Equal(t, tt.status != 0, ok)
			assert.Len(t, a.Requests(), len(tt.play))
		})
	}
}

func TestOrdinalsCountPerTarget(t *testing.T) {
	t.Parallel()
	var a Attempt
	var got []int
	for _, target := range []string{"POST /a", "POST /b", "POST /a", "GET /a", "POST /a"} {
		_, n := a.Begin(true, target)
		got = append(got, n)
	}
	assert.Equal(t, []int{1, 1, 2, 1, 3}, got)
}

func TestBeyondTheBoundEverythingCountsAsSent(t *testing.T) {
	t.Parallel()
	var a Attempt
	for range MaxRequests {
		dialFailed("POST")(&a)
	}
	require.True(t, a.NothingSent())

	dialFailed("GET")(&a)
	assert.False(t, a.NothingSent())
	assert.True(t, a.DefiniteOnly(), "a safe request beyond the bound has no effect")

	e, ordinal := a.Begin(true, "POST http://service/")
	e.WantConn()
	e.Answered(http.StatusTooManyRequests, time.Now().Add(time.Hour))
	assert.Equal(t, MaxRequests+2, ordinal)
	assert.Equal(t, 1, a.UnsafeRequests())
	assert.False(t, a.DefiniteOnly())
	assert.Len(t, a.Requests(), MaxRequests)
	status, _ := a.LastStatus()
	assert.Equal(t, http.StatusTooManyRequests, status)
	_, ok := a.RetryAfter()
	assert.True(t, ok, "the answer to the last request still counts")
}

func TestRetryAfterIsTheLatestOfTheErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a Attempt
		_, ok := a.RetryAfter()
		assert.False(t, ok)
		for _, answer := range []struct {
			status int
			wait   time.Duration
		}{{429, 10 * time.Second}, {202, time.Hour}, {503, 4 * time.Second}} {
			begin(&a, "POST").Answered(answer.status, time.Now().Add(answer.wait))
		}
		time.Sleep(time.Second)
		wait, ok := a.RetryAfter()
		assert.True(t, ok)
		assert.Equal(t, 9*time.Second, wait)
		time.Sleep(time.Minute)
		wait, ok = a.RetryAfter()
		assert.True(t, ok)
		assert.Zero(t, wait, "what has passed is no longer waited for")
	})
}

func TestTheOuterAttemptSeesInnerRequests(t *testing.T) {
	t.Parallel()
	var outer, inner Attempt
	ctx := NewContext(t.Context(), &outer)
	dialFailed("POST")(FromContext(ctx))
	require.True(t, outer.NothingSent())

	answered("POST", 200)(FromContext(NewContext(ctx, &inner)))
	assert.False(t, outer.NothingSent())
	assert.Equal(t, 1, outer.UnsafeRequests())
	assert.Len(t, inner.Requests(), 1)
	assert.Equal(t, inner.Requests()[0], outer.Requests()[1])
}

func TestNilAttempt(t *testing.T) {
	t.Parallel()
	a := FromContext(t.Context())
	require.Nil(t, a)
	assert.False(t, a.Used() || a.NothingSent() || a.DefiniteOnly())
	assert.Zero(t, a.UnsafeRequests())
	assert.Nil(t, a.Requests())
	_, ok := a.LastStatus()
	assert.False(t, ok)
	_, ok = a.RetryAfter()
	assert.False(t, ok)
}

func TestCallKey(t *testing.T) {
	t.Parallel()
	_, ok := CallKey(t.Context())
	assert.False(t, ok)
	_, ok = CallKey(WithCallKey(t.Context(), ""))
	assert.False(t, ok, "an empty key is none")
	key, ok := CallKey(WithCallKey(t.Context(), "k"))
	assert.True(t, ok)
	assert.Equal(t, "k", key)
}

func TestLateAndConcurrentWrites(t *testing.T) {
	t.Parallel()
	var a Attempt
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			e := begin(&a, "POST")
			e.WantConn()
			e.GotConn()
			e.Answered(500, time.Now())
			e.Read(1)
			e.Lost()
		})
		wg.Go(func() {
			a.NothingSent()
			a.DefiniteOnly()
			a.RetryAfter()
			a.Requests()
		})
	}
	wg.Wait()
	assert.Equal(t, 8, a.UnsafeRequests())
}

// Evidence only ever grows towards "may have happened": no event after the
// end of the round trip may turn a doubt into a proof.
func TestLateEventsNeverProveMore(t *testing.T) {
	t.Parallel()
	events := map[string]func(*Entry){
		"got":     (*Entry).GotConn,
		"headers": (*Entry).WroteHeaders,
		"request": (*Entry).WroteRequest,
		"byte":    (*Entry).FirstByte,
		"lost":    (*Entry).Lost,
		"key":     (*Entry).KeySent,
	}
	rapid.Check(t, func(t *rapid.T) {
		var a Attempt
		var entries []*Entry
		for range rapid.IntRange(1, 4).Draw(t, "requests") {
			e := begin(&a, rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method"))
			if rapid.Bool().Draw(t, "traced") {
				e.WantConn()
			}
			if status := rapid.SampledFrom([]int{0, 200, 404, 503}).Draw(t, "status"); status > 0 {
				e.GotConn()
				e.Answered(status, time.Time{})
			} else {
				e.Failed()
			}
			entries = append(entries, e)
		}
		sent, definite, unsafe := !a.NothingSent(), a.DefiniteOnly(), a.UnsafeRequests()
		for range rapid.IntRange(1, 6).Draw(t, "events") {
			name := rapid.SampledFrom([]string{"got", "headers", "request", "byte", "lost", "key"}).Draw(t, "event")
			events[name](rapid.SampledFrom(entries).Draw(t, "entry"))
			require.False(t, sent && a.NothingSent(), "a late event proved that nothing was sent")
			require.False(t, !definite && a.DefiniteOnly(), "a late event proved that nothing took effect")
			require.GreaterOrEqual(t, a.UnsafeRequests(), unsafe)
		}
	})
}

type fieldContext struct {
	context.Context
	attempt Attempt
}

func (c *fieldContext) Value(key any) any {
	switch key.(type) {
	case Key:
		return &c.attempt
	case CallKeyKey:
		return c
	}
	return c.Context.Value(key)
}

func (c *fieldContext) CallKey() string { return "k" }

func TestAnUnusedAttemptCostsNothing(t *testing.T) {
	c := &fieldContext{Context: context.Background()}
	var ctx context.Context = c
	allocs := testing.AllocsPerRun(1000, func() {
		a := FromContext(ctx)
		_ = a.Used() || a.NothingSent() || a.DefiniteOnly()
		_, _ = CallKey(ctx)
	})
	assert.Zero(t, allocs)
}
