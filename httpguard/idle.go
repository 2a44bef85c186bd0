package httpguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard/internal/evidence"
)

// Defaults of [IdleOptions].
const (
	DefaultFirstByte = 60 * time.Second
	DefaultIdle      = 30 * time.Second
)

const (
	idleBuffer  = 32 << 10 // bytes asked of the source at once
	tailLength  = 4 << 10  // bytes of the end of the stream a terminator is looked for in
	emptyReads  = 100      // reads in a row that may bring neither data nor an error
	readMinimum = 512      // smallest buffer, so that tiny reads do not cost a goroutine each
)

// IdleOptions sets the limits of an [IdleReader].
type IdleOptions struct {
	// FirstByte limits the wait for the first data. If zero, 60 s.
	FirstByte time.Duration
	// Idle limits the wait for more data after that. If zero, 30 s.
	Idle time.Duration
	// SSE says that the source is an event stream (WHATWG HTML §9.2): only the
	// bytes of its data lines count as data, so comments, blank lines and other
	// fields do not keep a dead stream alive. Otherwise every byte is data.
	SSE bool
	// Terminator, if not nil, decides at the end of the stream whether it is
	// complete. It gets the last 4 KiB, or all of a shorter stream, and must not
	// keep them. See [EndsWith].
	Terminator func(tail []byte) bool
}

// check accepts nil and names what makes no sense.
func (o *IdleOptions) check() error {
	switch {
	case o == nil:
		return nil
	case o.FirstByte < 0:
		return fmt.Errorf("httpguard: IdleOptions.FirstByte %v is negative", o.FirstByte)
	case o.Idle < 0:
		return fmt.Errorf("httpguard: IdleOptions.Idle %v is negative", o.Idle)
	}
	return nil
}

// IdleReader reads a stream and gives up when it goes silent. Bytes pass through
// unchanged, keep-alives included. It never starts over: after an error every
// Read returns that error.
//
// The limits measure only time spent in Read waiting for the source; a slow
// consumer does not use them up. When one passes, or the context ends, Read
// returns although the source may still block, and closes the source. Between
// reads no goroutine runs, and a source that ends its blocked Read when closed
// leaves none behind.
//
// While a call waits for somebody, as toolguard.Waiting says of the context, silence
// does not count.
//
// Read must not be called concurrently with itself; Close may be called at any time.
type IdleReader struct {
	ctx    context.Context
	source io.ReadCloser
	opts   IdleOptions

	// Owned by Read.
	buf   []byte // lent to the source while a read is under way
	rest  []byte // the part of buf not handed on yet
	err   error  // returned once rest is empty
	left  time.Duration
	lines eventLines
	tail  []byte
	bytes int64 // read from the source
	data  int64 // of those, data
	empty int   // reads in a row without a byte

	results chan readResult
	closed  chan struct{}

	mu      sync.Mutex
	reading bool // the source is in a Read
	shut    bool
	once    sync.Once // closes the source
}

type readResult struct {
	n   int
	err error
}

