package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

func nothing([]byte) bool { return false }

// noResult loses what says that a statement was executed.
func noResult(answer []byte) bool {
	return !bytes.Contains(answer, []byte("SELECT 1\x00")) && !bytes.Contains(answer, []byte("INSERT 0 1\x00"))
}

// The server makes the write, and its answer is lost: the error says that nobody
// knows, and reading tells. A request that is lost reads the same, and was not made.
func TestConnectionCutBetweenStatementAndAnswer(t *testing.T) {
	t.Parallel()
	p := newProxy(t, dsn(t))
	j := openWith(t, p.DSN, postgres.Options{Schema: newSchema(t, dsn(t)), Connections: 1})
	write(t, j, toolguard.Version{}, entry("settle", toolguard.StatePending))
	for name, lose := range map[string]func(){
		"answer":  func() { p.set(nil, noResult) },
		"request": func() { p.set(nothing, nil) },
	} {
		for key, was := range map[string]toolguard.Version{"claim with a lost " + name: {}, "settle": entryVersion} {
			e := entry(key, toolguard.StatePending)
			e.Owner = name
			scan(t, j, toolguard.Query{Key: key}) // there is a connection
			lose()
			_, ok, err := j.Write(t.Context(), was, e, toolguard.Record{Key: key, Why: name})
			p.set(nil, nil)
			assert.ErrorIs(t, err, postgres.ErrUnanswered)
			assert.ErrorContains(t, err, fmt.Sprintf("toolguard/postgres: write %q: the server's answer was not heard", key))
			assert.False(t, ok)
			waitUntil(t, func() bool { // the server may be at it still
				there := scan(t, j, toolguard.Query{Key: key})
				return name == "request" || len(there) == 1 && there[0].Owner == name
			})
			of := 0
			for _, r := range records(t, j, toolguard.RecordQuery{Key: key}) {
				if r.Why == name {
					of++
				}
			}
			assert.Equal(t, map[string]int{"answer": 1, "request": 0}[name], of, key)
		}
	}
	scan(t, j, toolguard.Query{})
	p.set(nil, noResult)
	err := j.Append(t.Context(), toolguard.Record{Key: "r"})
	p.set(nil, nil)
	assert.ErrorIs(t, err, postgres.ErrUnanswered)
	waitUntil(t, func() bool { return len(records(t, j, toolguard.RecordQuery{Key: "r"})) == 1 })
}

