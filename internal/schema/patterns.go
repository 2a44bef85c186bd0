package schema

import "regexp/syntax"

// maxPatternWork bounds the size of a pattern's program times the length of the
// document: about the steps its matching may take. RE2 is linear in both, which
// a large pattern on a long text turns into seconds that nothing can interrupt.
const maxPatternWork = 100_000_000

// patternSize returns the size of the largest program of the tree's patterns.
func patternSize(tree any) (size int) {
	walk(tree, "", func(_ string, s map[string]any) {
		if text, ok := s["pattern"].(string); ok {
			size = max(size, programSize(text))
		}
		if named, ok := s["patternProperties"].(map[string]any); ok {
			for text := range named {
				size = max(size, programSize(text))
			}
		}
	})
	return size
}

func programSize(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // not enforced
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0
	}
	return len(prog.Inst)
}

// tooMuchToMatch reports a text so long that the patterns would take too long.
func (s *Schema) tooMuchToMatch(text []byte) bool {
	return s.patterns > 0 && len(text) > maxPatternWork/s.patterns
}
