package cause

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

// hostile misbehaves as its functions say; nil ones behave.
type hostile struct {
	text   func() string
	unwrap func() error
}

func (h *hostile) Error() string {
	if h.text == nil {
		return "hostile"
	}
	return h.text()
}

func (h *hostile) Unwrap() error {
	if h.unwrap == nil {
		return nil
	}
	return h.unwrap()
}

// many cannot be compared.
type many []error

func (m many) Error() string   { return "many" }
func (m many) Unwrap() []error { return m }

// boxed can be compared by its type, but not by its value.
type boxed struct{ v any }

func (boxed) Error() string { return "boxed" }

type self struct{}

func (self) Error() string   { return "self" }
func (s self) Unwrap() error { return s }

type endless struct{ n int }

func (e endless) Error() string { return "endless" }
func (e endless) Unwrap() error { return endless{e.n + 1} }

func texts(c Chain) []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, fmt.Sprintf("%d>%v", n.Parent, n.Err))
	}
	return all
}

func TestWalkOrder(t *testing.T) {
	t.Parallel()
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	err := fmt.Errorf("top: %w", &hostile{unwrap: func() error { return errors.Join(a, many{nil, b, nil}, c) }})
	assert.Equal(t, []string{"-1>top: hostile", "0>hostile", "1>a\nmany\nc", "2>a", "2>many", "4>b", "2>c"}, texts(Walk(err, nil)))
	assert.Equal(t, []string{"-1>top: hostile", "0>hostile"}, texts(Known(err, nil)))
	assert.Empty(t, Walk(nil, nil).Nodes)
}

func TestWalkIsBounded(t *testing.T) { // case f05
	t.Parallel()
	loop := &hostile{}
	loop.unwrap = func() error { return fmt.Errorf("again: %w", loop) }
	circle := &url.Error{Op: "Get"}
	circle.Err = &net.OpError{Op: "dial", Err: circle}
	wide := make(many, 1000)
	for i := range wide {
		wide[i] = io.EOF
	}
	for name, tc := range map[string]struct {
		err         error
		nodes       int
		cut, cyclic bool
	}{
		"a pointer to itself":      {loop, 2, false, true},
		"a value that is itself":   {self{}, 1, false, true},
		"standard types":           {circle, 2, false, true},
		"without end":              {endless{}, Limit, true, false},
		"wide":                     {wide, Limit, true, false},
		"wide, but empty":          {make(many, 1000), 1, true, false},
		"uncomparable, repeated":   {many{many{many{}}}, 3, false, false},
		"uncomparable inside":      {fmt.Errorf("%w", boxed{[]int{1}}), 2, false, false},
		"shared, which is no loop": {errors.Join(fmt.Errorf("%w", io.EOF), io.EOF), 4, false, false},
		"unwrap panics":            {&hostile{unwrap: func() error { panic("no") }}, 1, false, false},
	} {
		c := Walk(tc.err, nil)
		assert.Len(t, c.Nodes, tc.nodes, name)
		assert.Equal(t, tc.cut, c.Cut, name)
		assert.Equal(t, tc.cyclic, c.Cyclic, name)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	mine := &hostile{unwrap: func() error { return errors.New("x") }}
	own := func(err error) bool { return err == error(mine) }
	for _, err := range []error{
		errors.New("x"), fmt.Errorf("x %d", 1), fmt.Errorf("x: %w", io.EOF), fmt.Errorf("%w: %w", io.EOF, io.EOF),
		errors.Join(io.EOF, nil), context.Canceled, mine, fmt.Errorf("x: %w", mine),
	} {
		assert.True(t, Known(err, own).Plain(), "%v", err)
	}
	for _, err := range []error{
		nil, context.DeadlineExceeded, &url.Error{Err: io.EOF}, &hostile{}, fmt.Errorf("x: %w", &hostile{}),
		errors.Join(io.EOF, &hostile{}), fmt.Errorf("%w", (*hostile)(nil)),
	} {
		assert.False(t, Known(err, own).Plain(), "%v", err)
	}
	assert.False(t, Known(mine, nil).Plain())
}

func TestIsNil(t *testing.T) { // case f04
	t.Parallel()
	var p *hostile
	for _, err := range []error{nil, p, many(nil), (*url.Error)(nil)} {
		assert.True(t, IsNil(err), "%T", err)
	}
	for _, err := range []error{io.EOF, &hostile{}, many{}, boxed{}, self{}} {
		assert.False(t, IsNil(err), "%T", err)
	}
}

func TestText(t *testing.T) { // case f05
	t.Parallel()
	huge := strings.Repeat("x", 50<<20)
	circle := &url.Error{Op: "Get"}
	circle.Err = circle
	loop := &hostile{}
	loop.unwrap = func() error { return loop }
	loop.text = func() string { return "again: " + loop.Error() }
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"plain":            {errors.New("x"), "x"},
		"wrapped":          {fmt.Errorf("a: %w", &hostile{}), "a: hostile"},
		"standard":         {&url.Error{Op: "Get", URL: "u", Err: io.EOF}, `Get "u": EOF`},
		"standard, empty":  {&net.OpError{Op: "dial", Source: &net.TCPAddr{}}, Unavailable},
		"standard, cyclic": {circle, Unavailable},
		"foreign":          {&hostile{}, "hostile"},
		"foreign, cyclic":  {loop, Unavailable},
		"typed nil":        {(*hostile)(nil), Unavailable},
		"nil":              {nil, Unavailable},
		"panics":           {&hostile{text: func() string { panic("no") }}, Unavailable},
		"exits":            {&hostile{text: func() string { runtime.Goexit(); return "" }}, Unavailable},
		"in a join":        {errors.Join(io.EOF, &hostile{text: func() string { panic("no") }}, &hostile{}), "EOF\n" + Unavailable + "\nhostile"},
		"bad bytes":        {errors.New("a\xffb"), "a\uFFFDb"},
		"long":             {errors.New(strings.Repeat("é", 600)), strings.Repeat("é", 499)},
		"long join":        {errors.Join(errors.New(strings.Repeat("x", 990)), errors.New(strings.Repeat("y", 990)), &hostile{}), strings.Repeat("x", 990) + "\n" + strings.Repeat("y", 8)},
		"50 MB":            {&hostile{text: func() string { return huge }}, strings.Repeat("x", 999)},
	} {
		assert.Equal(t, tc.want, Text(nil, tc.err, 999), name)
	}
}

func TestTextStaysInItsLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		got := Text(nil, errors.New(raw), limit)
		require.True(t, utf8.ValidString(got))
		if utf8.ValidString(raw) {
			require.LessOrEqual(t, len(got), limit)
			require.True(t, strings.HasPrefix(raw, got))
		}
	})
}

func TestBlockingText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		err := errors.Join(io.EOF, &hostile{text: func() string { <-release; return "late" }})
		began := time.Now()
		assert.Equal(t, Unavailable, Text(nil, err, 100))
		assert.Equal(t, Patience, time.Since(began))
	})
}

// Errors that hang go on the account of whose they are: nobody else's are waited
// for any less.
func TestHangingErrorsGoOnAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var one, other isolate.Account
		var wg sync.WaitGroup
		hangs := &hostile{text: func() string { <-release; return "late" }}
		for range isolate.MaxStuck {
			wg.Go(func() { assert.Equal(t, Unavailable, Text(&one, hangs, 9)) })
		}
		wg.Wait()
		began := time.Now()
		assert.False(t, Within(&one, func() {}))
		assert.Zero(t, time.Since(began))
		assert.True(t, Within(&other, func() {}))
		close(release)
	})
}

func TestPlainIsCheap(t *testing.T) {
	err := errors.New("x")
	assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { Known(err, nil) }), 1.0)
	assert.Zero(t, testing.AllocsPerRun(200, func() { Text(nil, err, 100) }))
}

func BenchmarkKnown(b *testing.B) {
	err := errors.New("x")
	b.ReportAllocs()
	for b.Loop() {
		Known(err, nil)
	}
}

func BenchmarkText(b *testing.B) {
	err := errors.New("the order could not be found")
	b.ReportAllocs()
	for b.Loop() {
		Text(nil, err, 100)
	}
}

func BenchmarkTextForeign(b *testing.B) {
	err := &hostile{}
	b.ReportAllocs()
	for b.Loop() {
		Text(nil, err, 100)
	}
}
