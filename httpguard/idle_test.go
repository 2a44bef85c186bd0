package httpguard

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// step is what a scripted source does next: wait, then deliver.
type step struct {
	wait time.Duration
	text string
	err  error
}

// scripted plays steps, then EOF. A Read that waits ends when the source is
// closed, unless deaf is set: then only release ends it.
type scripted struct {
	steps   []step
	deaf    bool
	release chan struct{}
	closed  chan struct{}
}

func newScripted(steps ...step) *scripted {
	return &scripted{steps: steps, release: make(chan struct{}), closed: make(chan struct{})}
}

func (s *scripted) Read(p []byte) (int, error) {
	if len(s.steps) == 0 {
		return 0, io.EOF
	}
	next := &s.steps[0]
	closed := s.closed
	if s.deaf {
		closed = nil
	}
	select {
	case <-time.After(next.wait):
	case <-closed:
		return 0, net.ErrClosed
	case <-s.release:
		return 0, net.ErrClosed
	}
	next.wait = 0
	n := copy(p, next.text)
	if next.text = next.text[n:]; next.text == "" {
		err := next.err
		s.steps = s.steps[1:]
		return n, err
	}
	return n, nil
}

func (s *scripted) Close() error {
	close(s.closed) // twice would panic: the source is closed once
	return nil
}

const forever = 1000 * time.Hour

func watch(t *testing.T, source io.ReadCloser, opts IdleOptions) *IdleReader {
	t.Helper()
	r, err := NewIdleReader(t.Context(), source, opts)
	require.NoError(t, err)
	return r
}

// cases p01, p02, p03, p05, p07
func TestIdleReader(t *testing.T) {
	t.Parallel()
	limits := IdleOptions{FirstByte: 9 * time.Second, Idle: 3 * time.Second}
	sse := limits
	sse.SSE = true
	terminated := sse
	terminated.Terminator = EndsWith("data: [DONE]")

	ping := step{wait: 2 * time.Second, text: ": ping\n\n"}
	event := step{wait: 2 * time.Second, text: "data: x\n\n"}
	type want struct {
		text    string
		after   time.Duration
		stalled bool
		cut     bool
		partial bool
	}
	tests := map[string]struct {
		opts  IdleOptions
		steps []step
		want  want
	}{
		"whole":                {limits, []step{{text: "ab"}, {wait: 2 * time.Second, text: "c"}}, want{text: "abc", after: 2 * time.Second}},
		"empty":                {limits, nil, want{}},
		"slow start":           {limits, []step{{wait: 8 * time.Second, text: "a"}}, want{text: "a", after: 8 * time.Second}},
		"never starts":         {limits, []step{{wait: forever}}, want{after: 9 * time.Second, stalled: true}},
		"goes silent":          {limits, []step{{text: "ab"}, {wait: forever}}, want{text: "ab", after: 3 * time.Second, stalled: true, partial: true}},
		"drips":                {limits, []step{{2 * time.Second, "a", nil}, {2 * time.Second, "b", nil}, {2 * time.Second, "c", nil}}, want{text: "abc", after: 6 * time.Second}},
		"pings only":           {sse, []step{ping, ping, ping, ping, ping, ping}, want{text: strings.Repeat(ping.text, 4), after: 9 * time.Second, stalled: true}},
		"pings after an event": {sse, []step{event, ping, ping, ping}, want{text: event.text + ping.text, after: 5 * time.Second, stalled: true, partial: true}},
		"events among pings":   {sse, []step{event, {time.Second, ": p\n", nil}, {time.Second, "data: y\n", nil}, {2 * time.Second, "data", nil}}, want{text: "data: x\n\n: p\ndata: y\ndata", after: 6 * time.Second}},
		"pings without SSE":    {limits, []step{ping, ping, ping}, want{text: strings.Repeat(ping.text, 3), after: 6 * time.Second}},
		"terminated":           {terminated, []step{event, {text: "data: [DONE]\n\n"}}, want{text: "data: x\n\ndata: [DONE]\n\n", after: 2 * time.Second}},
		"not terminated":       {terminated, []step{event}, want{text: event.text, after: 2 * time.Second, cut: true, partial: true}},
		"terminator in halves": {terminated, []step{{text: "data: [DO"}, {text: "NE]\n"}}, want{text: "data: [DONE]\n"}},
		"nothing, terminated":  {terminated, nil, want{cut: true}},
		"cut off":              {limits, []step{{text: "ab", err: io.ErrUnexpectedEOF}}, want{text: "ab", cut: true, partial: true}},
		"reset":                {limits, []step{{text: "ab"}, {err: syscall.ECONNRESET}}, want{text: "ab", cut: true, partial: true}},
		"reset before data":    {sse, []step{{text: ": ping\n"}, {err: syscall.ECONNRESET}}, want{text: ": ping\n", cut: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := watch(t, newScripted(tt.steps...), tt.opts)
				text, err := io.ReadAll(r)
				assert.Equal(t, tt.want.text, string(text))
				assert.Equal(t, tt.want.after, time.Since(began))

				var stalled *StalledError
				var cut *TruncatedError
				require.Equal(t, tt.want.stalled, errors.As(err, &stalled), "%v", err)
				require.Equal(t, tt.want.cut, errors.As(err, &cut), "%v", err)
				assert.Equal(t, tt.want.stalled || tt.want.cut, err != nil)
				if stalled != nil {
					assert.EqualValues(t, len(text), stalled.HandedOn)
				}
				if cut != nil {
					assert.EqualValues(t, len(text), cut.HandedOn)
				}
				if partial, ok := err.(interface{ Partial() bool }); ok {
					assert.Equal(t, tt.want.partial, partial.Partial())
				}
				if err != nil {
					_, again := r.Read(make([]byte, 1))
					assert.Equal(t, err, again, "the stream does not start over")
				}
				assert.NoError(t, r.Close())
			})
		})
	}
}

