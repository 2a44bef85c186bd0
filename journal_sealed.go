package toolguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Sealed returns a [Journal] that stores exact arguments and results encrypted in
// j. seal turns what is to be stored into what is stored, and unseal back; both
// may be called concurrently. Everything else about an entry, digests included,
// is stored as it is: a digest of few possible arguments can be guessed.
//
// What cannot be sealed is not written, and what cannot be unsealed not read: the
// error says so, and no tool that is not repeatable runs. Nor does one such entry
// hide others: Take, and a Scan of more than one key or group, return it with
// Entry.Sealed, and a [Recoverer] parks it as it is. It is looked at again, and
// what does not need its arguments a person can decide in j itself.
func Sealed(j Journal, seal, unseal func([]byte) ([]byte, error)) (Journal, error) {
	if j == nil || seal == nil || unseal == nil {
		return nil, errors.New("toolguard: Sealed: want a journal and both functions")
	}
	return &sealed{j, seal, unseal}, nil
}

type sealed struct {
	Journal
	seal, unseal func([]byte) ([]byte, error)
}

// Write implements [Journal].
func (s *sealed) Write(ctx context.Context, was Version, e Entry, records ...Record) (now Entry, ok bool, err error) {
	args, result, is := e.Args, e.Result, e.Sealed
	if e.Sealed = false; !is {
		if e.Args, err = s.close(args); err == nil {
			e.Result, err = s.close(result)
		}
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("toolguard: sealing an entry: %w", err)
	}
	if now, ok, err = s.Journal.Write(ctx, was, e, records...); err != nil {
		return now, ok, err
	}
	if ok {
		now.Args, now.Result, now.Sealed = args, result, is
		return now, ok, nil
	}
	if err = s.open(&now); is { // the caller has seen such an entry already
		err = nil
	}
	return now, ok, err
}

// Scan implements [Journal].
func (s *sealed) Scan(ctx context.Context, q Query) ([]Entry, error) {
	entries, err := s.Journal.Scan(ctx, q)
	for i := range entries {
		if bad := s.open(&entries[i]); bad != nil && q.Key+q.Group != "" {
			return nil, bad
		}
	}
	return entries, err
}

// Take implements [Journal].
func (s *sealed) Take(ctx context.Context, n int, hold time.Duration) ([]Entry, error) {
	entries, err := s.Journal.Take(ctx, n, hold)
	for i := range entries {
		_ = s.open(&entries[i]) // the entry says so
	}
	return entries, err
}

// open unseals the entry, or leaves it as it is.
func (s *sealed) open(e *Entry) error {
	args, err := s.reopen(e.Args)
	result := e.Result
	if err == nil {
		result, err = s.reopen(result)
	}
	if err != nil {
		e.Sealed = true
		return fmt.Errorf("toolguard: unsealing the entry %q: %w", preview(e.Key), err)
	}
	e.Args, e.Result = args, result
	return nil
}

// close turns a document into a JSON string of what is sealed.
func (s *sealed) close(doc json.RawMessage) (json.RawMessage, error) {
	if len(doc) == 0 {
		return nil, nil
	}
	text, err := s.seal(doc)
	if err != nil {
		return nil, err
	}
	return json.Marshal(text)
}

func (s *sealed) reopen(doc json.RawMessage) (open json.RawMessage, err error) {
	if len(doc) == 0 {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panics: %v", v)
		}
	}()
	var text []byte
	if err := json.Unmarshal(doc, &text); err != nil {
		return nil, err
	}
	return s.unseal(text)
}
