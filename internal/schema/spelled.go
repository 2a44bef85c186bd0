package schema

import (
	"regexp/syntax"
	"slices"
)

// maxSpelled bounds the names one pattern spells out.
const maxSpelled = 64

// spelledOut returns the names that a pattern of patternProperties admits, if it
// is anchored at both ends and they are few: ^amount$ or ^(from|to)$. It is nil
// for any other.
func spelledOut(source string) []string {
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || len(re.Sub) < 2 {
		return nil
	}
	first, last := re.Sub[0].Op, re.Sub[len(re.Sub)-1].Op
	begins := first == syntax.OpBeginText || first == syntax.OpBeginLine
	if !begins || last != syntax.OpEndText && last != syntax.OpEndLine {
		return nil
	}
	return sequence(re.Sub[1 : len(re.Sub)-1])
}

// sequence returns the texts that expressions one after another match.
func sequence(parts []*syntax.Regexp) []string {
	texts := []string{""}
	for _, part := range parts {
		ends := textsOf(part)
		if len(ends) == 0 || len(ends)*len(texts) > maxSpelled {
			return nil
		}
		var longer []string
		for _, begin := range texts {
			for _, end := range ends {
				longer = append(longer, begin+end)
			}
		}
		texts = longer
	}
	return texts
}

// textsOf returns the texts that one expression matches, nil if they are many.
func textsOf(re *syntax.Regexp) (texts []string) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCharClass:
		return characters(re.Rune)
	case syntax.OpCapture, syntax.OpConcat:
		return sequence(re.Sub)
	case syntax.OpQuest:
		if texts = sequence(re.Sub); texts != nil {
			return append(texts, "")
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			some := textsOf(sub)
			if some == nil {
				return nil
			}
			texts = append(texts, some...)
		}
	}
	return texts
}

// characters lists a class given as pairs of bounds.
func characters(bounds []rune) (texts []string) {
	for i := 0; i+1 < len(bounds); i += 2 {
		for r := bounds[i]; r <= bounds[i+1]; r++ {
			if texts = append(texts, string(r)); len(texts) > maxSpelled {
				return nil
			}
		}
	}
	return texts
}

// spells reports whether a pattern of the set spells name out.
func (p *places) spells(set []map[string]any, name string) bool {
	return p.eachSpelled(set, func(names []string) bool { return slices.Contains(names, name) })
}

// named returns the names that the set declares or spells out.
func (p *places) named(set []map[string]any) map[string]bool {
	names := declared(set, p.draft)
	p.eachSpelled(set, func(spelled []string) bool {
		for _, name := range spelled {
			names[name] = true
		}
		return false
	})
	return names
}

// eachSpelled goes through the patterns of the set until stop is satisfied.
func (p *places) eachSpelled(set []map[string]any, stop func(names []string) bool) bool {
	if len(p.spelled) == 0 {
		return false
	}
	for _, s := range set {
		patterns, _ := s["patternProperties"].(map[string]any)
		for source := range patterns {
			if names := p.spelled[source]; names != nil && stop(names) {
				return true
			}
		}
	}
	return false
}
