package toolguard

import (
	"runtime"
	"sync/atomic"
)

// signal is sent once. Whoever has to wait for it makes the channel: mostly it is
// there already. The zero signal is ready.
type signal struct {
	sent   atomic.Bool
	waiter atomic.Pointer[chan struct{}]
}

func (s *signal) send() {
	s.sent.Store(true)
	if c := s.waiter.Load(); c != nil {
		close(*c)
	}
}

// soon steps aside for whoever is going to send it, and reports whether that has
// done.
func (s *signal) soon() bool {
	for range turns {
		if runtime.Gosched(); s.sent.Load() {
			return true
		}
	}
	return false
}

// turns is how often a goroutine steps aside for another before it waits for it.
const turns = 4

// wait returns what is closed once the signal is sent.
func (s *signal) wait() <-chan struct{} {
	made := make(chan struct{}) // not written any more once the sender may read it
	s.waiter.CompareAndSwap(nil, &made)
	if s.sent.Load() { // whoever sent it may not have seen the channel, or is about to close it
		sent := make(chan struct{})
		close(sent)
		return sent
	}
	return *s.waiter.Load()
}
