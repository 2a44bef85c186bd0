package toolguard

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/toolguard-go/toolguard/internal/near"
)

// directory finds the tool that a name leads to. It is immutable.
type directory struct {
	exact map[string]*boxed   // by their own names, and by what providers make of those
	loose map[string][]*boxed // by their own names without what is easily misspelt
}

// newDirectory refuses tools that a model could not tell apart.
func newDirectory(tools []*boxed) (directory, error) {
	d := directory{exact: make(map[string]*boxed), loose: make(map[string][]*boxed)}
	var errs []error
	for _, t := range tools {
		name := t.guard.info.Name
		if d.exact[name] != nil {
			errs = append(errs, fmt.Errorf("toolguard: NewToolbox: two tools are named %q", name))
		}
		d.exact[name] = t
		d.loose[near.Squash(name)] = append(d.loose[near.Squash(name)], t)
	}
	for p := range Provider(len(providerNames)) {
		errs = append(errs, d.enterNames(p, tools))
	}
	return d, errors.Join(errs...)
}

// enterNames adds the names a provider knows the tools by.
func (d *directory) enterNames(p Provider, tools []*boxed) error {
	var errs []error
	taken := make(map[string]string)
	for _, t := range tools {
		own := t.guard.info.Name
		name := p.toolName(own)
		if other, ok := taken[name]; ok && other != own {
			errs = append(errs, fmt.Errorf("toolguard: NewToolbox: tools %q and %q are both %q by the rules of %v", other, own, name, p))
		}
		taken[name], d.exact[name] = own, t
	}
	return errors.Join(errs...)
}

// find returns the tool that a name leads to, or nil. A tool found by an alias
// is the only one the name can mean.
func (d *directory) find(name string, aliases bool) (t *boxed, alias bool) {
	if t, ok := d.exact[name]; ok || !aliases {
		return t, false
	}
	stripped := bareName(name)
	if t, ok := d.exact[stripped]; ok {
		return t, true
	}
	if found := d.loose[near.Squash(stripped)]; len(found) == 1 {
		return found[0], true
	}
	return nil, false
}

// What chat templates and models put around a name.
var (
	templateToken = regexp.MustCompile(`<\|[^|<>]*\|>|</?[a-z_]+>`)
	namespace     = regexp.MustCompile(`^(?:functions?|tools?|default_api)[.:/]`)
	callIndex     = regexp.MustCompile(`:\d+$`)
)

// maxWritten bounds the part of a name that is looked at, in bytes.
const maxWritten = 1024

// bareName takes the debris off a name: what stands before and after template
// tokens, a namespace, an index, quotes, parentheses.
func bareName(written string) string {
	if len(written) > maxWritten {
		return written
	}
	name := ""
	for _, piece := range templateToken.Split(written, -1) {
		if name = strings.TrimSpace(piece); name != "" {
			break
		}
	}
	name = strings.Trim(name, " \t\r\n\"'`")
	name = strings.TrimSuffix(name, "()")
	name = callIndex.ReplaceAllString(name, "")
	return namespace.ReplaceAllString(name, "")
}

// maxShownName bounds a name that no tool has, in bytes.
const maxShownName = 64

// introduce says what the answer calls the tool: what the model does, if that
// leads to one for sure; else no more of it than can do no harm.
func (c *call) introduce() {
	v := c.via
	switch {
	case v.tool != nil && !v.alias:
		v.shown = v.written
	default:
		written := v.written[:min(len(v.written), maxWritten)]
		v.shown = c.cutRedacted(strings.ToValidUTF8(written, "\uFFFD"), maxShownName)
	}
}

// toolName is the tool's name as the model knows it.
func (c *call) toolName() string {
	if c.via != nil {
		return c.via.shown
	}
	return c.guard.info.Name
}

// nobodys says that the call leads to no tool.
func (c *call) nobodys() bool { return c.via != nil && c.via.tool == nil }

// otherTools are what a model may call in place of a tool that there is not:
// those that were probably meant or, if there are none, those that it may see.
type otherTools struct {
	near, visible []string
}

// maxListed bounds the names of visible tools in an answer, in bytes.
const maxListed = 480

func newOtherTools(written string, visible []*boxed) *otherTools {
	names := make([]string, len(visible))
	for i, t := range visible {
		names[i] = t.guard.info.Name
	}
	if found := near.Names(bareName(written), names); len(found) > 0 {
		return &otherTools{near: found}
	}
	size := 0
	for i, name := range names {
		if size += len(name) + 2; size > maxListed {
			return &otherTools{visible: names[:i]}
		}
	}
	return &otherTools{visible: names}
}
