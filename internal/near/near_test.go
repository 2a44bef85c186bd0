package near

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		candidates []string
		want       []string
	}{
		{"web_serch", []string{"web_fetch", "web_search", "browse"}, []string{"web_search", "web_fetch"}},
		{"Web-Search", []string{"web_search"}, []string{"web_search"}},
		{"raed", []string{"read", "road"}, []string{"read"}},
		{"get_a", []string{"get_d", "get_c", "get_b", "get_ab"}, []string{"get_ab", "get_b", "get_c"}},
		{"search_files", []string{"list_dir", "read_file"}, nil},
		{"x", []string{"y", "X"}, []string{"X"}},
		{"same", []string{"same"}, nil},
		{"", []string{"a"}, nil},
		{strings.Repeat("n", 64), []string{strings.Repeat("n", 63)}, []string{strings.Repeat("n", 63)}},
		{strings.Repeat("n", 65), []string{strings.Repeat("n", 64)}, nil},
	} {
		assert.Equal(t, c.want, Names(c.name, c.candidates), c.name)
	}
}
