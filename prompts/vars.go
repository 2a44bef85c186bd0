package prompts

import "time"

// Vars holds the values of placeholders; its zero value has none. A field is
// rendered as it stands, with control characters turned into spaces, so text
// has to be redacted and bounded before. Only Text is quoted.
type Vars struct {
	Tool     string // {tool}: the tool's name, as the model knows it
	Status   string // {status}: a status the service or a program gave, such as 503
	Contact  string // {contact}: who can look something up or decide
	Incident string // {incident}: the incident's id
	Path     string // {path}: the place in the arguments; "" is the whole object
	Name     string // {name}: an argument or a rule
	Want     string // {want}: what the schema asks for, ready to print
	Got      string // {got}: what came instead, ready to print
	Example  string // {example}: JSON
	Source   string // {source}: where a degraded answer comes from
	Kind     string // {kind}: a media type
	Text     string // {text}: foreign text; see [FrameQuote]

	Timeout time.Duration // {timeout}: rounded up to seconds, or to milliseconds below one
	Wait    time.Duration // {wait}: rounded up to seconds, minutes from 1 h, hours from 1 d
	Age     time.Duration // {age}: rounded as Wait
	At      time.Time     // {at}: rounded up to minutes, in its own location

	Count      int // {count}
	Limit      int // {limit}
	Size       int // {size}: bytes
	Offset     int // {offset}: bytes, from 0
	Succeeded  int // {succeeded}
	Failed     int // {failed}
	NotStarted int // {not_started}
	Unknown    int // {unknown}

	Alternatives []string // {alternatives}: tools to use instead, joined by "or"
	Verify       []string // {verify}: tools that can look the outcome up, joined by "or"
	Near         []string // {near}: near misses, joined by "or"
	Tools        []string // {tools}: names
	Allowed      []string // {allowed}: values or names, ready to print, joined by "or"
	Missing      []string // {missing}: names, joined by "and"

	// Flags choose between clauses and have no text of their own.
	Reads bool // {?reads}: the tool only reads
	Told  bool // {?told}: the answer says why
	Done  bool // {?done}: the calls succeeded

	// AllowedMore is how many allowed values are not in Allowed.
	AllowedMore int
}

// varID is a placeholder.
type varID uint8

const (
	varTool varID = iota
	varStatus
	varContact
	varIncident
	varPath
	varName
	varWant
	varGot
	varExample
	varSource
	varKind
	varText
	varTimeout
	varWait
	varAge
	varAt
	varCount
	varLimit
	varSize
	varOffset
	varSucceeded
	varFailed
	varNotStarted
	varUnknown
	varAlternatives
	varVerify
	varNear
	varTools
	varAllowed
	varMissing
	varReads
	varTold
	varDone
	varEnd
)

// varSlots is how many placeholders there are.
const varSlots = int(varEnd)

var varNames = [varSlots]string{
	"tool", "status", "contact", "incident", "path", "name", "want", "got", "example", "source", "kind", "text",
	"timeout", "wait", "age", "at",
	"count", "limit", "size", "offset", "succeeded", "failed", "not_started", "unknown",
	"alternatives", "verify", "near", "tools", "allowed", "missing", "reads", "told", "done",
}

var varIndex = func() map[string]varID {
	index := make(map[string]varID, varSlots)
	for i, name := range varNames {
		index[name] = varID(i)
	}
	return index
}()

// varSet is a set of placeholders.
type varSet uint64

func setOf(ids ...varID) (s varSet) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s
}

func (s varSet) has(id varID) bool { return s&(1<<id) != 0 }

// The kinds of placeholders are runs of the constants above.
func (id varID) isText() bool     { return id <= varText }
func (id varID) isDuration() bool { return id >= varTimeout && id <= varAge }
func (id varID) isNumber() bool   { return id >= varCount && id <= varUnknown }
func (id varID) isFlag() bool     { return id >= varReads }

// has reports whether a placeholder has a value.
func (v *Vars) has(id varID) bool {
	switch {
	case id.isText():
		return v.text(id) != ""
	case id.isDuration():
		return v.duration(id) > 0
	case id == varAt:
		return !v.At.IsZero()
	case id.isNumber():
		return v.number(id) != 0
	case id.isFlag():
		return id == varReads && v.Reads || id == varTold && v.Told || id == varDone && v.Done
	default:
		return len(v.list(id)) > 0
	}
}

// The getters are switches, not a table of functions: a call through a table
// would move the caller's Vars to the heap.

func (v *Vars) text(id varID) string {
	switch id {
	case varTool:
		return v.Tool
	case varStatus:
		return v.Status
	case varContact:
		return v.Contact
	case varIncident:
		return v.Incident
	case varPath:
		return v.Path
	case varName:
		return v.Name
	case varWant:
		return v.Want
	case varGot:
		return v.Got
	case varExample:
		return v.Example
	case varSource:
		return v.Source
	case varKind:
		return v.Kind
	default:
		return v.Text
	}
}

func (v *Vars) duration(id varID) time.Duration {
	switch id {
	case varTimeout:
		return v.Timeout
	case varWait:
		return v.Wait
	default:
		return v.Age
	}
}

func (v *Vars) number(id varID) int {
	switch id {
	case varCount:
		return v.Count
	case varLimit:
		return v.Limit
	case varSize:
		return v.Size
	case varOffset:
		return v.Offset
	case varSucceeded:
		return v.Succeeded
	case varFailed:
		return v.Failed
	case varNotStarted:
		return v.NotStarted
	default:
		return v.Unknown
	}
}

func (v *Vars) list(id varID) []string {
	switch id {
	case varAlternatives:
		return v.Alternatives
	case varVerify:
		return v.Verify
	case varNear:
		return v.Near
	case varTools:
		return v.Tools
	case varAllowed:
		return v.Allowed
	default:
		return v.Missing
	}
}
