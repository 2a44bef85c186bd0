package toolguard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolguard-go/toolguard/internal/canonical"
	"github.com/toolguard-go/toolguard/internal/digest"
	"github.com/toolguard-go/toolguard/internal/example"
	"github.com/toolguard-go/toolguard/internal/normalize"
	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// ArgumentPolicy says how what the model wrote becomes the document that runs.
// It is parsed strictly; then repaired where that cannot change its meaning,
// each repair noted; then held against the schema.
type ArgumentPolicy struct {
	// Off repairs nothing. Parsing and the schema stay as strict.
	Off bool
	// Schema says what becomes of a schema that does not compile.
	Schema SchemaMode
	// MaxBytes bounds the text. If zero, 1 MiB.
	MaxBytes int
	// MaxDepth bounds the nesting. If zero, 64.
	MaxDepth int
	// ControlCharacters inside strings are repaired for tools with side effects
	// too, not only for ReadOnly ones.
	ControlCharacters bool
}

// SchemaMode says what becomes of a schema that does not compile.
type SchemaMode uint8

const (
	// SchemaStrict makes it an error of [New]: it is your own tool.
	SchemaStrict SchemaMode = iota
	// SchemaLenient repairs and enforces what can be, for schemas from
	// elsewhere. [Guard.Describe] and every event say what is not enforced.
	SchemaLenient
)

var schemaModeNames = names{"strict", "lenient"}

// String returns the lower-case name, or SchemaMode(n) outside the set.
func (m SchemaMode) String() string { return schemaModeNames.text("SchemaMode", uint8(m)) }

