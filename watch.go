package toolguard

import "time"

// watch lets a call wait for one piece of foreign code at a time, with one
// channel and one timer however often. The zero value is ready.
type watch struct {
	signals chan signal
	timer   *time.Timer
}

// signal is what can end a wait.
type signal uint8

const (
	signalReturned signal = iota + 1 // the code came back
	signalTime                       // the time is up, or was up for an earlier wait
	signalGone                       // the caller stopped waiting
)

// arm must come before the code that will send signalReturned is started.
func (w *watch) arm() {
	if w.signals == nil {
		w.signals = make(chan signal, 2)
	}
}

// returned reports that the code came back. Each run reports at most once.
func (w *watch) returned() { w.signals <- signalReturned }

// ring never blocks: one ring that is waiting says as much as two.
func (w *watch) ring() {
	select {
	case w.signals <- signalTime:
	default:
	}
}

// wait returns what happened first. A negative limit means no limit, a nil gone
// a caller who waits for ever. A ring may be left over from an earlier wait, so
// the clock decides.
func (w *watch) wait(limit time.Duration, gone <-chan struct{}) signal {
	var until time.Time
	if limit >= 0 {
		until = time.Now().Add(limit)
		w.set(limit)
	}
	for {
		select {
		case s := <-w.signals:
			if s == signalReturned || limit >= 0 && !time.Now().Before(until) {
				return s
			}
		case <-gone:
			return signalGone
		}
	}
}

func (w *watch) set(limit time.Duration) {
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, w.ring)
		return
	}
	w.timer.Reset(limit)
}

// stop ends the timer. Nothing may be waited for afterwards.
func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
