package eventstore_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/observe/eventstore"
)

// The paper has every field of a record, and no others.
func TestDocumentationHasEveryField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/observability.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "| field | what it says | log | span | store |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented, kept []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[5], -1) {
			documented = append(documented, m[1])
		}
	}
	record := reflect.TypeFor[eventstore.Record]()
	for i := range record.NumField() {
		name, _, _ := strings.Cut(record.Field(i).Tag.Get("json"), ",")
		kept = append(kept, name)
	}
	assert.ElementsMatch(t, kept, documented)
}
