package toolguardtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard"
	tgt "github.com/toolguard-go/toolguard/toolguardtest"
)

var errInterrupt = errors.New("interrupt")

// framework is a small framework with an error flag and an interrupt. The fields
// break its adapter, each in one way.
type framework struct {
	trims, errs, flags, unguarded, rounds, forgets, wraps, stops bool
}

func (f framework) answer(env toolguard.Envelope) (tgt.AdapterAnswer, error) {
	if err := env.Control(); err != nil {
		if f.wraps {
			return tgt.AdapterAnswer{}, errors.New("tool failed: " + err.Error())
		}
		return tgt.AdapterAnswer{}, err
	}
	if f.errs && !env.OK {
		return tgt.AdapterAnswer{}, env.Err()
	}
	a := tgt.AdapterAnswer{Text: env.ForModel(), Failed: !env.OK || f.flags}
	if f.trims {
		a.Text = a.Text[:len(a.Text)-1]
	}
	return a, nil
}

func (f framework) wrap(_ testing.TB, guard *toolguard.Guard) func(context.Context, string) (tgt.AdapterAnswer, error) {
	return func(ctx context.Context, args string) (tgt.AdapterAnswer, error) {
		switch {
		case f.rounds:
			var v any
			_ = json.Unmarshal([]byte(args), &v)
			b, _ := json.Marshal(v)
			args = string(b)
		case f.forgets:
			ctx = context.Background()
		case f.unguarded:
			return tgt.AdapterAnswer{Text: "fine"}, nil
		}
		return f.answer(guard.Do(ctx, toolguard.Call{ID: "c", Args: json.RawMessage(args)}))
	}
}

func (f framework) wrapAll(_ testing.TB, box *toolguard.Toolbox) func(context.Context, []toolguard.Call) ([]tgt.AdapterAnswer, error) {
	return func(ctx context.Context, calls []toolguard.Call) (answers []tgt.AdapterAnswer, err error) {
		for _, env := range box.DoAll(ctx, calls).Envelopes {
			if f.stops && !env.OK {
				return answers, env.Err()
			}
			a, _ := f.answer(env)
			answers = append(answers, a)
		}
		return answers, nil
	}
}

func (f framework) suite() tgt.AdapterSuite {
	return tgt.AdapterSuite{
		Wrap: f.wrap, WrapAll: f.wrapAll, Flag: true, Control: errInterrupt,
		PassThrough: func(err error) bool { return errors.Is(err, errInterrupt) },
	}
}

func TestSoundAdapter(t *testing.T) {
	t.Parallel()
	tgt.TestAdapter(t, framework{}.suite())
}

func TestTheAdapterSuiteCanFail(t *testing.T) {
	t.Parallel()
	broken := map[string]framework{
		"hands a success on as it is":                          {trims: true},
		"hands a failure on as its envelope, with a nil error": {errs: true},
		"sets the error flag for failures only":                {flags: true},
		"answers when the tool panics or hangs":                {unguarded: true},
		"passes the arguments on":                              {rounds: true},
		"passes the context on":                                {forgets: true},
		"leaves control flow untouched":                        {wraps: true},
		"keeps siblings":                                       {stops: true},
	}
	expectFailures(t, func(owes string) []tgt.Obligation { return tgt.AdapterObligations(broken[owes].suite()) }, map[string]string{
		"hands a success on as it is":                          "reads",
		"hands a failure on as its envelope, with a nil error": "the framework gets the error",
		"sets the error flag for failures only":                "the error flag is set for a success",
		"answers when the tool panics or hangs":                "is not answered as a failure",
		"passes the arguments on":                              `want {"n":9007199254740993} once`,
		"passes the context on":                                "do not reach the tool",
		"leaves control flow untouched":                        "want its own control flow",
		"keeps siblings":                                       "5 calls of one message have 1 answers",
	})
}

func TestSuitesSayWhatToDo(t *testing.T) {
	t.Parallel()
	s := framework{}.suite()
	s.Flag, s.Control, s.WrapAll = false, nil, nil
	for _, o := range tgt.AdapterObligations(s) {
		assert.Empty(t, failing(t, o.Check), o.Owes)
	}
}
