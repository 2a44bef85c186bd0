package prompts

// Note names a remark on what was done to arguments or a result.
type Note string

// What was done to the arguments before they were checked.
const (
	NoteEmptyText         Note = "empty_text"
	NoteNullText          Note = "null_text"
	NoteCodeFence         Note = "code_fence"
	NoteWhiteSpace        Note = "white_space"
	NoteStringDocument    Note = "string_document" // the whole document
	NoteGluedObject       Note = "glued_object"
	NoteTrailingComma     Note = "trailing_comma"
	NoteControlChars      Note = "control_chars"
	NoteLiteralSpace      Note = "literal_space"
	NoteNumberFromString  Note = "number_from_string"  // Path, [Got], [Want]
	NoteIntegralFloat     Note = "integral_float"      // Path, [Got], [Want]
	NoteBooleanFromString Note = "boolean_from_string" // Path, [Got], [Want]
	NoteArrayFromString   Note = "array_from_string"   // Path
	NoteObjectFromString  Note = "object_from_string"  // Path
	NoteNullRemoved       Note = "null_removed"        // Path
	NoteEnumTrimmed       Note = "enum_trimmed"        // Path, [Want]
	NoteNameResolved      Note = "name_resolved"       // Got, Want
	NoteKeyOverwritten    Note = "key_overwritten"     // Path
	NoteArgsEdited        Note = "args_edited"
	NoteNotEnforcedSchema Note = "not_enforced_schema" // Tool
)

// What was done to the result.
const (
	NoteANSIRemoved         Note = "ansi_removed"
	NoteProgressCollapsed   Note = "progress_collapsed"
	NoteControlRemoved      Note = "control_removed"
	NoteBidiRemoved         Note = "bidi_removed"
	NoteInvalidUTF8         Note = "invalid_utf8"
	NoteBinaryOmitted       Note = "binary_omitted" // [Size], [Kind]: a media type
	NoteBase64Omitted       Note = "base64_omitted" // [Size], [Kind]
	NotePartsOmitted        Note = "parts_omitted"  // [Size]
	NoteCut                 Note = "cut"            // [Size], [Count]: bytes left out
	NoteEmptySuccess        Note = "empty_success"
	NoteResultUnmarshalable Note = "result_unmarshalable"
	NoteWrappedAsData       Note = "wrapped_as_data"
	NoteRedactedResult      Note = "redacted_result"
	NoteTypedNilError       Note = "typed_nil_error"
	NoteCanceledMeanwhile   Note = "canceled_meanwhile" // Tool
	NoteDegraded            Note = "degraded"           // [Source], [Age], [Missing]
	NoteLastKnownGood       Note = "last_known_good"    // Tool, [Age]
)

// Where the answer comes from, and what the session has seen.
const (
	NoteReplayed       Note = "replayed"        // from the journal. [Age]
	NoteReused         Note = "reused"          // a recent result. [Age]
	NoteJoined         Note = "joined"          // in flight
	NoteEarlierSuccess Note = "earlier_success" // of an earlier turn. [Age]
	NoteConfirmed      Note = "confirmed"       // by a status query
	NoteNotRecorded    Note = "not_recorded"
	NoteRepeatedCall   Note = "repeated_call" // [Count]
	NoteManyCalls      Note = "many_calls"    // Tool, [Count], [Limit]
)
