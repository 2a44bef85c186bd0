package accept

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard/internal/pattern"
	"github.com/toolguard-go/toolguard/internal/strictjson"
)

// fewProperties is the number up to which looking at each is faster than a map.
const fewProperties = 8

// objectRules are the keywords for objects.
type objectRules struct {
	min, max   int
	properties []property // declared or required, sorted by name
	byName     map[string]int
	required   int // how many properties are required
	patterns   []patternRule
	rest       *node // for members that are neither declared nor matched
	names      *node
	// dependencies are dependentRequired, dependentSchemas and the older
	// keyword that was both.
	dependencies []dependency
}

// A property is a name that the schema mentions in properties or required.
type property struct {
	name     string
	bytes    []byte
	required bool
	rule     *node // nil if required but not declared
}

// A patternRule is one entry of patternProperties.
type patternRule struct {
	pattern *pattern.Pattern
	rule    *node
}

// A dependency asks for more if the member name is present.
type dependency struct {
	name     string
	required []string
	schema   *node
}

// objectRules returns nil if no keyword constrains objects.
func (s schema) objectRules() *objectRules {
	r := objectRules{
		min:          s.count("minProperties", 0),
		max:          s.count("maxProperties", unbounded),
		properties:   s.properties(),
		patterns:     s.patternRules(),
		rest:         s.child("additionalProperties"),
		dependencies: s.dependencies(),
	}
	if s.draft >= 6 {
		r.names = s.child("propertyNames")
	}
	if r.min == 0 && r.max == unbounded && len(r.properties)+len(r.patterns)+len(r.dependencies) == 0 &&
		r.rest == nil && r.names == nil {
		return nil
	}
	r.index()
	return &r
}

// index prepares lookup and counts what is required.
func (r *objectRules) index() {
	for _, p := range r.properties {
		if p.required {
			r.required++
		}
	}
	if len(r.properties) <= fewProperties {
		return
	}
	r.byName = make(map[string]int, len(r.properties))
	for i, p := range r.properties {
		r.byName[p.name] = i
	}
}

// properties merges properties and required into one list, so that one lookup
// for each member of a document answers both.
func (s schema) properties() []property {
	byName := map[string]property{}
	for name, tree := range s.object("properties") {
		byName[name] = property{rule: s.named("properties", name, tree)}
	}
	if required, ok := s.m["required"]; ok {
		for _, name := range s.strings(required) {
			p := byName[name]
			p.required = true
			byName[name] = p
		}
	}
	list := make([]property, 0, len(byName))
	for name, p := range byName {
		p.name, p.bytes = name, []byte(name)
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b property) int { return strings.Compare(a.name, b.name) })
	return list
}

// patternRules reads patternProperties. A member may match several.
func (s schema) patternRules() []patternRule {
	var rules []patternRule
	for source, tree := range s.object("patternProperties") {
		rules = append(rules, patternRule{s.pattern(source), s.named("patternProperties", source, tree)})
	}
	return rules
}

// dependencies reads the old keyword in every draft, as jsonschema/v5 does,
// and the two that replaced it where they exist.
func (s schema) dependencies() []dependency {
	var list []dependency
	for _, keyword := range [...]string{"dependencies", "dependentRequired", "dependentSchemas"} {
		if keyword != "dependencies" && s.draft < 2019 {
			continue
		}
		for name, tree := range s.object(keyword) {
			d := dependency{name: name}
			if _, isList := tree.([]any); isList {
				d.required = s.strings(tree)
			} else {
				d.schema = s.named(keyword, name, tree)
			}
			list = append(list, d)
		}
	}
	return list
}

// object evaluates the object at i.
func (w *walk) object(r *objectRules, i int32) bool {
	v := &w.doc.Nodes[i]
	if int(v.Len) < r.min || int(v.Len) > r.max {
		return false
	}
	return w.members(r, i) &&
		(r.names == nil || w.names(r.names, i)) &&
		(r.dependencies == nil || w.dependent(r.dependencies, i))
}

// members evaluates each member. Names in a document are unique, so counting
// the required ones is enough.
func (w *walk) members(r *objectRules, i int32) bool {
	nodes, required := w.doc.Nodes, 0
	for c := i + 1; c < nodes[i].Next; c = nodes[c].Next {
		name := w.name(c)
		p := r.lookup(name)
		if p != nil && p.required {
			required++
		}
		if !w.member(r, p, name, c) {
			return false
		}
	}
	return required == r.required
}

// member evaluates the member at c. A member that only differs in case from a
// declared one gives up before anything else is looked at.
func (w *walk) member(r *objectRules, p *property, name []byte, c int32) bool {
	known := p != nil && p.rule != nil
	if !known && w.fold && w.folds(r, name) {
		return w.giveUp()
	}
	if known && !w.eval(p.rule, c) {
		return false
	}
	for _, x := range r.patterns {
		w.steps--
		if x.pattern.Match(name, &w.matches) {
			known = true
			if !w.eval(x.rule, c) {
				return false
			}
		}
	}
	return known || r.rest == nil || w.eval(r.rest, c)
}

// lookup returns the property called name, nil if the schema does not mention
// it. The pointer leads into r, so nothing is allocated.
func (r *objectRules) lookup(name []byte) *property {
	if r.byName != nil {
		if i, ok := r.byName[string(name)]; ok {
			return &r.properties[i]
		}
		return nil
	}
	for i := range r.properties {
		if p := &r.properties[i]; p.name == string(name) {
			return p
		}
	}
	return nil
}

// folds reports whether name, which is not declared, equals a declared name
// apart from case.
func (w *walk) folds(r *objectRules, name []byte) bool {
	w.charge(len(r.properties))
	for i := range r.properties {
		if p := &r.properties[i]; p.rule != nil && bytes.EqualFold(p.bytes, name) {
			return true
		}
	}
	return false
}

// dependent evaluates the dependencies of the members that are present.
func (w *walk) dependent(dependencies []dependency, i int32) bool {
	for _, d := range dependencies {
		if w.find(i, []byte(d.name)) < 0 {
			continue
		}
		for _, name := range d.required {
			if w.find(i, []byte(name)) < 0 {
				return false
			}
		}
		if d.schema != nil && !w.eval(d.schema, i) {
			return false
		}
	}
	return true
}

// names evaluates each member name as a string value, in a document of its own.
func (w *walk) names(rule *node, i int32) bool {
	if rule.acceptsAnyText() {
		return true
	}
	doc, nodes := w.doc, w.doc.Nodes
	defer func() { w.doc = doc }()
	for c := i + 1; c < nodes[i].Next; c = nodes[c].Next {
		key := strictjson.Node{
			Kind: strictjson.String, Escaped: nodes[c].KeyEscaped,
			Start: nodes[c].KeyStart, End: nodes[c].KeyEnd, Next: 1,
		}
		w.doc = &strictjson.Doc{Text: doc.Text, Nodes: []strictjson.Node{key}}
		if !w.eval(rule, 0) {
			return false
		}
	}
	return true
}

// acceptsAnyText recognises {"type":"string"}, which generators of schemas put
// under propertyNames.
func (n *node) acceptsAnyText() bool {
	text := n.types == 0 || n.types&kindBit(strictjson.String) != 0
	return text && !n.never && n.values == nil && n.text == nil && n.inPlace == nil
}
