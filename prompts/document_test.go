package prompts

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func quoteJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestParseComplete(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	require.NoError(t, json.Unmarshal(chineseData, &doc))
	_, err := Parse(chineseData)
	require.ErrorContains(t, err, `"system" is missing`)
	doc["system"] = strings.Split(Chinese().SystemPrompt(), "\n")
	data, err := json.Marshal(doc)
	require.NoError(t, err)
	c, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, maps.Collect(Chinese().Phrases()), maps.Collect(c.Phrases()))
	assert.Equal(t, Chinese().SystemPrompt(), c.SystemPrompt())
}

func TestWithReplacesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	before := maps.Collect(English().Phrases())
	c, err := English().With([]byte(`{"locale":"en-x","system":["Be kind."],"steps":{"canceled":"Leave {tool} alone."},"absent":{"tool":"it"},"marks":{"gap":" - "}}`))
	require.NoError(t, err)
	assert.Equal(t, "Leave it alone.", string(c.AppendStep(nil, StepCanceled, nil)))
	assert.Equal(t, " - ", string(c.AppendGap(nil)))
	assert.Equal(t, "Be kind.", c.SystemPrompt())
	assert.Equal(t, "en-x", c.Locale())
	assert.Equal(t, before, maps.Collect(English().Phrases()), "the base stays as it is")

	after := maps.Collect(c.Phrases())
	maps.DeleteFunc(after, func(id, template string) bool { return before[id] == template })
	assert.Len(t, after, 3)

	again, err := c.With([]byte(`{"steps":{"not_found":"x"}}`))
	require.NoError(t, err)
	assert.Equal(t, "Leave it alone.", string(again.AppendStep(nil, StepCanceled, nil)), "replacements add up")
}

func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ data, want string }{
		"not JSON":          {`{`, "EOF"},
		"not an object":     {`[]`, "found ["},
		"section unknown":   {`{"step":{}}`, `unknown section "step"`},
		"section no object": {`{"steps":["a"]}`, `"steps" is not an object`},
		"id unknown":        {`{"steps":{"cancelled":"x"}}`, `unknown id "steps.cancelled"`},
		"id twice":          {`{"steps":{"canceled":"x","canceled":"y"}}`, `"canceled" occurs twice in "steps"`},
		"section twice":     {`{"steps":{},"steps":{}}`, `"steps" occurs twice in "document"`},
		"phrase no text":    {`{"steps":{"canceled":1}}`, "steps.canceled"},
		"phrase null":       {`{"steps":{"canceled":null}}`, "steps.canceled: null"},
		"empty phrase":      {`{"notes":{"cut":""}}`, "notes.cut: is empty"},
		"word with a tag":   {`{"absent":{"tool":"{tool}"}}`, "absent.tool: placeholder {tool}"},
		"label with a tag":  {`{"labels":{"success":"[{tool}]"}}`, "labels.success: placeholder {tool}"},
		"empty system":      {`{"system":[]}`, "system: 0 lines"},
		"system line":       {`{"system":["a\nb"]}`, "system[0]"},
		"trailing text":     {`{} {}`, "after the end"},
		"invalid UTF-8":     {"{\"locale\":\"\xff\"}", "UTF-8"},
		"too large":         {string(make([]byte, maxDocument+1)), "larger than"},
	} {
		_, err := English().With([]byte(tc.data))
		if assert.Error(t, err, name) {
			assert.Contains(t, err.Error(), tc.want, name)
			assert.Contains(t, err.Error(), "prompts: ", name)
		}
	}
}

func TestParseNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`{"messages":{"panic":"{tool} x"}}`))
	require.Error(t, err)
	for _, want := range []string{
		"locale", "system", "messages.truncated is missing", "steps.canceled is missing", "marks.gap is missing", "absent.tool is missing",
		"messages.panic: {tool} may have no value",
	} {
		assert.ErrorContains(t, err, want)
	}
}

// Whatever is accepted can be rendered, with values and without.
func FuzzWith(f *testing.F) {
	f.Add([]byte(`{"steps":{"canceled":"{?tool}a{tool}{/tool}{!wait}b{/wait}{{}}"}}`))
	f.Add([]byte(`{"absent":{"tool":"x"},"marks":{"gap":"\n"},"units":{"second":"s"}}`))
	f.Add([]byte(`{"frames":{"more":"{count}","quote":"{text}"},"labels":{"success":"["}}`))
	f.Add([]byte(`{"messages":{"panic":"{?near}{?name}{/near}{/name}"}}`))
	f.Add(englishData)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := English().With(data)
		if err != nil {
			return
		}
		all(c, func(id, full, bare string) {
			require.Less(t, len(full)+len(bare), 1<<20, id)
		})
		c.HasLabel(string(data))
	})
}
