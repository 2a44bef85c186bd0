package prompts

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func both(t *testing.T, check func(t *testing.T, c *Catalogue)) {
	t.Helper()
	for _, c := range []*Catalogue{English(), Chinese()} {
		t.Run(c.Locale(), func(t *testing.T) {
			t.Parallel()
			check(t, c)
		})
	}
}

// Words that belong in a log, promises, and advice without a condition.
var forbidden = map[string]*regexp.Regexp{
	"en": regexp.MustCompile(`(?i)\b(exceptions?|stack|trace(back)?|null pointer|nil|panic(ked)?|goroutine|thread|deadlock|please|sorry|we|our|later)\b|will be|shall be|try again`),
	"zh": regexp.MustCompile(`异常|堆栈|空指针|线程|协程|稍后|以后再试|将会|会被核实|会有人|我们|抱歉|对不起|您`),
}

func TestWordsAreForModels(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c *Catalogue) {
		all(c, func(id, full, bare string) {
			assert.NotRegexp(t, forbidden[c.Locale()], full, id)
			assert.NotRegexp(t, forbidden[c.Locale()], bare, id)
		})
		assert.NotRegexp(t, forbidden[c.Locale()], c.SystemPrompt())
	})
}

// An attempt may still run unless it really stopped.
func TestStoppedIsSaidOnlyOfAttemptTimeout(t *testing.T) {
	t.Parallel()
	word := map[string]string{"en": "stopped", "zh": "被停止"}
	both(t, func(t *testing.T, c *Catalogue) {
		all(c, func(id, full, _ string) {
			assert.Equal(t, id == "messages.attempt_timeout", strings.Contains(full, word[c.Locale()]), "%s: %s", id, full)
		})
	})
}

var (
	noRepeat = map[string]string{"en": "Do not send this call again", "zh": "不要再次发送"}
	noClaim  = map[string]string{"en": "do not claim that it succeeded", "zh": "不要声称已经成功"}
	noInvent = map[string]string{"en": "do not invent", "zh": "不要编造"}
	noAbsent = map[string]string{"en": "this does not mean the record is absent", "zh": "这不表示记录不存在"}
)

func fold(s string) string { return strings.ToLower(s) }

// step is what is said after failures.
func step(c *Catalogue, id Step) string {
	v := sample
	v.Done = false
	return fold(string(c.AppendStep(nil, id, &v)))
}

// Whoever has succeeded too often has succeeded.
func TestStopAfterSuccessesClaimsThem(t *testing.T) {
	t.Parallel()
	stand := map[string]string{"en": "with the results you have; they stand", "zh": "这些结果仍然有效"}
	both(t, func(t *testing.T, c *Catalogue) {
		text := fold(string(c.AppendStep(nil, StepStopDirective, &Vars{Tool: "x", Count: 3, Done: true})))
		assert.Contains(t, text, stand[c.locale])
		assert.Contains(t, text, fold(noRepeat[c.locale]))
		assert.Contains(t, text, noInvent[c.locale])
		assert.NotContains(t, text, noClaim[c.locale])
	})
}

func TestUnknownOutcomeForbids(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c *Catalogue) {
		for _, id := range []Step{StepVerifyUnknown, StepAskCheckUnknown, StepParkedUnknown, StepInProgress} {
			assert.Contains(t, step(c, id), fold(noRepeat[c.locale]), id)
		}
		for _, id := range []Step{
			StepVerifyUnknown, StepAskCheckUnknown, StepParkedUnknown, StepInProgress,
			StepRepeatSafeUnknown, StepTellUserUnknown, StepStopDirective,
		} {
			assert.Contains(t, step(c, id), noClaim[c.locale], id)
			assert.Contains(t, step(c, id), noInvent[c.locale], id)
		}
	})
}

func TestSystemFailureIsNotAbsence(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c *Catalogue) {
		assert.Contains(t, fold(string(c.AppendOutcome(nil, OutcomeUnread, nil))), noAbsent[c.locale])
		assert.Contains(t, step(c, StepTellUserInternal), noAbsent[c.locale])
		assert.Contains(t, string(c.AppendStep(nil, StepWaitBreaker, &Vars{Tool: "x", Reads: true})), noAbsent[c.locale])
		assert.Contains(t, strings.ReplaceAll(step(c, StepTellUserOutage), "that this", "this"), noAbsent[c.locale])
	})
}

// Of what should have been done it is said that it was not: "the record" would be
// anybody's guess.
func TestAnActionThatFailedIsToldAsNotDone(t *testing.T) {
	t.Parallel()
	done := map[string]string{"en": "was not done", "zh": "没有完成"}
	absent := map[string]string{"en": "record", "zh": "记录"}
	both(t, func(t *testing.T, c *Catalogue) {
		for _, id := range []Step{StepTellUserInternal, StepWaitBreaker, StepTellUserOutage} {
			text := string(c.AppendStep(nil, id, &Vars{Tool: "pay", Wait: time.Second}))
			assert.Contains(t, text, done[c.locale], id)
			assert.NotContains(t, text, absent[c.locale], id)
		}
	})
}

