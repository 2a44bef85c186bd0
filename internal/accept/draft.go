package accept

import "strings"

// draftOf returns the draft that jsonschema/v5 reads the schema under, 0 if it
// is one with a meta-schema of its own.
func (c *compiler) draftOf(tree any) int {
	m, _ := tree.(map[string]any)
	declared, ok := m["$schema"]
	if !ok {
		return defaultDraft(c.opts.Draft)
	}
	url, _ := declared.(string)
	return draftByURL(url)
}

// defaultDraft refuses numbers that are no draft, rather than guess.
func defaultDraft(draft int) int {
	switch draft {
	case 0:
		return 2020
	case 4, 6, 7, 2019, 2020:
		return draft
	}
	return 0
}

// draftByURL knows the URLs with http and https, with and without a trailing
// "#". Any other meta-schema may give keywords another meaning.
func draftByURL(url string) int {
	url = strings.TrimPrefix(strings.TrimPrefix(url, "https:"), "http:")
	switch strings.TrimSuffix(url, "#") {
	case "//json-schema.org/schema", "//json-schema.org/draft/2020-12/schema":
		return 2020
	case "//json-schema.org/draft/2019-09/schema":
		return 2019
	case "//json-schema.org/draft-07/schema":
		return 7
	case "//json-schema.org/draft-06/schema":
		return 6
	case "//json-schema.org/draft-04/schema":
		return 4
	}
	return 0
}

// needsMore reports keywords whose meaning is left to the general validator.
// They make the whole program undecided rather than one branch: some of them
// can fail a document outside the branch they stand in (a loop of dynamic
// references ends the general validation as a whole).
func (s schema) needsMore() bool {
	for _, k := range [...]struct {
		from, to int
		keyword  string
	}{
		{4, 2020, "regexProperties"},
		{7, 7, "contentEncoding"}, // later drafts only annotate
		{7, 7, "contentMediaType"},
		{2019, 2020, "$recursiveRef"},
		{2019, 2020, "$vocabulary"},
		{2019, 2020, "unevaluatedItems"},
		{2019, 2020, "unevaluatedProperties"},
		{2020, 2020, "$dynamicRef"},
	} {
		if s.has(k.keyword) && k.from <= s.draft && s.draft <= k.to {
			return true
		}
	}
	return false
}