// waitUntil looks again and again.
func waitUntil(t testing.TB, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); {
		require.True(t, time.Now().Before(end), "it does not happen")
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// A guard whose claim was made and not heard of finds that the claim is its own, and
// runs the tool once. One whose settlement was not heard of says what it knows.
func TestGuardOverACutConnection(t *testing.T) {
	t.Parallel()
	p := newProxy(t, dsn(t))
	j := openWith(t, p.DSN, postgres.Options{Schema: newSchema(t, dsn(t)), Connections: 1})
	ran := 0
	tool := toolguard.Func(toolguard.Info{Name: "refund", Effect: toolguard.NonIdempotent},
		func(context.Context, struct{}) (string, error) { ran++; return "refunded", nil })
	guard, err := toolguard.New(tool, &toolguard.Options{Journal: j})
	require.NoError(t, err)
	call := func(step string) toolguard.Envelope {
		return guard.Do(toolguard.WithScope(t.Context(), toolguard.Scope{Run: "run", Step: step}), toolguard.Call{Args: []byte(`{}`)})
	}
	require.True(t, call("0").OK)
	loseNext := func(n int) {
		var mu sync.Mutex
		p.set(nil, func([]byte) bool {
			mu.Lock()
			defer mu.Unlock()
			n--
			return n != 0
		})
	}
	for n := 1; n <= 4; n++ {
		before := ran
		step := fmt.Sprint("with answer ", n, " lost")
		loseNext(n)
		first := call(step)
		p.set(nil, nil)
		assert.LessOrEqual(t, ran-before, 1, step)
		second := call(step)
		assert.Equal(t, 1, ran-before, "%s: it runs once in all: %s, %s", step, first.ForModel(), second.ForModel())
	}
}

// A server that takes connections and says nothing keeps nobody beyond the timeout,
// or beyond the caller's own.
func TestHungServer(t *testing.T) {
	t.Parallel()
	p := newProxy(t, dsn(t))
	j := openWith(t, p.DSN, postgres.Options{Schema: newSchema(t, dsn(t)), Timeout: 700 * time.Millisecond, Connections: 2})
	write(t, j, toolguard.Version{}, entry("a", toolguard.StatePending))
	hang := make(chan struct{})
	var once sync.Once
	release := func() { once.Do(func() { close(hang) }) }
	defer release()
	p.set(func([]byte) bool { <-hang; return false }, nil)

	began := time.Now()
	_, _, err := j.Write(t.Context(), entryVersion, entry("a", toolguard.StateSucceeded))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorIs(t, err, postgres.ErrUnanswered)
	assert.ErrorContains(t, err, "after 700ms")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = j.Scan(ctx, toolguard.Query{})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(began), 10*time.Second)

	p.set(nil, nil)
	release()
	assert.Equal(t, []string{"a"}, keysOf(scan(t, j, toolguard.Query{})), "it answers again")
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	began := time.Now()
	j, err := postgres.Open(t.Context(), "postgres://ann:s3cret@"+l.Addr().String()+"/orders", &postgres.Options{Patience: 100 * time.Millisecond})
	assert.Nil(t, j)
	assert.ErrorContains(t, err, "toolguard/postgres: open: no connection: ")
	assert.ErrorContains(t, err, "connection refused")
	assert.NotContains(t, err.Error(), "s3cret")
	assert.NotErrorIs(t, err, postgres.ErrUnanswered)
	assert.WithinRange(t, time.Now(), began.Add(90*time.Millisecond), began.Add(8*time.Second))
	_, err = postgres.Open(t.Context(), "postgres://ann:s3cret@%zz", nil)
	assert.ErrorContains(t, err, "toolguard/postgres: ")
	assert.NotContains(t, err.Error(), "s3cret")
}

// The server stops and starts again under writers. What was acknowledged is there,
// and the journal goes on by itself. A claim in the meantime waits for the server.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]bool{"stop": true, "crash": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := private(t)
			j := openWith(t, s.DSN, postgres.Options{Patience: 8 * time.Second, Connections: 6})
			acknowledged := map[string]toolguard.State{}
			for range 3 {
				var mu sync.Mutex
				var all sync.WaitGroup
				done := make(chan struct{})
				for range 6 {
					all.Go(func() { writeThrough(t, j, done, &mu, acknowledged) })
				}
				waitUntil(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(acknowledged) > 20 })
				if stop {
					require.NoError(t, s.Stop())
				} else {
					require.NoError(t, s.Crash())
				}
				all.Go(func() {
					_, ok, err := j.Write(t.Context(), toolguard.Version{}, entry("while it is down "+time.Now().String(), toolguard.StatePending))
					if !errors.Is(err, postgres.ErrUnanswered) { // on a connection that was just cut
						assert.NoError(t, err)
						assert.True(t, ok)
					}
				})
				require.NoError(t, s.Restart(t.Context()))
				close(done)
				all.Wait()
				storetest.AreThere(t, j, acknowledged)
			}
			write(t, j, toolguard.Version{}, entry("after", toolguard.StatePending))
			t.Logf("%d keys acknowledged, none lost", len(acknowledged))
		})
	}
}

// writeThrough writes until done, whatever becomes of the server.
func writeThrough(t *testing.T, j toolguard.Journal, done <-chan struct{}, mu *sync.Mutex, acknowledged map[string]toolguard.State) {
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
		}
		key := fmt.Sprintf("%p.%d.%d", &i, i, time.Now().UnixNano())
		err := storetest.Call(t.Context(), j, key, func(s toolguard.State) {
			mu.Lock()
			defer mu.Unlock()
			acknowledged[key] = s
		})
		if err != nil && !errors.Is(err, postgres.ErrUnanswered) {
			assert.ErrorContains(t, err, "no connection")
		}
	}
}
