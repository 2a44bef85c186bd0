package toolguard_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/internal/schema/schematest"
)

// TestRealSchemas makes a guard of every published tool schema it finds in a
// folder beside the repository, and lets the guard's own example pass. Without
// the folder there is nothing to do.
func TestRealSchemas(t *testing.T) {
	t.Parallel()
	var n schemaCounts
	for _, tool := range schematest.Published(t) {
		n.try(t, tool)
	}
	t.Logf("%d schemas: %d refused strictly, leniently %d rewritten, %d partly not enforced, %d constrain nothing; %d examples, %d without",
		n.all, n.strict, n.rewritten, n.notEnforced, n.nothing, n.examples, n.noExample)
	assert.LessOrEqual(t, n.noExample, n.examples/100, "examples are the rule")
}

type schemaCounts struct{ all, rewritten, notEnforced, nothing, examples, noExample, strict int }

func (n *schemaCounts) try(t *testing.T, tool schematest.Tool) {
	n.all++
	name := tool.Name()
	info := toolguard.Info{Name: "real", Schema: tool.InputSchema}
	opts := &toolguard.Options{Arguments: toolguard.ArgumentPolicy{Schema: toolguard.SchemaLenient}}
	g, err := toolguard.New(caseTool(info, answers("done")), opts)
	if !assert.NoError(t, err, name) {
		return
	}
	d := g.Describe()
	n.rewritten += min(len(d.SchemaRewrites), 1)
	n.notEnforced += min(len(d.NotEnforced), 1)
	if d.ConstrainsNothing {
		n.nothing++
	}
	said := d.ConstrainsNothing || len(d.SchemaRewrites)+len(d.NotEnforced) > 0
	if said || n.all%8 == 0 { // a sample of the rest: compiling takes most of the time
		n.strictly(t, info, name, said)
	}
	n.example(t, g, name)
}

// strictly: what is refused as it is has been said of the lenient guard.
func (n *schemaCounts) strictly(t *testing.T, info toolguard.Info, name string, said bool) {
	if _, err := toolguard.New(caseTool(info, answers("done")), nil); err != nil {
		n.strict++
		assert.True(t, said, "%s: it is not said what is not enforced", name)
	}
}

// example sends what is certainly wrong, where anything is, and then the example
// that came with the refusal.
func (n *schemaCounts) example(t *testing.T, g *toolguard.Guard, name string) {
	for _, wrong := range []string{`{}`, `{"\u0000":{}}`} {
		env := g.Do(t.Context(), toolguard.Call{Args: json.RawMessage(wrong)})
		if env.OK {
			continue
		}
		require.Equal(t, toolguard.CodeSchemaViolation, env.Error.Code, name)
		assertAnswer(t, &env, name)
		if env.Error.Example == nil {
			n.noExample++
			t.Logf("no example for %s", name)
			return
		}
		n.examples++
		again := g.Do(t.Context(), toolguard.Call{Args: env.Error.Example})
		assert.True(t, again.OK, "%s: the example %s is refused: %v", name, env.Error.Example, again.Err())
		assert.Empty(t, again.Notes, "%s: the example is repaired", name)
		return
	}
}
