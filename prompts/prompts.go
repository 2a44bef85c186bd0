// Package prompts holds every word that toolguard lets a model read, in English
// and Chinese, and lets a host replace them phrase by phrase.
//
// A [Catalogue] maps ids to phrases. An answer is put together from up to four
// of them, in this order, with [Catalogue.AppendGap] between sentences:
//
//	label      what kind of answer this is         [TOOL TIMEOUT]
//	message    what happened, by code              There was no answer from search within 60 s; …
//	outcome    what that means for the effect      Nothing was changed.
//	step       the one thing to do next            Send the same call once more. …
//
// Violations, notes and frames go with them where they apply. Which id fits is
// decided by the caller; this package only renders, and never fails at it.
//
// # Templates
//
// A phrase is text with placeholders, each naming a field of [Vars]:
//
//	{wait}                       the value, or the word the locale has for its absence
//	{?near}Did you mean {near}?{/near}   only if there is a value
//	{!near}…{/near}              only if there is none
//	{{ and }}                    a literal brace
//
// A number is absent if it is 0, a duration if it is not positive. Outside a
// clause of its own a number renders as 0; every other placeholder needs an
// entry in the section "absent", so that no phrase can have a hole. Between a
// Chinese character and a Latin letter, digit or sign that meet at a placeholder
// a space is put in; templates need none there.
//
// # Replacing words
//
// [Parse] reads a complete document, for a further language. [Catalogue.With]
// lays a partial one over a catalogue: {"steps": {"canceled": "…"}} is enough.
// Both refuse ids, placeholders and sections they do not know, and name them. In
// such a document "system" holds the lines of the system prompt; the built-in ones
// are files of their own, system.en.md and system.zh.md.
package prompts