// NewIdleReader returns a reader of source with the given limits. The context
// ends waiting reads; if nil, nothing but the limits does. An error, for a nil
// source or a negative limit, leaves source open.
func NewIdleReader(ctx context.Context, source io.ReadCloser, opts IdleOptions) (*IdleReader, error) {
	if source == nil {
		return nil, errors.New("httpguard: NewIdleReader: source is nil")
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if opts.FirstByte == 0 {
		opts.FirstByte = DefaultFirstByte
	}
	if opts.Idle == 0 {
		opts.Idle = DefaultIdle
	}
	return &IdleReader{
		ctx: ctx, source: source, opts: opts, left: opts.FirstByte,
		results: make(chan readResult, 1), closed: make(chan struct{}),
	}, nil
}

// Read implements [io.Reader]. Besides [io.EOF] it returns a [*StalledError], a
// [*TruncatedError], the context's error, a timeout of the source as it is, or
// [os.ErrClosed] after Close.
func (r *IdleReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill(len(p))
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close closes the source and ends a waiting Read. It does not wait for a source
// that is in the middle of a Read.
func (r *IdleReader) Close() error {
	r.mu.Lock()
	if !r.shut {
		r.shut = true
		close(r.closed)
	}
	busy := r.reading
	r.mu.Unlock()
	if busy {
		go r.closeSource()
		return nil
	}
	return r.closeSource()
}

func (r *IdleReader) closeSource() (err error) {
	r.once.Do(func() { err = r.source.Close() })
	return err
}

// fill waits for one read of the source and sets rest or err.
func (r *IdleReader) fill(want int) {
	if !r.start() {
		r.err = os.ErrClosed
		return
	}
	if size := min(max(want, readMinimum), idleBuffer); len(r.buf) < size {
		r.buf = make([]byte, size)
	}
	began := time.Now()
	timer := time.NewTimer(r.left)
	defer timer.Stop()
	// The source reads into a buffer of ours, in a goroutine: a source that
	// ignores Close cannot hold the consumer, nor write into its memory later.
	go readInto(r.source, r.buf, r.results)
	for {
		select {
		case res := <-r.results:
			r.accept(res, r.silent(began))
		case <-timer.C:
			if rest := r.excused(began); rest > 0 {
				timer.Reset(rest)
				continue
			}
			r.lateOrStalled(r.silent(began))
		case <-r.ctx.Done():
			r.giveUp(r.ctx.Err())
		case <-r.closed:
			r.giveUp(os.ErrClosed)
		}
		return
	}
}

// glance is how long to wait at least before looking again whether somebody is
// still waited for.
const glance = time.Second

// excused is how long the source may go on being silent after all, because somebody
// was waited for meanwhile.
func (r *IdleReader) excused(began time.Time) time.Duration {
	rest := r.left - r.silent(began)
	if w, ok := r.ctx.Value(evidence.WaiterKey{}).(evidence.Waiter); ok {
		if _, still := w.Waited(began); still {
			return max(rest, glance)
		}
	}
	return rest
}

// silent is how long the source has been, not counting what was waited for.
func (r *IdleReader) silent(began time.Time) time.Duration {
	took := time.Since(began)
	if w, ok := r.ctx.Value(evidence.WaiterKey{}).(evidence.Waiter); ok {
		waited, _ := w.Waited(began)
		took -= waited
	}
	return took
}

// lateOrStalled takes what arrived at the very moment the limit passed.
func (r *IdleReader) lateOrStalled(waited time.Duration) {
	select {
	case res := <-r.results:
		r.accept(res, waited)
	default:
		r.giveUp(r.stalled())
	}
}

// start marks the source as being read, and reports false after Close.
func (r *IdleReader) start() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading = !r.shut
	return r.reading
}

// readInto always delivers a result, even if the source panics or exits its
// goroutine.
func readInto(source io.Reader, buf []byte, results chan<- readResult) {
	res := readResult{err: errors.New("httpguard: the source ended its goroutine in Read")}
	defer func() {
		if v := recover(); v != nil {
			res = readResult{err: fmt.Errorf("httpguard: the source panicked in Read: %v", v)}
		}
		results <- res
	}()
	n, err := source.Read(buf)
	res = readResult{min(max(n, 0), len(buf)), err}
}

// accept takes over what the source delivered after a wait.
func (r *IdleReader) accept(res readResult, waited time.Duration) {
	r.mu.Lock()
	r.reading = false
	r.mu.Unlock()
	r.rest = r.buf[:res.n]
	data := r.count(r.rest)
	r.bytes += int64(res.n)
	r.data += int64(data)
	if r.left -= waited; data > 0 {
		r.left = r.opts.Idle
	}
	if r.empty++; res.n > 0 {
		r.empty = 0
	}
	r.remember(r.rest)
	r.err = r.ending(res.err)
}

// count returns how many bytes of b are data.
func (r *IdleReader) count(b []byte) int {
	if r.opts.SSE {
		return r.lines.data(b)
	}
	return len(b)
}

// remember keeps the end of the stream for the terminator.
func (r *IdleReader) remember(b []byte) {
	if r.opts.Terminator == nil {
		return
	}
	r.tail = append(r.tail, b...)
	if over := len(r.tail) - tailLength; over > 0 {
		r.tail = append(r.tail[:0], r.tail[over:]...)
	}
}

// ending turns what the source said with its last bytes into what Read says.
func (r *IdleReader) ending(err error) error {
	switch {
	case err == nil && r.empty >= emptyReads:
		return io.ErrNoProgress
	case err == nil:
		return nil
	case err == io.EOF && (r.opts.Terminator == nil || r.opts.Terminator(r.tail)):
		return io.EOF
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case isTimeout(err):
		return err
	}
	return &TruncatedError{HandedOn: r.bytes, data: r.data, cause: err}
}

// giveUp ends the stream while the source is still in Read. Closing it may block
// as well, so nobody waits for that.
func (r *IdleReader) giveUp(err error) {
	r.err = err
	go r.closeSource()
}

func (r *IdleReader) stalled() error {
	limit := r.opts.Idle
	if r.data == 0 {
		limit = r.opts.FirstByte
	}
	return &StalledError{HandedOn: r.bytes, Limit: limit, data: r.data}
}
