package toolguardtest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Step is what a [Tool] does in one run. The ones of this package can be combined;
// any function will do.
type Step func(r *Run) (toolguard.Result, error)

// OK succeeds with a text. A success has had its effect: it is in the ledger.
func OK(text string) Step { return Return(toolguard.Result{Text: text}) }

// JSON succeeds with a document, which need not be valid.
func JSON(document string) Step { return Return(toolguard.Result{JSON: json.RawMessage(document)}) }

// Return succeeds with a result.
func Return(result toolguard.Result) Step {
	return func(r *Run) (toolguard.Result, error) {
		r.Commit()
		return result, nil
	}
}

// Fail returns an error and has no effect.
func Fail(err error) Step {
	return func(*Run) (toolguard.Result, error) { return toolguard.Result{}, err }
}

// Panic panics.
func Panic(value any) Step {
	return func(*Run) (toolguard.Result, error) { panic(value) }
}

// Exit ends its goroutine, as t.FailNow does.
func Exit() Step {
	return func(*Run) (toolguard.Result, error) {
		runtime.Goexit()
		return toolguard.Result{}, nil
	}
}

// nilError is an error type whose nil pointer is no error.
type nilError struct{}

func (e *nilError) Error() string { return "nil error" }

// NilError succeeds, but returns a nil pointer as its error, which is not nil.
func NilError(text string) Step {
	return func(r *Run) (toolguard.Result, error) {
		r.Commit()
		var e *nilError
		return toolguard.Result{Text: text}, e
	}
}

// Obey hangs until its context ends, and returns the context's error.
func Obey() Step {
	return func(r *Run) (toolguard.Result, error) {
		select {
		case <-r.Ctx.Done():
			return toolguard.Result{}, r.Ctx.Err()
		case <-r.Released():
			return toolguard.Result{}, fmt.Errorf("released")
		}
	}
}

// Ignore hangs whatever its context says, until the tool is released, and then
// goes on with next.
func Ignore(next Step) Step {
	return func(r *Run) (toolguard.Result, error) {
		<-r.Released()
		return next(r)
	}
}

// Slow takes d before next, unless its context ends before.
func Slow(d time.Duration, next Step) Step {
	return func(r *Run) (toolguard.Result, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return next(r)
		case <-r.Ctx.Done():
			return toolguard.Result{}, r.Ctx.Err()
		}
	}
}

// Late takes d before next, whatever its context says: with a d longer than the
// attempt's timeout and grace, next comes after the attempt was abandoned. A
// release ends the wait.
func Late(d time.Duration, next Step) Step {
	return func(r *Run) (toolguard.Result, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Released():
		}
		return next(r)
	}
}

// Commit has its effect and then takes next: Commit(Fail(err)) acts and then
// loses the answer, Commit(Obey()) acts and hangs.
func Commit(next Step) Step {
	return func(r *Run) (toolguard.Result, error) {
		r.Commit()
		return next(r)
	}
}

// LoseAnswer has its effect; then the connection ends before the answer is there.
func LoseAnswer() Step {
	return Commit(Fail(fmt.Errorf("reading the answer: %w", io.ErrUnexpectedEOF)))
}

// Huge succeeds with size bytes of text.
func Huge(size int) Step {
	return func(r *Run) (toolguard.Result, error) {
		r.Commit()
		const line = "0123456789 a line of a very large answer\n"
		return toolguard.Result{Text: strings.Repeat(line, size/len(line)+1)[:size]}, nil
	}
}

// Binary succeeds with bytes that are no text.
func Binary(size int) Step {
	return func(r *Run) (toolguard.Result, error) {
		r.Commit()
		rng := rand.New(rand.NewPCG(1, 2))
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return toolguard.Result{Text: string(b)}, nil
	}
}

// Through runs a real tool. A success of it is entered into the ledger.
func Through(tool toolguard.Tool) Step {
	return func(r *Run) (toolguard.Result, error) {
		result, err := tool.Call(r.Ctx, r.Args)
		if err == nil {
			r.Commit()
		}
		return result, err
	}
}

// Flaky takes failing in its first n runs and then from there on.
func Flaky(n int, failing, then Step) Step {
	return func(r *Run) (toolguard.Result, error) {
		if r.N <= n {
			return failing(r)
		}
		return then(r)
	}
}

// Chaos takes one of the failing steps in a share of the runs, from 0 to 1, and
// otherwise the normal one. Which run gets which depends on the seed and the
// number of the run only.
func Chaos(seed uint64, rate float64, normal Step, failing ...Step) Step {
	return func(r *Run) (toolguard.Result, error) {
		rng := rand.New(rand.NewPCG(seed, uint64(r.N)))
		if len(failing) == 0 || rng.Float64() >= rate {
			return normal(r)
		}
		return failing[rng.IntN(len(failing))](r)
	}
}

// ordinal writes 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}
