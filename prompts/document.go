package prompts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// section is a part of a document. The first seven hold templates, the last
// three plain words.
type section uint8

const (
	labels section = iota
	messages
	outcomes
	steps
	violations
	notes
	frames
	absent
	units
	punctuation
	sectionCount
)

var sectionNames = [sectionCount]string{
	"labels", "messages", "outcomes", "steps", "violations", "notes", "frames", "absent", "units", "marks",
}

// aboutCall is what is known of a call as a whole.
var aboutCall = setOf(varTool, varStatus, varContact, varIncident, varName, varTimeout, varWait, varAge, varAt,
	varCount, varLimit, varAlternatives, varVerify, varNear, varTools, varMissing, varReads, varTold, varDone)

// sectionVars says which placeholders a section may use: those that have a
// value where its phrases are rendered.
var sectionVars = [sectionCount]varSet{
	messages: aboutCall,
	outcomes: setOf(varTool),
	steps:    aboutCall,
	violations: setOf(varTool, varPath, varName, varWant, varGot, varAllowed, varNear, varMissing,
		varCount, varLimit, varSize, varOffset),
	notes: setOf(varTool, varPath, varWant, varGot, varSize, varCount, varLimit, varKind, varSource, varAge, varMissing),
	frames: setOf(varTool, varName, varTools, varText, varSize, varCount, varExample, varIncident,
		varSucceeded, varFailed, varNotStarted, varUnknown),
}

func (s section) id(key string) string { return sectionNames[s] + "." + key }

// plain sections hold words, which may be empty.
func (s section) plain() bool { return s >= absent }

// document is a file of phrases as it was written.
type document struct {
	locale  string
	system  []string
	phrases [sectionCount]map[string]string
}

// maxDocument bounds a document, in bytes.
const maxDocument = 1 << 20

// readDocument reads JSON strictly: encoding/json alone would let the last of
// two equal names win, and a host would wonder where its words went.
func readDocument(data []byte) (*document, error) {
	switch {
	case len(data) > maxDocument:
		return nil, fmt.Errorf("document of %d bytes is larger than %d", len(data), maxDocument)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("document is not valid UTF-8")
	}
	doc := new(document)
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := eachMember(dec, "document", func(name string) error { return doc.read(dec, name) }); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after the end of the document")
	}
	return doc, nil
}

// read reads the value of one top-level member.
func (d *document) read(dec *json.Decoder, name string) error {
	switch name {
	case "locale":
		return decodeAs(dec, name, &d.locale)
	case "system":
		return decodeAs(dec, name, &d.system)
	}
	for s, known := range sectionNames {
		if name == known {
			d.phrases[s] = map[string]string{}
			return readSection(dec, section(s), d.phrases[s])
		}
	}
	return fmt.Errorf("unknown section %q", name)
}

func readSection(dec *json.Decoder, s section, into map[string]string) error {
	return eachMember(dec, sectionNames[s], func(key string) error {
		var text *string
		if err := decodeAs(dec, s.id(key), &text); err != nil {
			return err
		}
		if text == nil {
			return fmt.Errorf("%s: null is not a phrase", s.id(key))
		}
		into[key] = *text
		return nil
	})
}

// eachMember calls read for every member of the object that dec is at.
func eachMember(dec *json.Decoder, where string, read func(name string) error) error {
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("%q is not an object: %v", where, orUnexpected(err, open))
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name := token.(string) // the decoder accepts nothing else here
		if seen[name] {
			return fmt.Errorf("%q occurs twice in %q", name, where)
		}
		seen[name] = true
		if err := read(name); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

func orUnexpected(err error, token json.Token) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("found %v", token)
}

func decodeAs(dec *json.Decoder, where string, into any) error {
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return nil
}