// MarshalText implements [encoding.TextMarshaler].
func (m SchemaMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText accepts the names that String returns.
func (m *SchemaMode) UnmarshalText(b []byte) error {
	return schemaModeNames.parse("SchemaMode", b, (*uint8)(m))
}

func (p ArgumentPolicy) check() error {
	var errs []error
	if int(p.Schema) >= len(schemaModeNames) {
		errs = append(errs, badOption("Arguments.Schema", p.Schema, "strict or lenient"))
	}
	if p.MaxBytes < 0 || p.MaxBytes > 1<<30 {
		errs = append(errs, badOption("Arguments.MaxBytes", p.MaxBytes, "between 0 and 1 GiB"))
	}
	if p.MaxDepth < 0 || p.MaxDepth > 10_000 {
		errs = append(errs, badOption("Arguments.MaxDepth", p.MaxDepth, "between 0 and 10000"))
	}
	return errors.Join(errs...)
}

// arguments is what a guard knows about its tool's arguments.
type arguments struct {
	schema      *schema.Schema
	limits      strictjson.Limits
	identity    string
	irrelevant  func(string) bool // nil if every argument counts
	keyField    *fieldSet         // what Info.KeyField names; nil if nothing
	digests     bool              // somebody wants to know calls apart
	ofNone      Digest            // the digest of a call without arguments
	digest      string            // the schema's
	notEnforced []string
	example     func() json.RawMessage
}

// maxRepaired is how many violations beyond those listed may remain for repair to
// begin: a document with more is not repaired in part, but refused as it is.
const maxRepaired = 1000

// maxRounds bounds how often repaired values are repaired again: a string may
// hold an object that holds such a string.
const maxRounds = 4

func (g *Guard) buildArguments() error {
	p, a := &g.opts.Arguments, &g.args
	mode := schema.Strict
	if p.Schema == SchemaLenient {
		mode = schema.Lenient
	}
	s, err := schema.Compile(g.info.Schema, mode)
	if err != nil {
		return fmt.Errorf("toolguard: Info.Schema: %w", err)
	}
	a.schema, a.digest = s, s.Digest()
	a.limits = strictjson.Limits{MaxBytes: p.MaxBytes, MaxDepth: p.MaxDepth}
	a.identity = g.info.identity()
	none, _ := strictjson.Parse([]byte("{}"), strictjson.Limits{})
	a.ofNone = digest.Of(a.identity, &none, nil)
	a.digests = g.events != nil || g.opts.Fallback != nil || g.opts.Sessions != nil || g.opts.Journal != nil
	if key := g.info.KeyField; len(g.info.Irrelevant) > 0 || key != "" {
		a.irrelevant = func(name string) bool {
			return name == key && key != "" || slices.Contains(g.info.Irrelevant, name)
		}
	}
	if key := g.info.KeyField; key != "" {
		a.keyField = &fieldSet{fields: map[string]*fieldSet{key: nil}}
	}
	for _, n := range s.NotEnforced() {
		a.notEnforced = append(a.notEnforced, n.String())
	}
	a.example = sync.OnceValue(a.generate)
	return g.checkArguments()
}

// generate makes the example that accompanies violations; nil if none is small,
// or the schema is so tangled that judging one candidate takes too long.
func (a *arguments) generate() json.RawMessage {
	tangled := false
	text, ok := example.Generate(a.schema.Tree(), func(document any) bool {
		raw, err := json.Marshal(document)
		if tangled || err != nil {
			return false
		}
		doc, err := strictjson.Parse(raw, a.limits)
		if err != nil {
			return false
		}
		found, _ := a.schema.Validate(&doc)
		tangled = len(found) > 0 && found[0].Rule == schema.RuleInternal
		return len(found) == 0
	})
	if !ok {
		return nil
	}
	return text
}

// parsed reads the arguments strictly. Only what fails is repaired, and read
// strictly again.
func (c *call) parsed() bool {
	a := &c.guard.args
	if c.truncated {
		c.digestRaw()
		return c.fail(diagnosis{Verdict: Verdict{Code: CodeTruncated}}, nil)
	}
	doc, err := strictjson.Parse(slices.Clone(c.written), a.limits)
	if (err != nil || !doc.IsObject()) && !c.guard.opts.Arguments.Off {
		doc, err = c.repairText(doc, err)
	}
	if err != nil || !doc.IsObject() {
		c.digestRaw()
		return c.unreadable(doc, err)
	}
	c.doc = doc
	c.repairValues()
	if a.digests {
		c.digest = a.digestOf(&c.doc)
	}
	return true
}

func (c *call) digestRaw() {
	if a := &c.guard.args; a.digests {
		c.digest = digest.OfRaw(a.identity, c.written)
	}
}

func (c *call) repairText(doc strictjson.Doc, err error) (strictjson.Doc, error) {
	a := &c.guard.args
	text, changes := normalize.Text(slices.Clone(c.written), normalize.TextOptions{
		NothingRequired:   !a.schema.Required(),
		AllowControlChars: c.guard.info.Effect == ReadOnly || c.guard.opts.Arguments.ControlCharacters,
		Limits:            a.limits,
	})
	if len(changes) == 0 {
		return doc, err
	}
	c.noteChanges(changes)
	return strictjson.Parse(text, a.limits)
}

// mismatch is what is wrong with the arguments: what the schema has against the
// document, or why there is no document.
type mismatch struct {
	violations []schema.Violation
	more       int // violations beyond those listed
	example    json.RawMessage
	syntax     *strictjson.Error // why the text does not read
	notObject  string            // the kind of value it is instead
}

// judge holds the document against the schema.
func (c *call) judge() {
	if c.rare != nil {
		c.rare.mismatch = nil
	}
	found, more := c.violations()
	found = c.folded(found)
	if c.guard.info.Effect != ReadOnly {
		found = append(found, masked(&c.doc)...)
	}
	if len(found) > 0 {
		c.rarely().mismatch = &mismatch{violations: found, more: more}
	}
}

// violations are what the schema has against the document. Where there is no
// quick yes, the search for them ends with the call's budget.
func (c *call) violations() ([]schema.Violation, int) {
	s := c.guard.args.schema
	if s.Accepts(c.ctx, &c.doc) {
		return nil, 0
	}
	ctx, cancel := c.budgeted()
	defer cancel()
	return s.Violations(ctx, &c.doc)
}

// mismatch is what the schema has against the document; nil is nothing.
func (c *call) mismatch() *mismatch {
	if c.rare == nil {
		return nil
	}
	return c.rare.mismatch
}

// ruleMasked is broken by a mask of redaction that a model sends back: written,
// it would take the place of the secret.
const ruleMasked schema.Rule = "masked_value"

// maskStart is how every mask begins.
const maskStart = "[redacted:"

func masked(doc *strictjson.Doc) (found []schema.Violation) {
	if !bytes.Contains(doc.Text, []byte(maskStart)) && !bytes.Contains(doc.Text, []byte(`\u`)) { // which may spell it
		return nil
	}
	for i := range doc.Nodes {
		if n := int32(i); doc.Nodes[n].Kind == strictjson.String && strings.Contains(doc.Str(n), maskStart) {
			found = append(found, schema.Violation{Path: doc.Pointer(n), Node: n, Rule: ruleMasked, Kind: "string"})
		}
	}
	return found
}

// repairValues judges the document, and where the schema leaves one reading of
// a value it refuses, takes that reading.
func (c *call) repairValues() {
	c.judge()
	if c.guard.opts.Arguments.Off {
		return
	}
	expect := func(node int32) normalize.Expectation { return c.guard.args.schema.Expect(&c.doc, node) }
	for range maxRounds {
		m := c.mismatch()
		if m == nil {
			break
		}
		if m.more > maxRepaired {
			return // repairing some would not make it valid
		}
		if !c.reread(normalize.Values(&c.doc, expect, m.nodes())) {
			return
		}
	}
	if c.mismatch() == nil {
		c.reread(normalize.IntegralFloats(&c.doc, expect))
	}
}

// reread takes over a repaired text, if there is one and it reads.
func (c *call) reread(text []byte, changes []normalize.Change) bool {
	if len(changes) == 0 {
		return false
	}
	doc, err := strictjson.Parse(text, c.guard.args.limits)
	if err != nil {
		return false
	}
	c.doc = doc
	c.judge()
	c.noteChanges(changes)
	return true
}

func (m *mismatch) nodes() []int32 {
	nodes := make([]int32, len(m.violations))
	for i, v := range m.violations {
		nodes[i] = v.Node
	}
	return nodes
}

func (c *call) noteChanges(changes []normalize.Change) {
	for _, ch := range changes {
		c.notes = append(c.notes, Note{
			Kind: NoteKind(ch.Kind.String()), Path: ch.Path, Count: ch.Count,
			From: c.redact(ch.From), To: c.redact(ch.To),
		})
	}
}

// matched refuses a document that the schema has something against.
func (c *call) matched() bool {
	m := c.mismatch()
	switch {
	case m == nil:
		return true
	case c.ctx.Err() != nil: // it was not judged to the end
		return c.refuse(c.callerCode(), 0)
	case c.left(1) <= 0:
		return c.refuse(CodeBudgetExhausted, 0)
	}
	c.fail(diagnosis{Verdict: Verdict{Code: CodeSchemaViolation}}, nil)
	m.example = c.guard.args.example()
	c.failure.args = m
	return false
}

// unreadable settles a call whose arguments are not one JSON object.
func (c *call) unreadable(doc strictjson.Doc, err error) bool {
	code, m := CodeInvalidJSON, &mismatch{}
	if errors.As(err, &m.syntax) && m.syntax.Reason == strictjson.ReasonTruncated {
		code = CodeTruncated
	}
	if m.syntax == nil && len(doc.Nodes) > 0 {
		m.notObject = doc.Nodes[0].Kind.String()
	}
	c.fail(diagnosis{Verdict: Verdict{Code: code}}, err)
	c.failure.args = m
	return false
}

// resource joins the values of the named arguments, canonically.
func (a *arguments) resource(doc *strictjson.Doc, names []string) string {
	var b []byte
	for _, name := range names {
		if node, ok := doc.Member(0, name); ok {
			b = canonical.AppendNode(append(b, ','), doc, node)
		} else {
			b = append(b, '-') // no value has this form
		}
	}
	return string(b)
}

// buildOutput compiles the schema of results, as leniently as that of arguments.
func (g *Guard) buildOutput() error {
	if len(g.info.OutputSchema) == 0 {
		return nil
	}
	mode := schema.Strict
	if g.opts.Arguments.Schema == SchemaLenient {
		mode = schema.Lenient
	}
	s, err := schema.CompileValue(g.info.OutputSchema, mode)
	if err != nil {
		return fmt.Errorf("toolguard: Info.OutputSchema: %w", err)
	}
	g.output = s
	return nil
}
