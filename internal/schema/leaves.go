package schema

import (
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// A leaf is one failed keyword, taken from the validator's tree of errors.
// Messages are never read for content: what a keyword wanted comes from the
// schema, what was given from the document.
type leaf struct {
	path    string // JSON pointer of the value
	at      string // JSON pointer of the keyword in the schema
	rule    Rule
	keyword string
	owner   map[string]any // the subschema with the keyword, nil for a metaschema's
	trigger string         // of dependentRequired: the member that asks for another
	name    string         // of dependentRequired: the member asked for
	wanted  []any          // merged from several branches, instead of the keyword's value
	none    bool           // of oneOf: no branch matched, rather than several
}

// Messages that tell apart what the locations of errors do not. A property may
// well be called "anyOf". Tests pin them.
const (
	messageAnyOf = "anyOf failed"
	messageOneOf = "oneOf failed"
	messageFalse = "not allowed"
)

// rules maps keywords to the rules they break.
var rules = map[string]Rule{
	"additionalItems":      RuleMaxItems,
	"additionalProperties": RuleUnknownProperty,
	"anyOf":                RuleAnyOf,
	"const":                RuleConst,
	"dependencies":         RuleDependentRequired,
	"dependentRequired":    RuleDependentRequired,
	"enum":                 RuleEnum,
	"exclusiveMaximum":     RuleExclusiveMaximum,
	"exclusiveMinimum":     RuleExclusiveMinimum,
	"format":               RuleFormat,
	"maxContains":          RuleMaxContains,
	"maxItems":             RuleMaxItems,
	"maxLength":            RuleMaxLength,
	"maxProperties":        RuleMaxProperties,
	"maximum":              RuleMaximum,
	"minContains":          RuleContains,
	"minItems":             RuleMinItems,
	"minLength":            RuleMinLength,
	"minProperties":        RuleMinProperties,
	"minimum":              RuleMinimum,
	"multipleOf":           RuleMultipleOf,
	"not":                  RuleNot,
	"oneOf":                RuleOneOf,
	"pattern":              RulePattern,
	"required":             RuleRequired,
	"type":                 RuleType,
	"uniqueItems":          RuleUniqueItems,
}

// leaves flattens a tree of errors into the failed keywords worth telling.
func (s *Schema) leaves(e *jsonschema.ValidationError) []leaf {
	switch {
	case len(e.Causes) == 0:
		return []leaf{s.leaf(e)}
	case e.Message == messageAnyOf, e.Message == messageOneOf:
		return s.pick(e)
	case strings.HasSuffix(e.AbsoluteKeywordLocation, "/minContains") && e.Message != "":
		return []leaf{s.leaf(e)}
	}
	var out []leaf
	for _, cause := range e.Causes {
		if len(out) >= maxLeaves {
			break
		}
		out = append(out, s.leaves(cause)...)
	}
	return out
}

// maxLeaves bounds the failed keywords that are told apart. A document with more
// has more violations than anybody counts.
const maxLeaves = 10_000

// leaf locates one failed keyword. What failed inside a metaschema has no owner
// in the tree and is told by the keyword's name alone.
func (s *Schema) leaf(e *jsonschema.ValidationError) leaf {
	l := leaf{path: instancePath(e.InstanceLocation)}
	base, fragment, _ := strings.Cut(e.AbsoluteKeywordLocation, "#")
	l.at = instancePath(fragment)
	path := jsonpointer.Tokens(l.at)
	switch {
	case base != s.engine.root:
		path = path[max(0, len(path)-1):]
		l.rule, l.keyword = RuleOther, strings.Join(path, "")
	case e.Message == messageFalse:
		l.forbidden(path)
	default:
		l.keywordAt(s.tree, path)
	}
	if namesAProperty(e.KeywordLocation) {
		l.rule = RulePropertyName
	}
	return l
}

// forbidden is the schema false standing at path.
func (l *leaf) forbidden(path []string) {
	l.rule = RuleFalseSchema
	if len(path) > 0 {
		l.keyword = path[len(path)-1]
	}
	if l.keyword == "unevaluatedProperties" {
		l.rule = RuleUnknownProperty
	}
}

// keywordAt finds the subschema with the failed keyword. The list of names in
// dependentRequired is the only keyword that is located by its elements.
func (l *leaf) keywordAt(tree any, path []string) {
	depth := 1
	if n := len(path); n >= 3 && (path[n-3] == "dependentRequired" || path[n-3] == "dependencies") && rules[path[n-1]] == "" {
		depth = 3
		l.trigger = path[n-2]
		v, _ := jsonpointer.Lookup(tree, path)
		l.name, _ = v.(string)
	}
	if len(path) < depth {
		l.rule = RuleOther
		return
	}
	owner, _ := jsonpointer.Lookup(tree, path[:len(path)-depth])
	l.owner, _ = owner.(map[string]any)
	l.keyword = path[len(path)-depth]
	l.rule = rules[l.keyword]
	if l.owner == nil || l.rule == "" {
		l.rule = RuleOther
	}
}

// instancePath turns a location of the validator, whose tokens are escaped for
// URLs on top, into a JSON pointer.
func instancePath(location string) string {
	parts := strings.Split(location, "/")
	for i, p := range parts {
		if plain, err := url.PathUnescape(p); err == nil {
			parts[i] = plain
		}
	}
	return strings.Join(parts, "/")
}

// namesAProperty reports that the failed keyword was applied to a member's
// name: the path to it goes through propertyNames, the keyword.
func namesAProperty(keywordLocation string) bool {
	path := jsonpointer.Tokens(keywordLocation)
	for i := 0; i < len(path); i++ {
		if path[i] == "propertyNames" {
			return true
		}
		if p := positions[path[i]]; p == named || p == namedMixed {
			i++ // a name follows
		}
	}
	return false
}

// parent returns the pointer of the value that holds the one at path.
func parent(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '/'))]
}

// last returns the last reference token of a pointer, unescaped.
func last(path string) string {
	return jsonpointer.Unescape(path[strings.LastIndexByte(path, '/')+1:])
}

// all reports whether every leaf fits, and that there is one.
func all(leaves []leaf, fits func(leaf) bool) bool {
	return len(leaves) > 0 && !slices.ContainsFunc(leaves, func(l leaf) bool { return !fits(l) })
}
