package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
)

// link is a connection to one side.
type link interface {
	// send hands a message over. An error says that it has not arrived, or that
	// nobody knows. Messages of one goroutine arrive in its order.
	send(ctx context.Context, m *message) error
	// receive returns the next message. An [*errMalformed] is about one message
	// and others may follow; any other error is the end.
	receive() (*message, error)
	// close ends the link and what it belongs to. It may be called more than once.
	close()
}

// lines is a link of messages that are a line each.
type lines struct {
	in    *bufio.Reader
	limit int // of a message, in bytes
	end   func()

	mu  sync.Mutex
	out io.Writer

	queue []parsed // the rest of a batch
}

func newLines(in io.Reader, out io.Writer, limit int, end func()) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, limit: limit, end: sync.OnceFunc(end)}
}

func (l *lines) close() { l.end() }

func (l *lines) send(_ context.Context, m *message) error {
	text := m.oneLine()
	line := append(text[:len(text):len(text)], '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.out.Write(line); err != nil {
		return errors.Join(mcpguard.ErrNotSent, err) // a part of a line is no message
	}
	return nil
}

func (l *lines) receive() (*message, error) {
	for len(l.queue) == 0 {
		text, err := l.line()
		if err != nil {
			return nil, err
		}
		if len(text) == 0 {
			continue
		}
		l.queue = parse(text)
	}
	next := l.queue[0]
	l.queue = l.queue[1:]
	return next.message, next.err
}

// line reads a line of any length up to the limit. Of a longer one it keeps the
// ends.
func (l *lines) line() ([]byte, error) {
	var text []byte
	for {
		piece, err := l.in.ReadSlice('\n')
		switch {
		case len(text)+len(piece) > l.limit:
			return nil, l.skip(append(text, piece...), err)
		case err == nil && text == nil:
			return append([]byte(nil), trimmed(piece)...), nil
		case err == nil:
			return trimmed(append(text, piece...)), nil
		case errors.Is(err, bufio.ErrBufferFull):
			text = append(text, piece...)
		case len(text)+len(piece) > 0 && errors.Is(err, io.EOF):
			return append(text, piece...), nil // the end comes next
		default:
			return nil, err
		}
	}
}

// ends is how much of a message beyond the limit is looked at, on either side.
const ends = 4 << 10

func (l *lines) skip(text []byte, err error) error {
	head, tail := text[:min(len(text), ends):min(len(text), ends)], text[max(0, len(text)-ends):]
	for errors.Is(err, bufio.ErrBufferFull) {
		var piece []byte
		piece, err = l.in.ReadSlice('\n')
		tail = append(tail[:len(tail):len(tail)], piece...)
		tail = tail[max(0, len(tail)-ends):]
	}
	return tooLarge(l.limit, head, trimmed(tail))
}

func trimmed(line []byte) []byte {
	for n := len(line); n > 0 && (line[n-1] == '\n' || line[n-1] == '\r'); n-- {
		line = line[:n-1]
	}
	return line
}
