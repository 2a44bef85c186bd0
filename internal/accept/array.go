package accept

// maxUnique bounds the pairwise comparison for uniqueItems.
const maxUnique = 64

// arrayRules are the keywords for arrays.
type arrayRules struct {
	min, max int
	unique   bool
	prefix   []*node // one for each of the first items
	rest     *node   // for all later items
	contains *node
	// minContains and maxContains bound the number of items contains accepts.
	minContains, maxContains int
}

// arrayRules returns nil if no keyword constrains arrays. contains came with
// draft 6, its two bounds with draft 2019.
func (s schema) arrayRules() *arrayRules {
	r := arrayRules{
		min:         s.count("minItems", 0),
		max:         s.count("maxItems", unbounded),
		unique:      s.m["uniqueItems"] == true,
		minContains: 1,
		maxContains: unbounded,
	}
	s.items(&r)
	if s.draft >= 6 {
		r.contains = s.child("contains")
	}
	if s.draft >= 2019 {
		r.minContains = s.count("minContains", 1)
		r.maxContains = s.count("maxContains", unbounded)
	}
	if r.min == 0 && r.max == unbounded && !r.unique && r.prefix == nil && r.rest == nil && r.contains == nil {
		return nil
	}
	return &r
}

// items reads prefixItems and items of draft 2020, or items and
// additionalItems of the drafts before.
func (s schema) items(r *arrayRules) {
	_, isList := s.m["items"].([]any)
	switch {
	case s.draft >= 2020:
		if s.has("prefixItems") {
			r.prefix = s.children("prefixItems")
		}
		r.rest = s.child("items")
	case isList:
		r.prefix = s.children("items")
		r.rest = s.child("additionalItems")
	default:
		r.rest = s.child("items")
	}
}

// array evaluates the array at i, the cheap rules first.
func (w *walk) array(r *arrayRules, i int32) bool {
	v := &w.doc.Nodes[i]
	if int(v.Len) < r.min || int(v.Len) > r.max {
		return false
	}
	if !w.items(r, i) {
		return false
	}
	return (!r.unique || w.unique(i)) && (r.contains == nil || w.contains(r, i))
}

// items evaluates each item against the rule of its position.
func (w *walk) items(r *arrayRules, i int32) bool {
	if len(r.prefix) == 0 && r.rest == nil {
		return true
	}
	nodes, position := w.doc.Nodes, 0
	for c := i + 1; c < nodes[i].Next; c = nodes[c].Next {
		rule := r.rest
		if position < len(r.prefix) {
			rule = r.prefix[position]
		}
		if rule != nil && !w.eval(rule, c) {
			return false
		}
		position++
	}
	return true
}

// contains counts to the end, because of maxContains.
func (w *walk) contains(r *arrayRules, i int32) bool {
	nodes, count := w.doc.Nodes, 0
	for c := i + 1; c < nodes[i].Next; c = nodes[c].Next {
		if w.eval(r.contains, c) {
			count++
		}
	}
	return r.minContains <= count && count <= r.maxContains
}

// unique compares by value: 1 and 1.0 are equal, and so are two spellings of
// one string. A long array is left to the general validator, which hashes.
func (w *walk) unique(i int32) bool {
	nodes := w.doc.Nodes
	if nodes[i].Len > maxUnique {
		return w.giveUp()
	}
	for a := i + 1; a < nodes[i].Next; a = nodes[a].Next {
		for b := nodes[a].Next; b < nodes[i].Next; b = nodes[b].Next {
			if w.equal(a, b) {
				return false
			}
		}
	}
	return true
}
