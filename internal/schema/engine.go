package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"golang.org/x/sync/semaphore"

	"github.com/toolguard-go/toolguard/internal/accept"
	"github.com/toolguard-go/toolguard/internal/pattern"
)

// baseURI names the schema inside the compiler; references are relative to it.
const baseURI = "toolguard:///schema"

// An engine is jsonschema/v5 made safe for schemas and documents of strangers:
// nothing is loaded, nothing panics, and the work is bounded.
type engine struct {
	compiled *jsonschema.Schema
	root     string              // URI before the fragment in the locations of its errors
	turn     *semaphore.Weighted // one validation at a time
	steps    *steps
}

// newEngine compiles a decoded schema.
func newEngine(tree any) (e *engine, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("schema: panic while compiling: %s", excerpt(fmt.Sprint(r)))
		}
	}()
	e = &engine{steps: &steps{}, turn: semaphore.NewWeighted(1)}
	c := jsonschema.NewCompiler() // never shared: it is not safe for concurrent use
	c.LoadURL = refuse
	c.AssertFormat = true
	c.Formats = formatTable(tree)
	c.RegisterExtension(stepsName, nil, e.steps)
	if err := c.AddResource(baseURI, strings.NewReader(text(tree))); err != nil {
		return nil, describe(err)
	}
	if e.compiled, err = c.Compile(baseURI); err != nil {
		return nil, describe(err)
	}
	e.root, _, _ = strings.Cut(e.compiled.Location, "#")
	detach(e.compiled, map[*jsonschema.Schema]bool{})
	return e, nil
}

// refuse stands where the compiler would open files.
func refuse(uri string) (io.ReadCloser, error) {
	return nil, fmt.Errorf("%s leads out of the schema, and nothing is loaded", excerpt(uri))
}

// formatTable names every format of the tree, so that the registry of the
// library, which others may add to, is never asked.
func formatTable(tree any) map[string]func(any) bool {
	table := map[string]func(any) bool{}
	nameFormats(tree, table)
	for name, check := range formats {
		table[name] = func(v any) bool {
			s, ok := v.(string)
			return !ok || check(s)
		}
	}
	return table
}

// nameFormats looks everywhere, keyword or not: references lead to unusual places,
// and a name too many does no harm.
func nameFormats(v any, table map[string]func(any) bool) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["format"].(string); ok {
			table[name] = func(any) bool { return true }
		}
		for _, sub := range v {
			nameFormats(sub, table)
		}
	case []any:
		for _, sub := range v {
			nameFormats(sub, table)
		}
	}
}

// What one validation may cost: far more than any honest schema needs. Steps
// decide alike on every machine; they grow dearer the deeper a schema nests,
// so that time has the last word. It waits for slow machines, though, while no
// more steps are taken than an honest schema takes.
const (
	stepsFloor   = 20_000
	stepsPerNode = 50
	honestShare  = 5 // one step in so many
	timeFloor    = 120 * time.Millisecond
	timePerNode  = 2 * time.Microsecond // four times what honest schemas need
	maxTime      = 500 * time.Millisecond
	slowMachine  = 5  // times as long may honest work take
	stepsPerLook = 64 // at the clock and the context
)

// timeFor returns how long a document of so many nodes may take.
func timeFor(nodes int) time.Duration {
	return min(timeFloor+time.Duration(nodes)*timePerNode, maxTime)
}

// clock says when work on a document has taken too long.
type clock struct {
	ctx    context.Context
	look   int // steps until the next look at it
	honest int // as long as so many steps are left, the work is that of an honest schema
	began  time.Time
	limit  time.Duration
}

// newClock returns the clock for work of so many steps.
func newClock(ctx context.Context, steps int, limit time.Duration) clock {
	return clock{ctx: ctx, look: stepsPerLook, honest: steps - steps/honestShare, began: time.Now(), limit: limit}
}

// stops looks now and then, with so many steps left, and returns why the work
// must end: errSteps, or errGone if nobody waits for it.
func (c *clock) stops(left int) error {
	if c.look--; c.look > 0 {
		return nil
	}
	c.look = stepsPerLook
	if c.ctx.Err() != nil {
		return errGone
	}
	limit := c.limit
	if left >= c.honest {
		limit *= slowMachine
	}
	if time.Since(c.began) > limit {
		return errSteps
	}
	return nil
}

// stepsName is the keyword that [steps] poses as.
const stepsName = "steps"

