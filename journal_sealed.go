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
// error says so, and no tool that is not repeatable runs.
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
	args, result := e.Args, e.Result
	if e.Args, err = s.close(args); err == nil {
		e.Result, err = s.close(result)
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("toolguard: sealing an entry: %w", err)
	}
	if now, ok, err = s.Journal.Write(ctx, was, e, records...); err != nil {
		return now, ok, err
	}
	if ok {
		now.Args, now.Result = args, result
		return now, ok, nil
	}
	return now, ok, s.open(&now)
}

// Scan implements [Journal].
func (s *sealed) Scan(ctx context.Context, q Query) ([]Entry, error) {
	return s.openAll(s.Journal.Scan(ctx, q))
}

// Take implements [Journal].
func (s *sealed) Take(ctx context.Context, n int, hold time.Duration) ([]Entry, error) {
	return s.openAll(s.Journal.Take(ctx, n, hold))
}

func (s *sealed) openAll(entries []Entry, err error) ([]Entry, error) {
	for i := range entries {
		if err == nil {
			err = s.open(&entries[i])
		}
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}

func (s *sealed) open(e *Entry) (err error) {
	if e.Args, err = s.reopen(e.Args); err == nil {
		e.Result, err = s.reopen(e.Result)
	}
	if err != nil {
		return fmt.Errorf("toolguard: unsealing the entry %q: %w", preview(e.Key), err)
	}
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

func (s *sealed) reopen(doc json.RawMessage) (json.RawMessage, error) {
	if len(doc) == 0 {
		return nil, nil
	}
	var text []byte
	if err := json.Unmarshal(doc, &text); err != nil {
		return nil, err
	}
	return s.unseal(text)
}