func TestClockStopsWhileTheConsumerThinks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := watch(t, newScripted(step{text: "a"}, step{wait: 2 * time.Second, text: "b"}), IdleOptions{Idle: 3 * time.Second})
		one := make([]byte, 1)
		_, err := io.ReadFull(r, one)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		_, err = io.ReadFull(r, one)
		require.NoError(t, err)
		assert.Equal(t, "b", string(one))
	})
}

// waits is a wait for somebody, from some time on until another.
type waits struct{ from, to time.Time }

func (w waits) Waited(then time.Time) (time.Duration, bool) {
	from, to := w.from, w.to
	if from.Before(then) {
		from = then
	}
	if now := time.Now(); to.After(now) {
		to = now
	}
	return max(to.Sub(from), 0), !time.Now().Before(w.from) && time.Now().Before(w.to)
}

// While somebody is waited for, silence is not the source's.
func TestSilenceWhileSomebodyIsWaitedFor(t *testing.T) {
	t.Parallel()
	const idle = 30 * time.Second
	for name, c := range map[string]struct {
		from, to, data time.Duration // when the wait begins and ends, and data comes
		ok             bool
		took           time.Duration
	}{
		"a long wait":                    {time.Second, 10 * time.Minute, 10*time.Minute + 20*time.Second, true, 10*time.Minute + 20*time.Second},
		"a short wait":                   {time.Second, 21 * time.Second, 45 * time.Second, true, 45 * time.Second},
		"silence after it":               {10 * time.Second, 10 * time.Minute, forever, false, 10*time.Minute + 20*time.Second},
		"a wait that ends just before":   {time.Second, 59 * time.Second, 80 * time.Second, true, 80 * time.Second},
		"a wait that comes too late":     {31 * time.Second, time.Minute, forever, false, idle},
		"silence before and after count": {20 * time.Second, 40 * time.Second, forever, false, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx := context.WithValue(t.Context(), evidence.WaiterKey{}, waits{began.Add(c.from), began.Add(c.to)})
				r, err := NewIdleReader(ctx, newScripted(step{c.data, "x", nil}), IdleOptions{FirstByte: idle, Idle: idle})
				require.NoError(t, err)
				defer r.Close()
				_, err = r.Read(make([]byte, 8))
				assert.Equal(t, c.ok, err == nil, err)
				assert.Equal(t, c.took, time.Since(began).Round(time.Second))
			})
		})
	}
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		steps []step
		limit time.Duration
	}{
		{[]step{{wait: forever}}, DefaultFirstByte},
		{[]step{{text: "a"}, {wait: forever}}, DefaultIdle},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := io.ReadAll(watch(t, newScripted(tt.steps...), IdleOptions{}))
			var stalled *StalledError
			require.ErrorAs(t, err, &stalled)
			assert.Equal(t, tt.limit, stalled.Limit)
			assert.Equal(t, tt.limit, time.Since(began))
		})
	}
}

func TestSourceThatIgnoresCloseHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newScripted(step{wait: forever, text: "too late"})
		source.deaf = true
		r := watch(t, source, IdleOptions{FirstByte: time.Second})
		_, err := r.Read(make([]byte, 8))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, r.Close())
		<-source.closed
		close(source.release) // the bubble would report the goroutine that reads
	})
}

// stuckCloser blocks in Close as long as it reads.
type stuckCloser struct{ release chan struct{} }

func (s stuckCloser) Read([]byte) (int, error) { <-s.release; return 0, io.EOF }
func (s stuckCloser) Close() error             { <-s.release; return nil }

func TestSourceThatBlocksInCloseHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := stuckCloser{make(chan struct{})}
		r := watch(t, source, IdleOptions{FirstByte: time.Second})
		_, err := r.Read(make([]byte, 8))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, r.Close())
		close(source.release)
	})
}

func TestContextEndsAWaitingRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		source := newScripted(step{wait: forever})
		r, err := NewIdleReader(ctx, source, IdleOptions{})
		require.NoError(t, err)
		_, err = r.Read(make([]byte, 1))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		<-source.closed
	})
}

// A source that breaks because the call has ended did not break off by itself.
func TestSourceEndedByTheContextIsNotTruncated(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := NewIdleReader(ctx, newScripted(), IdleOptions{})
	require.NoError(t, err)
	cancel()
	assert.Equal(t, context.Canceled, r.ending(net.ErrClosed))
	assert.Equal(t, io.EOF, r.ending(io.EOF), "a whole stream is whole")
}

// What arrives at the very moment the limit passes is taken.
func TestDataAtTheLimitIsTaken(t *testing.T) {
	t.Parallel()
	r := watch(t, newScripted(), IdleOptions{})
	r.buf = []byte("x")
	r.results <- readResult{n: 1}
	r.lateOrStalled(DefaultFirstByte)
	require.NoError(t, r.err)
	assert.Equal(t, "x", string(r.rest))
}

func TestReadWithoutAContextOrRoom(t *testing.T) {
	t.Parallel()
	var none context.Context
	r, err := NewIdleReader(none, newScripted(step{text: "a"}), IdleOptions{})
	require.NoError(t, err)
	n, err := r.Read(nil)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Zero(t, r.bytes, "the source was not asked")
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Equal(t, "a", string(text))
}

func TestCloseEndsAWaitingRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newScripted(step{wait: forever})
		r := watch(t, source, IdleOptions{})
		time.AfterFunc(time.Second, func() { r.Close() })
		_, err := r.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrClosed)
		_, err = r.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrClosed)
		require.NoError(t, r.Close())
		<-source.closed
	})
}

