package prompts

// Violation names what is wrong with the arguments. Near always means a
// near-miss name or value worth suggesting.
type Violation string

// Rules of the schema. All take Path and [Got], the offending value or length.
// Want is the keyword's own value, such as a bound, unless said otherwise.
const (
	ViolationRequired          Violation = "required"         // Name; [Near]: a name that was sent instead
	ViolationUnknownProperty   Violation = "unknown_property" // [Near], [Allowed]: names of the schema
	ViolationCaseMismatch      Violation = "case_mismatch"    // Want: the declared name
	ViolationType              Violation = "type"             // Allowed: types
	ViolationEnum              Violation = "enum"             // Allowed, [Near]
	ViolationConst             Violation = "const"
	ViolationMinimum           Violation = "minimum"
	ViolationMaximum           Violation = "maximum"
	ViolationExclusiveMinimum  Violation = "exclusive_minimum"
	ViolationExclusiveMaximum  Violation = "exclusive_maximum"
	ViolationMultipleOf        Violation = "multiple_of"
	ViolationMinLength         Violation = "min_length"
	ViolationMaxLength         Violation = "max_length"
	ViolationPattern           Violation = "pattern"
	ViolationFormat            Violation = "format"
	ViolationMinItems          Violation = "min_items"
	ViolationMaxItems          Violation = "max_items"
	ViolationUniqueItems       Violation = "unique_items"
	ViolationContains          Violation = "contains"
	ViolationMaxContains       Violation = "max_contains"
	ViolationMinProperties     Violation = "min_properties"
	ViolationMaxProperties     Violation = "max_properties"
	ViolationAnyOf             Violation = "any_of" // [Allowed]: names of which one has to be given
	ViolationOneOf             Violation = "one_of" // [Count]: 0 if it fits none; [Allowed]: as for any_of
	ViolationNot               Violation = "not"
	ViolationDependentRequired Violation = "dependent_required" // Name; Want: the argument that asks for it
	ViolationPropertyName      Violation = "property_name"      // Name; [Want]: the keyword it breaks
	ViolationFalseSchema       Violation = "false_schema"
	ViolationMaskedValue       Violation = "masked_value" // a mask of redaction came back as a value
	ViolationNotObject         Violation = "not_object"   // Got: the kind of value; no Path
	ViolationOther             Violation = "other"        // Want: the keyword
	ViolationInternal          Violation = "internal"     // the check itself broke
)

// Reasons of the strict parser. All but the first and ViolationSize take Offset.
const (
	ViolationEmpty         Violation = "empty" // [Missing]: the required names
	ViolationTruncated     Violation = "truncated"
	ViolationTrailing      Violation = "trailing"
	ViolationSyntax        Violation = "syntax" // [Got], [Want]: a bounded token
	ViolationControlChar   Violation = "control_char"
	ViolationDuplicateKey  Violation = "duplicate_key" // Path
	ViolationLoneSurrogate Violation = "lone_surrogate"
	ViolationInvalidUTF8   Violation = "invalid_utf8"
	ViolationDepth         Violation = "depth"           // [Limit]
	ViolationSize          Violation = "size"            // [Size], [Limit], in bytes
	ViolationDigits        Violation = "digits"          // [Limit]
	ViolationExponent      Violation = "exponent"        // [Limit]
	ViolationNotJSONNumber Violation = "not_json_number" // [Got]
	ViolationSingleQuotes  Violation = "single_quotes"
	ViolationPythonLiteral Violation = "python_literal"
	ViolationTrailingComma Violation = "trailing_comma"
)
