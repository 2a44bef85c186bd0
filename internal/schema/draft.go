package schema

import "strings"

// latestDraft is what a schema without $schema is written in.
const latestDraft = 2020

// draftURIs are the metaschemas known without loading anything, as written
// with https and without a fragment.
var draftURIs = map[string]int{
	"https://json-schema.org/schema":               latestDraft,
	"https://json-schema.org/draft/2020-12/schema": 2020,
	"https://json-schema.org/draft/2019-09/schema": 2019,
	"https://json-schema.org/draft-07/schema":      7,
	"https://json-schema.org/draft-06/schema":      6,
	"https://json-schema.org/draft-04/schema":      4,
}

// draftNames are what a $schema with a slip in it still names.
var draftNames = []struct{ name, uri string }{
	{"2020-12", "https://json-schema.org/draft/2020-12/schema"},
	{"2019-09", "https://json-schema.org/draft/2019-09/schema"},
	{"draft-07", "http://json-schema.org/draft-07/schema#"},
	{"draft-7", "http://json-schema.org/draft-07/schema#"},
	{"draft7", "http://json-schema.org/draft-07/schema#"},
	{"draft-06", "http://json-schema.org/draft-06/schema#"},
	{"draft-6", "http://json-schema.org/draft-06/schema#"},
	{"draft-04", "http://json-schema.org/draft-04/schema#"},
	{"draft-4", "http://json-schema.org/draft-04/schema#"},
}

// draftOf returns the draft a URI stands for, 0 if none.
func draftOf(uri string) int {
	if rest, ok := strings.CutPrefix(uri, "http://"); ok {
		uri = "https://" + rest
	}
	uri = strings.TrimSuffix(strings.TrimSuffix(uri, "#/"), "#")
	return draftURIs[uri]
}

// draftOfTree returns the draft a decoded schema is written in.
func draftOfTree(tree any) int {
	m, _ := tree.(map[string]any)
	uri, ok := m["$schema"].(string)
	if !ok {
		return latestDraft
	}
	if d := draftOf(uri); d != 0 {
		return d
	}
	if d := draftOf(nearestDraft(uri)); d != 0 {
		return d
	}
	return latestDraft
}

// nearestDraft returns the right URI for a misspelt one, "" if none is meant.
func nearestDraft(uri string) string {
	for _, d := range draftNames {
		if strings.Contains(strings.ToLower(uri), d.name) {
			return d.uri
		}
	}
	return ""
}