func TestSourceThatMisbehaves(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		read func([]byte) (int, error)
		want string
	}{
		"panics":             {func([]byte) (int, error) { panic("boom") }, "panicked in Read: boom"},
		"exits":              {func([]byte) (int, error) { runtime.Goexit(); return 0, nil }, "ended its goroutine"},
		"never progresses":   {func([]byte) (int, error) { return 0, nil }, io.ErrNoProgress.Error()},
		"claims too much":    {func(p []byte) (int, error) { return len(p) + 1, io.ErrUnexpectedEOF }, "broke off"},
		"claims a negative":  {func([]byte) (int, error) { return -1, io.ErrUnexpectedEOF }, "broke off"},
		"has its own limits": {func([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }, os.ErrDeadlineExceeded.Error()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := io.ReadAll(watch(t, io.NopCloser(readFunc(tt.read)), IdleOptions{}))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestTimeoutOfTheSourceIsNoTruncation(t *testing.T) {
	t.Parallel()
	r := watch(t, io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded)), IdleOptions{})
	_, err := r.Read(make([]byte, 1))
	assert.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.True(t, isTimeout(err))
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestStreamErrorsMatch(t *testing.T) {
	t.Parallel()
	var stalled net.Error
	require.ErrorAs(t, error(&StalledError{}), &stalled)
	assert.True(t, stalled.Timeout())
	assert.NotErrorIs(t, &TruncatedError{cause: io.EOF}, io.EOF, "a cut stream must not pass for a whole one")
	assert.ErrorIs(t, &TruncatedError{cause: io.EOF}, io.ErrUnexpectedEOF)
	assert.ErrorIs(t, &TruncatedError{cause: syscall.ECONNRESET}, syscall.ECONNRESET)
	assert.ErrorIs(t, &TruncatedError{cause: syscall.ECONNRESET}, io.ErrUnexpectedEOF)
}

func TestEndsWith(t *testing.T) {
	t.Parallel()
	assert.True(t, EndsWith("}")([]byte("{}\r\n ")))
	assert.True(t, EndsWith("\n\n")([]byte("x\n\n")))
	assert.False(t, EndsWith("}")([]byte("{} x")))
	assert.False(t, EndsWith("}")(nil))
}

func TestTerminatorSeesTheTailOnly(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 3*tailLength) + "END"
	var seen []byte
	opts := IdleOptions{Terminator: func(tail []byte) bool { seen = append(seen, tail...); return true }}
	got, err := io.ReadAll(watch(t, io.NopCloser(iotest.HalfReader(strings.NewReader(text))), opts))
	require.NoError(t, err)
	assert.Equal(t, text, string(got))
	assert.Equal(t, text[len(text)-tailLength:], string(seen))
}

func TestNewIdleReaderNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := NewIdleReader(t.Context(), nil, IdleOptions{})
	require.ErrorContains(t, err, "source is nil")
	_, err = NewIdleReader(t.Context(), io.NopCloser(nil), IdleOptions{FirstByte: -1})
	require.ErrorContains(t, err, "IdleOptions.FirstByte -1ns is negative")
}

func TestStandardReaderContract(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("data: hello\n\n", 5000)
	require.NoError(t, iotest.TestReader(watch(t, io.NopCloser(strings.NewReader(text)), IdleOptions{SSE: true}), []byte(text)))
}

// However a source cuts its bytes, all of them pass, and what counts as data
// does not depend on the cuts.
func TestCutsDoNotMatter(t *testing.T) {
	t.Parallel()
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{"data", ":", " x", "\n", "\r", "\r\n", "event", "id: 7", "datax", " ", "d"}))
	rapid.Check(t, func(t *rapid.T) {
		chunks := pieces.Draw(t, "chunks")
		whole := strings.Join(chunks, "")
		var steps []step
		for _, chunk := range chunks {
			steps = append(steps, step{text: chunk})
		}
		r, err := NewIdleReader(context.Background(), newScripted(steps...), IdleOptions{SSE: true})
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, whole, string(got))
		require.EqualValues(t, dataBytes(whole), r.data)
	})
}

// dataBytes counts the plain way, line by line.
func dataBytes(text string) int {
	n := 0
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			n += len(value)
		}
	}
	return n
}

func FuzzEventLines(f *testing.F) {
	for _, seed := range []string{"data: x\n\n", ": ping\n", "data\n", "datadata: x", "event: data:\n", "data::\r\ndata:"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		cut = min(max(cut, 0), len(text))
		var l eventLines
		got := l.data([]byte(text[:cut])) + l.data([]byte(text[cut:]))
		assert.Equal(t, dataBytes(text), got, "%q", text)
	})
}
