package accept

import (
	"strconv"

	"github.com/toolguard-go/toolguard/internal/jsonpointer"
)

// Schemas above these sizes are left to the general validator.
const (
	maxNodes   = 50_000
	maxPointer = 4096
)

// A node is one compiled subschema. Its fields all have to hold; nil and zero
// ask for nothing.
type node struct {
	never   bool // the schema false
	types   typeSet
	values  []*valueSet // enum and const
	text    *textRules
	number  *numberRules
	array   *arrayRules
	object  *objectRules
	inPlace *inPlace
}

// compiler turns a schema tree into nodes, one per JSON pointer, so that
// references, recursive ones included, meet the same node.
type compiler struct {
	root   any
	opts   Options
	draft  int
	nodes  map[string]*node
	queue  []task
	beyond bool  // the schema needs more than this package knows
	id     *bool // whether the schema has an identifier; nil: not looked yet
}

// A task is a node that was handed out but not filled yet. A queue instead of
// recursion, because schemas may come from strangers and be nested deeply.
type task struct {
	node    *node
	pointer string
	tree    any
}

// program compiles the whole schema and returns the node of its root. The
// result counts only if beyond stays false.
func (c *compiler) program() *node {
	c.draft = c.draftOf(c.root)
	if c.draft == 0 {
		c.beyond = true
		return nil
	}
	root := c.at("", c.root)
	for len(c.queue) > 0 && !c.beyond {
		next := c.queue[len(c.queue)-1]
		c.queue = c.queue[:len(c.queue)-1]
		c.fill(next)
	}
	return root
}

// at returns the node for the subschema at pointer, to be filled later.
func (c *compiler) at(pointer string, tree any) *node {
	if n, ok := c.nodes[pointer]; ok {
		return n
	}
	n := &node{}
	c.nodes[pointer] = n
	c.queue = append(c.queue, task{n, pointer, tree})
	if len(c.nodes) > maxNodes || len(pointer) > maxPointer {
		c.beyond = true
	}
	return n
}

// fill reads one subschema: an object or, since draft 6, a boolean. Draft 4
// knows booleans under additionalProperties and additionalItems only, where
// they mean the same.
func (c *compiler) fill(t task) {
	switch tree := t.tree.(type) {
	case bool:
		t.node.never = !tree
	case map[string]any:
		c.fillObject(t.node, schema{c, t.pointer, tree})
	default:
		c.beyond = true
	}
}

// fillObject reads each group of keywords. Keywords nobody reads here are
// annotations, or unknown, which is the same.
func (c *compiler) fillObject(n *node, s schema) {
	if s.needsMore() {
		c.beyond = true
		return
	}
	n.inPlace = s.inPlace()
	if s.has("$ref") && c.draft < 2019 {
		return // up to draft 7, $ref hides its siblings
	}
	n.types = s.types()
	n.values = s.values()
	n.text = s.textRules()
	n.number = s.numberRules()
	n.array = s.arrayRules()
	n.object = s.objectRules()
}

// A schema is a schema object being read. Its methods set beyond for what they
// cannot read; the general validator has checked the schema against its
// meta-schema, so this is for safety, not for diagnosis.
type schema struct {
	*compiler
	pointer string
	m       map[string]any
}

func (s schema) has(keyword string) bool {
	_, ok := s.m[keyword]
	return ok
}

// from reads a keyword that exists since the given draft.
func (s schema) from(draft int, keyword string) (any, bool) {
	v, ok := s.m[keyword]
	return v, ok && s.draft >= draft
}

// child returns the subschema under keyword, nil if there is none.
func (s schema) child(keyword string) *node {
	v, ok := s.m[keyword]
	if !ok {
		return nil
	}
	return s.at(s.pointer+"/"+jsonpointer.Escape(keyword), v)
}

// children returns the subschemas in the array under keyword.
func (s schema) children(keyword string) []*node {
	list := s.list(keyword)
	nodes := make([]*node, len(list))
	for i, v := range list {
		nodes[i] = s.at(s.pointer+"/"+keyword+"/"+strconv.Itoa(i), v)
	}
	return nodes
}

// named returns the subschema under name in the map under keyword.
func (s schema) named(keyword, name string, tree any) *node {
	return s.at(s.pointer+"/"+keyword+"/"+jsonpointer.Escape(name), tree)
}

// list returns the array under keyword, nil if there is none.
func (s schema) list(keyword string) []any {
	v, ok := s.m[keyword]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		s.beyond = true
	}
	return list
}

// object returns the map under keyword, nil if there is none.
func (s schema) object(keyword string) map[string]any {
	v, ok := s.m[keyword]
	if !ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		s.beyond = true
	}
	return m
}

// strings reads a list of names.
func (s schema) strings(v any) []string {
	list, ok := v.([]any)
	if !ok {
		s.beyond = true
	}
	names := make([]string, 0, len(list))
	for _, item := range list {
		name, ok := item.(string)
		if !ok {
			s.beyond = true
		}
		names = append(names, name)
	}
	return names
}
