package postgres_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

func TestSpell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a\\b ä 🔒": "a\\b ä 🔒", "a\x00b": "a␛00b", "\xff": "␛ff", "\xf0\x9f": "␛f0␛9f", "␛": "␛e2␛90␛9b", "␛00": "␛e2␛90␛9b00", "\uFFFD": "\uFFFD",
	} {
		assert.Equal(t, want, postgres.Spell(text))
		assert.Equal(t, text, postgres.Unspell(want))
	}
	assert.NotPanics(t, func() { postgres.Unspell("␛␛0␛zz␛") }, "of another's making")
}

func FuzzSpell(f *testing.F) {
	for _, s := range storetest.StrangeTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		kept := postgres.Spell(s)
		assert.True(t, utf8.ValidString(kept) && !strings.Contains(kept, "\x00"), "PostgreSQL can hold %q", kept)
		assert.Equal(t, s, postgres.Unspell(kept))
	})
}
