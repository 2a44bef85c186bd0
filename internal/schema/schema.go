package schema

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolguard-go/toolguard/internal/accept"
)

// Mode says what becomes of a schema that does not compile.
type Mode uint8

const (
	// Strict refuses it with an error. It is for tools one writes oneself.
	Strict Mode = iota
	// Lenient repairs it, and leaves out what cannot be repaired.
	Lenient
)

// A Note is one place in a schema that was rewritten or is not enforced.
type Note struct {
	Path    string // JSON pointer of the subschema
	Keyword string // may be empty: the subschema as a whole
	Reason  string // a name in [Rewrites], or one of the Reason constants
}

// String renders the note for developers: "/properties/x: pattern: …".
func (n Note) String() string {
	return fmt.Sprintf("%s %s: %s", cmp.Or(n.Path, "/"), cmp.Or(n.Keyword, "schema"), n.Reason)
}

// A Schema is a compiled schema of a tool's arguments.
// It is immutable and safe for concurrent use.
type Schema struct {
	raw         json.RawMessage
	absent      bool // raw is empty: any object will do
	tree        any
	draft       int
	digest      string
	engine      *engine
	fast        *accept.Program
	places      places
	branched    bool
	requires    bool
	flat        bool
	anyKind     bool // of value may be asked about, not only an object
	rewritten   []Note
	notEnforced []Note
}

// Compile compiles the schema of a tool's arguments. Text that is empty, null
// or {} admits any object. It never panics and loads nothing.
//
// In Strict mode the error names what is wrong. In Lenient mode there is an
// error only for text that is not JSON.
func Compile(raw json.RawMessage, mode Mode) (*Schema, error) { return compile(raw, mode, false) }

// CompileValue compiles the schema of values that may be of any kind; ask
// [Schema.Holds] about them.
func CompileValue(raw json.RawMessage, mode Mode) (*Schema, error) { return compile(raw, mode, true) }

func compile(raw json.RawMessage, mode Mode, anyKind bool) (s *Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("schema: panic while compiling: %v", r)
		}
	}()
	tree, err := decode(raw)
	if err != nil {
		return nil, err
	}
	s = &Schema{tree: tree, flat: hasMembersAtTop(tree), anyKind: anyKind}
	if s.absent = len(bytes.TrimSpace(raw)) == 0; !s.absent {
		s.raw = bytes.Clone(raw)
	}
	if mode == Lenient {
		s.lenient()
	} else if err := s.strict(); err != nil {
		return nil, err
	}
	s.complete()
	return s, nil
}

// strict refuses what the compiler would misread, then what it cannot compile.
func (s *Schema) strict() error {
	if !isSchema(s.tree) {
		return fmt.Errorf("schema is neither an object nor a boolean: %s", excerpt(text(s.tree)))
	}
	if err := checkBounds(s.raw, s.tree); err != nil {
		return err
	}
	if n, hostile := hostileNumber(s.tree); hostile {
		return fmt.Errorf("schema has the number %s, beyond %d digits or an exponent of %d", excerpt(string(n)), maxDigits, maxExponent)
	}
	if !s.anyKind && !admitsObjects(s.tree) {
		return errors.New("schema does not admit an object at the top, and arguments are always one")
	}
	if at, ok := emptyEnum(s.tree); ok {
		return fmt.Errorf("schema has an empty enum at %s, which would not be enforced", orRoot(at))
	}
	prepare(s.tree)
	return s.build()
}

// emptyEnum finds an enum the compiler would pass over.
func emptyEnum(tree any) (at string, found bool) {
	walkAll(tree, func(path string, s map[string]any) {
		if values, ok := s["enum"].([]any); ok && len(values) == 0 {
			at, found = path, true
		}
	})
	return at, found
}

// lenient goes from the gentlest repair to the roughest until it compiles.
func (s *Schema) lenient() {
	if !isSchema(s.tree) {
		s.notEnforced = []Note{{Reason: ReasonMalformed}}
		s.tree = map[string]any{}
	}
	if checkBounds(s.raw, s.tree) != nil {
		s.reduce()
		return
	}
	s.repair()
	if s.build() == nil {
		return
	}
	s.notEnforced = append(s.notEnforced, dropReferences(s.tree)...)
	if s.build() != nil {
		s.reduce()
	}
}