var (
	errSteps = errors.New("schema: validation takes too many steps")
	errGone  = errors.New("schema: nobody waits for the validation any more")
)

// validate checks v, a value with the given number of nodes. Any error but a
// *jsonschema.ValidationError means that the document could not be judged; that
// is errGone if ctx ended first.
//
// Taking turns is what lets the count of steps, which the compiled schema holds,
// belong to one validation at a time. No code of a user runs meanwhile.
func (e *engine) validate(ctx context.Context, v any, nodes int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("schema: panic while validating: %s", excerpt(fmt.Sprint(r)))
			if r == errSteps || r == errGone {
				err = r.(error)
			}
		}
	}()
	if e.turn.Acquire(ctx, 1) != nil {
		return errGone
	}
	defer e.turn.Release(1)
	e.steps.start(ctx, nodes)
	return e.compiled.Validate(v)
}

// steps counts the subschemas applied to values. It poses as an extension of
// the validator, which calls it once for each.
type steps struct {
	left    int
	clock   clock
	matches pattern.Budget
}

// start gives the validation of so many nodes its budget.
func (st *steps) start(ctx context.Context, nodes int) {
	st.left = stepsFloor + stepsPerNode*nodes
	st.clock = newClock(ctx, st.left, timeFor(nodes))
	st.matches = pattern.NewBudget(timeFloor)
}

// Compile is called for each subschema. A long enum and many patterns make
// every value they meet dearer.
func (st *steps) Compile(_ jsonschema.CompilerContext, m map[string]any) (jsonschema.ExtSchema, error) {
	enum, _ := m["enum"].([]any)
	patterns, _ := m["patternProperties"].(map[string]any)
	own := &step{steps: st, fixed: 1 + len(enum)/16, perChild: 1 + 4*len(patterns)}
	if source, ok := m["pattern"].(string); ok {
		own.pattern, _ = pattern.Compile(source) // the compiler has seen it already
	}
	if divisor, ok := m["multipleOf"].(json.Number); ok && tameNumber(string(divisor)) {
		own.multipleOf = divisor
	}
	return own, nil
}

// step is one subschema's share of the work on a value.
type step struct {
	*steps
	fixed    int
	perChild int // in quarters

	// What the validator would take any time for.
	pattern    *pattern.Pattern
	multipleOf json.Number
}

// Validate is called for each value the subschema was applied to, after what
// is below it. The panic is the only way out of the validator, and
// [engine.validate] catches it.
func (s *step) Validate(ctx jsonschema.ValidationContext, v any) error {
	s.left -= s.fixed
	var fault error
	switch v := v.(type) {
	case map[string]any:
		s.left -= s.perChild * len(v) / 4
	case []any:
		s.left -= len(v) / 4
	case string:
		if s.pattern != nil && !s.pattern.MatchString(v, &s.matches) {
			fault = ctx.Error("pattern", "does not match")
		}
	case json.Number:
		if s.multipleOf != "" && !accept.IsMultiple(v, s.multipleOf) {
			fault = ctx.Error("multipleOf", "is no multiple")
		}
	}
	if s.left < 0 || s.matches.Exhausted() {
		panic(errSteps)
	}
	if why := s.clock.stops(s.left); why != nil {
		panic(why)
	}
	return fault
}

// describe turns a compiler's error into one line for developers.
func describe(err error) error {
	var outer *jsonschema.SchemaError
	if errors.As(err, &outer) && outer.Err != nil {
		err = outer.Err
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("schema does not compile: %s", excerpt(strings.TrimPrefix(err.Error(), "jsonschema: ")))
	}
	const most = 3
	var places []string
	for _, l := range plainLeaves(invalid) {
		place := fmt.Sprintf("at %s: %s", orRoot(instancePath(l.InstanceLocation)), excerpt(l.Message))
		if len(places) < most {
			places = append(places, place)
		}
	}
	return fmt.Errorf("schema is malformed %s", strings.Join(places, "; "))
}

// plainLeaves returns the innermost errors; a metaschema's alternatives are all
// of interest to a developer.
func plainLeaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var leaves []*jsonschema.ValidationError
	for _, c := range e.Causes {
		leaves = append(leaves, plainLeaves(c)...)
	}
	return leaves
}

// orRoot names the empty pointer.
func orRoot(pointer string) string {
	if pointer == "" {
		return "the top"
	}
	return pointer
}

// excerpt bounds text that goes into an error for developers.
func excerpt(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
