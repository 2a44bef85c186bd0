package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// event is one of an event stream (WHATWG HTML §9.2).
type event struct {
	id, name string
	data     []byte
	retry    time.Duration
}

// events reads an event stream.
type events struct {
	in    *bufio.Reader
	limit int // of an event's data, in bytes
}

func newEvents(r io.Reader, limit int) *events { return &events{bufio.NewReaderSize(r, 16<<10), limit} }

// next returns the next event; those without data too, which may carry an ID.
func (s *events) next() (event, error) {
	var e event
	some := false
	for {
		line, err := s.line(s.limit + 64)
		if err != nil {
			return event{}, err // an event without its end is none
		}
		if len(line) == 0 {
			if some {
				e.data = bytes.TrimSuffix(e.data, []byte("\n"))
				return e, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		some = true
		switch string(name) {
		case "data":
			if len(e.data)+len(value) > s.limit {
				return event{}, errTooLarge
			}
			e.data = append(append(e.data, value...), '\n')
		case "id":
			e.id = string(value)
		case "event":
			e.name = string(value)
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		case "":
			some = false // a comment
		}
	}
}

func (s *events) line(limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := s.in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > limit:
			return nil, errTooLarge
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err
		default:
			return trimmed(line), nil
		}
	}
}