// Who is to be told why must have been told why.
func TestAReasonIsAskedForOnlyWhereItIsKnown(t *testing.T) {
	t.Parallel()
	unknown := map[string]string{"en": "for a reason that is not known", "zh": "原因不明"}
	both(t, func(t *testing.T, c *Catalogue) {
		assert.Contains(t, string(c.AppendStep(nil, StepExplainRefusal, nil)), unknown[c.locale])
		assert.NotContains(t, string(c.AppendStep(nil, StepExplainRefusal, &Vars{Told: true})), unknown[c.locale])
	})
}

// A step that ends a matter must not leave room for made-up results.
func TestStepsThatGiveUpForbidInventing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c *Catalogue) {
		for _, id := range []Step{
			StepTryOnceMore, StepWaitThenOnce, StepAskForLess, StepUseAlternative, StepRetryLaterAt,
			StepTellUserOutage, StepTellUserInternal, StepFinishNow, StepCanceled, StepLeaveToHost, StepNotFound,
			StepNoSuchTool, StepDoneNoResult, StepChangePlan, StepExplainRefusal, StepFixAndResend,
		} {
			assert.Contains(t, step(c, id), noInvent[c.locale], id)
		}
	})
}

func TestSentencesAreWhole(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c *Catalogue) {
		end := map[string]string{"en": ".", "zh": "。"}[c.locale]
		all(c, func(id, full, bare string) {
			section, _, _ := strings.Cut(id, ".")
			for _, text := range []string{full, bare} {
				assert.NotContains(t, text, "  ", id)
				assert.NotRegexp(t, `\(\)|（）| [.,;:]`, text, id)
				switch section {
				case "messages", "outcomes", "steps":
					assert.NotRegexp(t, `\b0\b`, bare, id)
					assert.True(t, c.locale != "en" || unicode.IsUpper(firstRune(text)), "%s: %s", id, text)
					fallthrough
				case "notes":
					assert.True(t, strings.HasSuffix(text, end) || strings.HasSuffix(text, "？"), "%s: %s", id, text)
				}
			}
		})
	})
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func TestLengths(t *testing.T) {
	t.Parallel()
	most := map[string]map[string]int{
		"en": {"messages": 160, "outcomes": 60, "steps": 320, "violations": 200, "notes": 200},
		"zh": {"messages": 160, "outcomes": 60, "steps": 320, "violations": 240, "notes": 200},
	}
	both(t, func(t *testing.T, c *Catalogue) {
		all(c, func(id, full, bare string) {
			section, _, _ := strings.Cut(id, ".")
			if limit, ok := most[c.locale][section]; ok {
				assert.LessOrEqual(t, max(len(full), len(bare)), limit, id)
			}
		})
		assert.LessOrEqual(t, len(c.SystemPrompt()), 2048)
	})
}

// The longest words together leave room for everything else in 1 KiB.
func TestEnvelopeStaysSmall(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c *Catalogue) {
		longest := map[string]string{}
		all(c, func(id, full, _ string) {
			section, _, _ := strings.Cut(id, ".")
			if len(full) > len(longest[section]) {
				longest[section] = full
			}
		})
		text, err := json.Marshal(map[string]any{
			"ok": false, "call_id": "call_0123456789abcdef01234567", "tool": sample.Tool,
			"error": map[string]any{
				"category": "unavailable", "code": "service_unavailable", "retryable": false, "outcome": "not_started",
				"retry_after_ms": 120000, "incident": "k3f9a2b7", "message": longest["messages"] + " " + longest["outcomes"],
			},
			"suggestion": longest["steps"],
		})
		require.NoError(t, err)
		assert.LessOrEqual(t, len(text), 1024-150, "%s", text)
	})
}

func TestLabelsAreMarked(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, c *Catalogue) {
		shape := map[string]string{"en": `^\[TOOL [A-Z ]+\]$`, "zh": `^【工具\p{Han}+】$`}[c.locale]
		seen := map[string]bool{}
		for _, label := range c.labels {
			assert.Regexp(t, shape, label)
			assert.False(t, seen[label], "%s is used twice", label)
			seen[label] = true
		}
	})
}

var (
	englishSentence = regexp.MustCompile(`[A-Za-z']+( [A-Za-z']+){2,}`)
	halfWidth       = regexp.MustCompile(`\p{Han}[,;:!?.]|[,;:!?]\p{Han}|[（）：，。；“”] | [（）：，。；“”]`)
	unspaced        = regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Han}`)
)

func TestChineseIsChinese(t *testing.T) {
	t.Parallel()
	check := func(id, text string) {
		assert.NotRegexp(t, englishSentence, text, id)
		assert.NotRegexp(t, halfWidth, text, id)
		assert.NotRegexp(t, unspaced, text, id)
	}
	values := sample
	values.Text, values.Example = "", "{}"
	for s := labels; s < absent; s++ {
		for key, p := range Chinese().phrases[s] {
			check(s.id(key), string(Chinese().render(nil, p, &values)))
			check(s.id(key), string(Chinese().render(nil, p, nil)))
		}
	}
	check("system", Chinese().SystemPrompt())
}

func TestEnglishIsPlainASCII(t *testing.T) {
	t.Parallel()
	for id, template := range English().Phrases() {
		for _, r := range template {
			assert.True(t, r < utf8.RuneSelf || r == '…', "%s: %q", id, r)
		}
	}
}