// repair rewrites what has one reading and takes out what has none.
func (s *Schema) repair() {
	draft := draftOfTree(s.tree)
	s.rewritten = append(s.rewritten, rewriteAll(s.tree, draft)...)
	s.notEnforced = append(s.notEnforced, sanitize(s.tree)...)
	s.notEnforced = append(s.notEnforced, dropBadRefs(s.tree, draft)...)
	if m, ok := s.tree.(map[string]any); ok && !s.anyKind && !admitsObjects(s.tree) {
		delete(m, "type")
		s.notEnforced = append(s.notEnforced, Note{Keyword: "type", Reason: ReasonNotAnObject})
	}
	prepare(s.tree)
}

// reduce keeps the top of the schema. What is left always compiles; should it
// not, any object is admitted and the note says so all the same.
func (s *Schema) reduce() {
	s.rewritten = nil
	s.notEnforced = []Note{{Reason: ReasonBeyondCompile}}
	s.tree = skeleton(s.tree)
	s.repair()
	if s.build() != nil {
		s.tree = map[string]any{}
		s.engine, _ = newEngine(s.tree)
	}
}

// build compiles the tree as it stands.
func (s *Schema) build() (err error) {
	s.engine, err = newEngine(s.tree)
	return err
}

// complete derives what is asked of every call.
func (s *Schema) complete() {
	s.draft = draftOfTree(s.tree)
	sum := sha256.Sum256([]byte(text(s.tree)))
	s.digest = hex.EncodeToString(sum[:])
	s.places = newPlaces(s.tree, s.draft)
	s.branched = namesInBranches(s.tree) || len(s.places.spelled) > 0
	s.fast = accept.Compile(s.tree, accept.Options{Formats: formats, FoldCheck: true})
	s.requires = s.engine.validate(context.Background(), map[string]any{}, 1) != nil
	s.flat = s.flat && s.idle()
	sortNotes(s.rewritten)
	sortNotes(s.notEnforced)
}

// sortNotes makes the notes of equal schemas equal.
func sortNotes(notes []Note) {
	slices.SortFunc(notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Reason, b.Reason))
	})
}

// admitsObjects reports whether the top-level type leaves room for an object.
func admitsObjects(tree any) bool {
	m, _ := tree.(map[string]any)
	switch t := m["type"].(type) {
	case string:
		return t == "object" || !jsonTypes[t]
	case []any:
		return slices.Contains(t, any("object")) || !isType(t)
	}
	return true
}

// hasMembersAtTop recognises a map of members that was meant to stand under
// properties: unknown keywords that look like schemas themselves.
func hasMembersAtTop(tree any) bool {
	m, _ := tree.(map[string]any)
	for keyword, v := range m {
		sub, ok := v.(map[string]any)
		if !ok || positions[keyword] != 0 || keyword == "const" || keyword == "default" {
			continue
		}
		for _, sign := range []string{"type", "description", "anyOf", "$ref"} {
			if _, ok := sub[sign]; ok {
				return true
			}
		}
	}
	return false
}

// idle reports that no keyword at the top constrains an object.
func (s *Schema) idle() bool {
	m, _ := s.tree.(map[string]any)
	for keyword := range maps.Keys(m) {
		switch keyword {
		case "type", "$defs", "definitions":
		default:
			if keyword == "const" || wellFormed[keyword] != nil && keyword != "format" {
				return false
			}
		}
	}
	return true
}

// Raw returns the schema as it was given, nil if there was none.
// It must not be changed.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Tree returns the schema that is enforced, decoded with numbers as
// [json.Number]. It must not be changed.
func (s *Schema) Tree() any { return s.tree }

// Draft returns the draft the schema is read in: 4, 6, 7, 2019 or 2020.
func (s *Schema) Draft() int { return s.draft }

// Digest returns the SHA-256 of the schema that is enforced, in hexadecimal.
// Spacing and the order of members do not change it.
func (s *Schema) Digest() string { return s.digest }

// Rewrites lists the repairs made, sorted by path. It must not be changed.
func (s *Schema) Rewrites() []Note { return s.rewritten }

// NotEnforced lists what was left out, sorted by path. It must not be changed.
func (s *Schema) NotEnforced() []Note { return s.notEnforced }

// ConstrainsNothing reports a schema that describes members and checks none of
// them: a map of members at the top, without properties around it. What was
// meant is not guessed. A schema that openly admits anything is not reported.
func (s *Schema) ConstrainsNothing() bool { return s.flat }

// Required reports whether something has to be given: whether {} is refused.
func (s *Schema) Required() bool { return s.requires }