import (
	_ "embed"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

var (
	//go:embed en.json
	englishData []byte
	//go:embed zh.json
	chineseData []byte
	//go:embed system.en.md
	englishSystem string
	//go:embed system.zh.md
	chineseSystem string
)

// Catalogue is the set of phrases of one locale. It is immutable and safe for
// concurrent use. Get one from [English], [Chinese], [For], [Parse] or
// [Catalogue.With]; the zero value is not usable.
//
// Its Append methods append one phrase to dst and return the extended slice.
// They accept nil Vars, keep no reference to anything, and allocate only if dst
// has no room.
type Catalogue struct {
	locale  string
	system  []string
	phrases [sectionCount]map[string]*phrase

	// The rest is derived from phrases, once, by derive.
	absent [varSlots]string
	units  [unitCount]string
	marks  marks
	more   phrase
	labels []string
	// looks are what is seen of the labels, opens whether one begins with an ASCII
	// character, openings the others that they begin with.
	looks    []string
	opens    [utf8.RuneSelf]bool
	openings string
}

// builtIn is a catalogue that is read when it is first asked for.
type builtIn struct {
	once      sync.Once
	catalogue *Catalogue
}

var english, chinese builtIn

// English returns the built-in English phrases, the set that defines all ids.
func English() *Catalogue {
	english.once.Do(func() { english.catalogue = mustLoad(englishData, englishSystem, nil) })
	return english.catalogue
}

// Chinese returns the built-in phrases in simplified Chinese.
func Chinese() *Catalogue {
	chinese.once.Do(func() { chinese.catalogue = mustLoad(chineseData, chineseSystem, English()) })
	return chinese.catalogue
}

// For returns the built-in catalogue for a locale such as "zh", "zh-CN",
// "zh_Hans.UTF-8" or "en-GB"; case is ignored. Only the language counts, so
// every Chinese locale gets [Chinese]. Any other, "" included, gets [English].
func For(locale string) *Catalogue {
	language := locale
	if end := strings.IndexAny(locale, "-_.@"); end >= 0 {
		language = locale[:end]
	}
	if strings.EqualFold(language, "zh") {
		return Chinese()
	}
	return English()
}

// mustLoad reads an embedded document and its system prompt; a test covers both
// locales, so that it cannot panic in a build that passed.
func mustLoad(data []byte, system string, known *Catalogue) *Catalogue {
	doc, err := readDocument(data)
	if err != nil {
		panic(err)
	}
	// A checkout may have turned the line breaks into those of its system.
	doc.system = strings.Split(strings.TrimSpace(strings.ReplaceAll(system, "\r\n", "\n")), "\n")
	c, err := build(doc, nil, known)
	if err != nil {
		panic(err)
	}
	return c
}

// Locale returns the name the document gives itself, such as "en".
func (c *Catalogue) Locale() string { return c.locale }

// SystemPrompt returns the rules a model needs to read toolguard's answers: a
// few lines for the host's own system prompt, without a final line break.
func (c *Catalogue) SystemPrompt() string { return strings.Join(c.system, "\n") }

// AppendLabel appends the label of an answer, brackets included. A label that
// is not known gets that of [LabelUnknown].
func (c *Catalogue) AppendLabel(dst []byte, id Label) []byte {
	return c.render(dst, c.phrase(labels, string(id), string(LabelUnknown)), nil)
}

// AppendMessage appends what happened, for a code of toolguard. A code that is
// not known gets the words of "unknown_error".
func (c *Catalogue) AppendMessage(dst []byte, code string, v *Vars) []byte {
	return c.render(dst, c.phrase(messages, code, "unknown_error"), v)
}

// AppendOutcome appends what is known of the effect. An outcome that is not
// known gets that of [OutcomeUnknown], which claims nothing.
func (c *Catalogue) AppendOutcome(dst []byte, id Outcome, v *Vars) []byte {
	return c.render(dst, c.phrase(outcomes, string(id), string(OutcomeUnknown)), v)
}

// AppendStep appends the next step. A step that is not known gets that of
// [StepAskCheckUnknown], the most careful one.
func (c *Catalogue) AppendStep(dst []byte, id Step, v *Vars) []byte {
	return c.render(dst, c.phrase(steps, string(id), string(StepAskCheckUnknown)), v)
}

// AppendViolation appends what is wrong with one argument, or with the text of
// the arguments. A rule that is not known gets that of [ViolationOther].
func (c *Catalogue) AppendViolation(dst []byte, id Violation, v *Vars) []byte {
	return c.render(dst, c.phrase(violations, string(id), string(ViolationOther)), v)
}

// AppendNote appends a remark on what was done to arguments or a result. A note
// that is not known appends nothing.
func (c *Catalogue) AppendNote(dst []byte, id Note, v *Vars) []byte {
	return c.render(dst, c.phrase(notes, string(id), ""), v)
}

// AppendFrame appends the words around something that is not a phrase. A frame
// that is not known appends nothing.
func (c *Catalogue) AppendFrame(dst []byte, id Frame, v *Vars) []byte {
	return c.render(dst, c.phrase(frames, string(id), ""), v)
}

// AppendGap appends what stands between two sentences: a space in English,
// nothing in Chinese.
func (c *Catalogue) AppendGap(dst []byte) []byte { return append(dst, c.marks.gap...) }

// Has reports whether there is a message for code.
func (c *Catalogue) Has(code string) bool {
	_, ok := c.phrases[messages][code]
	return ok
}

// Phrases yields every id, as "section.key", with its template, in the order of
// the sections and sorted inside each. It is what a translator starts from.
func (c *Catalogue) Phrases() iter.Seq2[string, string] {
	return func(yield func(id, template string) bool) {
		for s := range sectionCount {
			for _, key := range slices.Sorted(maps.Keys(c.phrases[s])) {
				if !yield(s.id(key), c.phrases[s][key].source) {
					return
				}
			}
		}
	}
}

// noPhrase is what an unknown id without a fallback gets.
var noPhrase phrase

// phrase looks an id up.
func (c *Catalogue) phrase(s section, key, fallback string) *phrase {
	if p, ok := c.phrases[s][key]; ok {
		return p
	}
	if p, ok := c.phrases[s][fallback]; ok {
		return p
	}
	return &noPhrase
}
