package toolguardtest

import (
	"testing"
	"testing/synctest"
	"time"
)

// obligation is one thing an implementation owes, in words, and how it is checked.
type obligation[S any] struct {
	owes  string
	check func(s S, t testing.TB)
}

// meet runs a subtest for each obligation.
func meet[S any](t *testing.T, s S, bubble bool, obligations []obligation[S]) {
	t.Helper()
	for _, o := range obligations {
		t.Run(o.owes, func(t *testing.T) {
			if bubble {
				synctest.Test(t, func(t *testing.T) { o.check(s, t) })
				return
			}
			o.check(s, t)
		})
	}
}

// soon is how long what must not block may take. It is generous: machines are busy.
const soon = 5 * time.Second

// within runs f and fails the test if it does not return soon. A panic counts as
// failing too.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan any, 1)
	go func() {
		returned := false
		defer func() {
			v := recover()
			if v == nil && !returned {
				v = "its goroutine was ended"
			}
			done <- v
		}()
		f()
		returned = true
	}()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case v := <-done:
		if v != nil {
			t.Fatalf("toolguardtest: %s panics: %v", what, v)
		}
	case <-timer.C:
		t.Fatalf("toolguardtest: %s does not return within %v", what, soon)
	}
}

// together runs f n times at once and waits for all.
func together(t testing.TB, what string, n int, f func(i int)) {
	t.Helper()
	within(t, what, func() {
		panics := make(chan any, n)
		for i := range n {
			go func() {
				defer func() { panics <- recover() }()
				f(i)
			}()
		}
		for range n {
			if v := <-panics; v != nil {
				t.Errorf("toolguardtest: %s panics: %v", what, v)
			}
		}
	})
}
