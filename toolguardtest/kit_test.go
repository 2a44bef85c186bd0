package toolguardtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// spy is a testing.TB that keeps what a failing test would say.
type spy struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (s *spy) Helper()             {}
func (s *spy) Cleanup(f func())    { s.TB.Cleanup(f) }
func (s *spy) Logf(string, ...any) {}

func (s *spy) Errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

// stopped is what Fatalf ends a spied test with.
type stopped struct{}

func (s *spy) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	panic(stopped{})
}

func (s *spy) Fatal(args ...any) { s.Fatalf("%s", fmt.Sprint(args...)) }

func (s *spy) FailNow() { panic(stopped{}) }

// skipped is what Skip ends a spied test with.
type skipped struct{}

func (s *spy) Skip(...any) { panic(skipped{}) }

func (s *spy) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.said, "\n")
}

// failing runs f with a spy and returns what it said: the kit must be able to fail.
func failing(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	s := &spy{TB: t}
	func() {
		defer func() {
			if v := recover(); v != nil && v != any(stopped{}) && v != any(skipped{}) {
				panic(v)
			}
		}()
		f(s)
	}()
	return s.text()
}

func guardOf(t testing.TB, tool toolguard.Tool, opts *toolguard.Options) *toolguard.Guard {
	t.Helper()
	g, err := toolguard.New(tool, opts)
	require.NoError(t, err)
	return g
}

func do(ctx context.Context, g *toolguard.Guard) toolguard.Envelope {
	return g.Do(ctx, toolguard.Call{ID: "c1", Args: json.RawMessage(`{}`)})
}

// inBubble runs f as a parallel subtest with a clock of its own.
func inBubble(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

func codeOf(env toolguard.Envelope) toolguard.Code {
	if env.OK {
		return ""
	}
	return env.Error.Code
}

var effects = []toolguard.Effect{toolguard.ReadOnly, toolguard.Idempotent, toolguard.IdempotentByKey, toolguard.NonIdempotent}

func infoOf(effect toolguard.Effect) toolguard.Info {
	return toolguard.Info{Name: "refund", Effect: effect}
}

func assertSays(t *testing.T, said string, parts ...string) {
	t.Helper()
	assert.NotEmpty(t, said, "it did not fail")
	for _, p := range parts {
		assert.Contains(t, said, p)
	}
}
