package toolguard

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolguard-go/toolguard/internal/clean"
	"github.com/toolguard-go/toolguard/internal/redact"
	"github.com/toolguard-go/toolguard/prompts"
)

// RenderPolicy says how answers read.
type RenderPolicy struct {
	// Off hands results on as they are: no cleaning, no cap. Failures are
	// rendered all the same.
	Off bool
	// Locale of the words: "en" or "zh", with or without a region. If empty, "en".
	Locale string
	// Format of envelopes. If zero, JSON.
	Format Format
	// HideCauses leaves foreign error text out.
	HideCauses bool
	// QuoteCauses quotes every cause, redacted, not only plain text errors.
	QuoteCauses bool
	// RedactResults redacts successful results too.
	RedactResults bool
	// RedactEmails redacts e-mail addresses wherever redaction applies.
	RedactEmails bool
	// MaxResult bounds the text of a result, in bytes, and is at least 256. If
	// zero, 64 KiB.
	MaxResult int
	// MaxParts bounds the Parts of a result together, in bytes. If zero, 8 MiB.
	MaxParts int
	// Contact is who a user may ask about an unknown outcome or for access.
	Contact string
}

func (p RenderPolicy) withDefaults() RenderPolicy {
	setDefault(&p.MaxResult, 64<<10)
	setDefault(&p.MaxParts, 8<<20)
	return p
}

func (p RenderPolicy) check() error {
	errs := []error{notNegative("Render.MaxParts", p.MaxParts)}
	if p.MaxResult != 0 && p.MaxResult < 256 {
		errs = append(errs, badOption("Render.MaxResult", p.MaxResult, "256 or more"))
	}
	if p.HideCauses && p.QuoteCauses {
		errs = append(errs, badOption("Render.QuoteCauses", true, "not together with HideCauses"))
	}
	if int(p.Format) >= len(formatNames) {
		errs = append(errs, badOption("Render.Format", p.Format, "json or text"))
	}
	if lang, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(p.Locale), "_", "-"), "-"); lang != "" && lang != "en" && lang != "zh" {
		errs = append(errs, badOption("Render.Locale", p.Locale, "en or zh; other languages are given as Options.Words"))
	}
	if len(p.Contact) > 128 {
		errs = append(errs, badOption("Render.Contact", preview(p.Contact), "at most 128 bytes"))
	}
	return errors.Join(errs...)
}

// SystemPrompt returns the rules a model needs to read envelopes, for the host's
// own system prompt. An unknown locale gets English.
func SystemPrompt(locale string) string { return prompts.For(locale).SystemPrompt() }

// words are the phrases and the redactor of a guard.
type words struct {
	own      *prompts.Catalogue // Options.Words, or nil
	locale   *prompts.Catalogue // the policy's
	redactor *redact.Redactor
}

func newWords(p RenderPolicy, own *prompts.Catalogue) words {
	return words{own: own, locale: prompts.For(p.Locale), redactor: redact.New(redact.Options{Emails: p.RedactEmails})}
}

// catalogue returns the words of a call: those the host replaced, unless the
// call asks for a locale of its own.
func (g *Guard) catalogue(locale string) *prompts.Catalogue {
	switch {
	case locale != "":
		return prompts.For(locale)
	case g.words.own != nil:
		return g.words.own
	default:
		return g.words.locale
	}
}

// redact removes what a model has no business seeing.
func (c *call) redact(text string) string {
	if text == "" {
		return ""
	}
	return c.redactFurther(c.guard.words.redactor.Redact(text))
}

// maxForeign is how much of a foreign text is looked at, in bytes: more than can
// be left of it once it is cut.
const maxForeign = 16 << 10

// cutRedacted takes out of text what does not belong into a prompt, redacts it and
// cuts it to limit bytes afterwards, never through a secret.
func (c *call) cutRedacted(text string, limit int) string {
	text, _ = clean.Text(text[:min(len(text), maxForeign)], clean.Options{MaxBytes: maxForeign})
	out, _ := c.guard.words.redactor.Cut(c.redactFurther(text), limit)
	if len(out) > limit { // it was measured in characters
		out, _ = c.guard.words.redactor.Cut(out, max(utf8.RuneCountInString(out[:limit-len("…")]), 1))
	}
	return out
}

// authored bounds an author's own sentence and keeps it on one line: values from
// elsewhere stand in it, and must not look like a label or a next step.
func (c *call) authored(text string) string {
	return string(c.guard.catalogue(c.locale).AppendLine(nil, c.cutRedacted(text, maxQuote)))
}

// redactTime bounds what the host's own redactor may take for all the texts of a
// call together.
const redactTime = time.Second

// redactFurther applies the host's own redactor. One that fails leaves nothing,
// and is not asked again in this call: there may be many texts, and it may hang.
func (c *call) redactFurther(text string) string {
	redact := c.guard.opts.Redact
	if redact == nil {
		return text
	}
	out, began, r := "", time.Now(), c.rarely()
	c.mute = c.mute || c.guard.hanging.redact.Run(context.Background(), redactTime-r.redacting, func(context.Context) error {
		out = redact(text)
		return nil
	}) != nil
	r.redacting += time.Since(began)
	if c.mute {
		return "[redacted]"
	}
	return out
}
