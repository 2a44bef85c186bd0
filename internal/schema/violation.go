package schema

// A Rule is what a document breaks. The text is stable: it is shown to models
// and counted by observers.
type Rule string

// The rules, and which fields of a [Violation] they fill besides Path, Node,
// Rule, Kind and Got. A value is always shown as JSON.
const (
	RuleRequired          Rule = "required"           // Name is missing from the object; Near: members it may have been sent as
	RuleUnknownProperty   Rule = "unknown_property"   // Name is not allowed; Near: declared names not given yet
	RuleCaseMismatch      Rule = "case_mismatch"      // Name equals the declared Want but for case
	RulePropertyName      Rule = "property_name"      // Name is not allowed as a name; Want: the keyword it breaks
	RuleType              Rule = "type"               // WantList: types
	RuleEnum              Rule = "enum"               // WantList: values; Near: some of them
	RuleConst             Rule = "const"              // Want: the value
	RuleMinimum           Rule = "minimum"            // Limit
	RuleMaximum           Rule = "maximum"            // Limit
	RuleExclusiveMinimum  Rule = "exclusive_minimum"  // Limit
	RuleExclusiveMaximum  Rule = "exclusive_maximum"  // Limit
	RuleMultipleOf        Rule = "multiple_of"        // Limit
	RuleMinLength         Rule = "min_length"         // Limit, Count: characters
	RuleMaxLength         Rule = "max_length"         // Limit, Count: characters
	RulePattern           Rule = "pattern"            // Want: the pattern
	RuleFormat            Rule = "format"             // Want: the format's name
	RuleMinItems          Rule = "min_items"          // Limit, Count
	RuleMaxItems          Rule = "max_items"          // Limit, Count
	RuleUniqueItems       Rule = "unique_items"       // Path and Node: the repeated element, or the array
	RuleContains          Rule = "contains"           // Limit: how many elements have to match at least
	RuleMaxContains       Rule = "max_contains"       // Limit: how many may match at most
	RuleMinProperties     Rule = "min_properties"     // Limit, Count
	RuleMaxProperties     Rule = "max_properties"     // Limit, Count
	RuleOneOf             Rule = "one_of"             // Count: branches that match, 0 or 2 (for two or more); WantList as for any_of
	RuleAnyOf             Rule = "any_of"             // WantList: names of which one is missing, if that is all
	RuleNot               Rule = "not"                // the value is excluded
	RuleDependentRequired Rule = "dependent_required" // Name is missing because Want is given
	RuleFalseSchema       Rule = "false_schema"       // nothing is allowed here
	RuleOther             Rule = "other"              // Want: the keyword
	RuleInternal          Rule = "internal"           // Want: "steps" or "panic"; the document was not judged
)

// Bounds on what is said about one document.
const (
	maxViolations = 20
	maxWanted     = 20      // entries of WantList
	maxSeen       = 4 << 10 // bytes of Got: it is redacted before it is cut to what is shown
	maxGot        = 80      // bytes of one wanted value
	maxWords      = 200     // bytes of Path, Name, Want
)

// A Violation is one thing that is wrong, as parameters for a sentence.
// All texts are bounded; a text that was cut ends in an ellipsis.
type Violation struct {
	// Path is the JSON pointer of Node: of the value, of the object that lacks
	// a member, or of the member that should not be there.
	Path string
	// Node is the index of that value in the document.
	Node int32
	Rule Rule
	// Name is a member's name.
	Name string
	// Want is the one thing wanted, WantList are several, WantMore counts
	// those beyond WantList.
	Want     string
	WantList []string
	WantMore int
	// Kind is the JSON type of the value: integer, number, string, …
	Kind string
	// Got is the beginning of the value as it stands in the document.
	// It may hold a secret: redact before cutting, and cut before showing.
	Got string
	// Limit is a bound as written in the schema, Count what it was compared to.
	Limit string
	Count int
	// Near are names or values that may have been meant, closest first.
	Near []string
}

// same reports whether two violations would make the same sentence.
func (v *Violation) same(o *Violation) bool {
	return v.Node == o.Node && v.Rule == o.Rule && v.Name == o.Name && v.Want == o.Want && v.Limit == o.Limit
}
