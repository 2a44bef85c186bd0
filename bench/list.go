package bench

import (
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/toolguard-go/toolguard"
)

// The names of the variants.
const (
	Failsafe  = "failsafe-go"                 // retry, breaker, timeout
	Abandon   = "failsafe-go + goroutine"     // the same, able to abandon an attempt
	Peers     = "decode + schema + goroutine" // the same after decoding and validation
	Direct    = "the tool alone"
	Isolated  = "a goroutine, no policies" // and no more than a deadline and a recover need
	Unwatched = "guard, no observer"
	AllOn     = "guard, all on"
	Rendered  = "guard, no observer, rendered"
	Talking   = "guard, no observer, session"
	Group     = "errgroup of guarded calls"
	Batch     = "a batch of them"
	Counted   = "guard, events only counted"
	ByHand    = "guard, recorded by hand"
	Watched   = "guard, observer"
	Journaled = "guard, memory journal"
	Stepped   = "guard, memory journal, steps"
)

// Cases returns all there is to measure.
func Cases() []Case {
	return append([]Case{
		plain(), waited(), parallel(), schema(), aroundJSON(), failures(), refusal(), conversation(), journal(), batch(),
	}, watching()...)
}

func plain() Case {
	return Case{Name: "plain", Variants: []Variant{
		{Name: Failsafe, New: failsafeOf(newPeer, noop, noArgs, nil)},
		{Name: Abandon, New: abandonOf(noop, noArgs, nil)},
		{Name: Unwatched, New: guardOf("", noop, quick, noArgs, ""), Bounds: []Bound{{Beside: Abandon}}},
		{Name: AllOn, New: guardOf("", noop, observed, noArgs, ""), Bounds: []Bound{
			{Beside: Abandon, Time: 1, Allocs: 14, Bytes: 1024},
			{Beside: Failsafe, Time: 1, Allocs: 9, Bytes: 1024, Stretch: true},
		}},
	}}
}

// waited is plain with a tool that is not there with its answer at its first turn,
// so that it is timed and waited for.
func waited() Case {
	return Case{Name: "waited for", Variants: []Variant{
		{Name: Failsafe, New: failsafeOf(newPeer, slow, noArgs, nil)},
		{Name: Abandon, New: abandonOf(slow, noArgs, nil)},
		{Name: AllOn, New: guardOf("", slow, observed, noArgs, ""), Bounds: []Bound{
			{Beside: Abandon, Time: 1, Allocs: 14, Bytes: 1024},
		}},
	}}
}

func parallel() Case {
	return Case{Name: "parallel", Parallel: true, Variants: []Variant{
		{Name: Abandon, New: abandonOf(noop, noArgs, nil)},
		{Name: AllOn, New: guardOf("", noop, observed, noArgs, ""), Bounds: []Bound{{Beside: Abandon}}},
	}}
}

func schema() Case {
	return Case{Name: "schema", Variants: []Variant{
		{Name: Peers, New: peersOf(noop, fourArgs)},
		{Name: Unwatched, New: guardOf(schemaText, noop, quick, fourArgs, ""), Bounds: []Bound{{Beside: Peers}}},
		{Name: AllOn, New: guardOf(schemaText, noop, observed, fourArgs, ""), Bounds: []Bound{
			{Beside: Peers, Time: .5, Share: .8},
		}},
	}}
}

func aroundJSON() Case {
	return Case{Name: "JSON tool", Variants: []Variant{
		{Name: Direct, New: direct(jsonTool, fourArgs)},
		{Name: Isolated, New: isolatedOf(jsonTool, fourArgs, 1, nil), Bounds: []Bound{{Beside: Failsafe}}},
		{Name: Failsafe, New: failsafeOf(newPeer, jsonTool, fourArgs, nil)},
		{Name: Abandon, New: abandonOf(jsonTool, fourArgs, nil)},
		{Name: Unwatched, New: guardOf(schemaText, jsonTool, quick, fourArgs, ""), Bounds: []Bound{{Beside: Failsafe, Time: 1.25}}},
		{Name: AllOn, New: guardOf(schemaText, jsonTool, observed, fourArgs, ""), Bounds: []Bound{
			{Beside: Failsafe, Time: 1.25, Stretch: true},
			{Beside: Abandon},
		}},
	}}
}

func failures() Case {
	return Case{Name: "3 failures", Variants: []Variant{
		{Name: Isolated, New: isolatedOf(down, noArgs, 3, errDown), Bounds: []Bound{{Beside: Failsafe}}},
		{Name: Failsafe, New: failsafeOf(newPeer, down, noArgs, errDown)},
		{Name: Abandon, New: abandonOf(down, noArgs, errDown)},
		{Name: Unwatched, New: guardOf("", down, quick, noArgs, toolguard.CodeUnknownError), Bounds: []Bound{
			{Beside: Failsafe, Time: 1, Allocs: 63},
		}},
		{Name: AllOn, New: guardOf("", down, observed, noArgs, toolguard.CodeUnknownError), Bounds: []Bound{{Beside: Abandon}}},
	}}
}

func refusal() Case {
	return Case{Name: "open breaker", Variants: []Variant{
		{Name: Failsafe, New: failsafeOf(newOpenPeer, noop, noArgs, circuitbreaker.ErrOpen)},
		{Name: Unwatched, New: refusalOf(nil, false), Bounds: []Bound{{Beside: Failsafe, Nanos: 1000}}},
		{Name: Rendered, New: refusalOf(nil, true), Bounds: []Bound{{Beside: Failsafe}}},
		{Name: AllOn, New: refusalOf(new(observer), false), Bounds: []Bound{{Beside: Failsafe}}},
	}}
}

func conversation() Case {
	return Case{Name: "conversation", Variants: []Variant{
		{Name: Unwatched, New: talkOf(nil)},
		{Name: Talking, New: talkOf(sessions), Bounds: []Bound{{Beside: Unwatched, More: 1500, Extra: 4}}},
	}}
}

func batch() Case {
	return Case{Name: "64 calls", Variants: []Variant{
		{Name: Group, New: groupOf},
		{Name: Batch, New: batchOf, Bounds: []Bound{{Beside: Group, Time: 1.1}}},
	}}
}
