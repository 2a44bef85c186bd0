package toolguard

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/toolguard-go/toolguard/internal/schema"
	"github.com/toolguard-go/toolguard/internal/strictjson"
	"github.com/toolguard-go/toolguard/prompts"
)

// maxViolationText bounds all violations of an envelope together, in bytes.
const maxViolationText = 1000

// maxPath bounds the path and the name in one of them: a model may make up names
// of any length.
const maxPath = 160

// What is shown of a refused value, and of a refused document, in bytes. Both are
// redacted first: a cut must not go through a secret.
const (
	maxGot     = 80
	maxPreview = 120
)

// violationsIn says in words what is wrong with the arguments, and counts what
// does not fit.
func (c *call) violationsIn(words *prompts.Catalogue) (out []Violation, more int) {
	f := c.failure.faults()
	if own := c.failure; own.field != "" && own.Message != "" {
		return []Violation{c.fieldViolation(words, own)}, 0
	}
	if f.syntax != nil || f.notObject != "" {
		return []Violation{c.syntaxIn(words)}, 0
	}
	size := 0
	for i := range f.violations {
		v := c.violationIn(words, &f.violations[i])
		if size += len(v.Message); size > maxViolationText && len(out) > 0 {
			return out, f.more + len(f.violations) - i
		}
		out = append(out, v)
	}
	return out, f.more
}

func (c *call) violationIn(words *prompts.Catalogue, v *schema.Violation) Violation {
	vars := &prompts.Vars{
		Path: bounded(v.Path, maxPath), Name: bounded(v.Name, maxPath), Want: cmp.Or(v.Limit, v.Want), Count: v.Count,
		Got: c.cutRedacted(v.Got, maxGot), Near: v.Near, Allowed: v.WantList, AllowedMore: v.WantMore,
	}
	switch v.Rule {
	case schema.RuleType:
		if vars.Got != v.Kind { // null is of type null
			vars.Got = v.Kind + " " + vars.Got
		}
	case schema.RuleMinLength, schema.RuleMaxLength, schema.RuleMinItems, schema.RuleMaxItems, schema.RuleMinProperties, schema.RuleMaxProperties:
		vars.Got = strconv.Itoa(v.Count)
	case schema.RuleRequired, schema.RuleUnknownProperty, schema.RuleCaseMismatch, schema.RuleDependentRequired, schema.RulePropertyName:
		vars.Got = "" // the name says it
	}
	return Violation{Path: v.Path, Rule: string(v.Rule), Message: string(words.AppendViolation(nil, prompts.Violation(v.Rule), vars))}
}

// fieldViolation names the argument an author refused, in the author's words.
func (c *call) fieldViolation(words *prompts.Catalogue, f *failure) Violation {
	path := "/" + strings.ReplaceAll(strings.TrimPrefix(f.field, "/"), ".", "/")
	return Violation{Path: path, Rule: string(f.Code), Message: string(words.AppendLine(nil, c.cutRedacted(path, maxPath))) + ": " + sentence(c.authored(f.Message))}
}

// syntaxIn says why the text is not one JSON object, with its beginning.
func (c *call) syntaxIn(words *prompts.Catalogue) Violation {
	f := c.failure.faults()
	vars := &prompts.Vars{Got: f.notObject}
	rule := prompts.ViolationNotObject
	if e := f.syntax; e != nil {
		rule = prompts.Violation(e.Reason.String())
		vars = &prompts.Vars{Path: bounded(e.Path, maxPath), Name: bounded(e.Name, maxPath), Offset: e.Offset, Limit: e.Limit, Size: e.Size}
	}
	b := words.AppendViolation(nil, rule, vars)
	if preview := c.cutRedacted(strictjson.Preview(c.written, maxForeign), maxPreview); preview != "" {
		frame := &prompts.Vars{Text: preview, Size: len(c.written)}
		b = words.AppendFrame(words.AppendGap(b), prompts.FramePreview, frame)
	}
	return Violation{Path: vars.Path, Rule: string(rule), Message: string(b)}
}
