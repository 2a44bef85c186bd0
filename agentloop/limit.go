package agentloop

import "github.com/toolguard-go/toolguard"

// maxRefused is how many replies in a row may have had all their calls refused
// because of a limit or a loop: the first may have come unawares.
const maxRefused = 2

// exhausted says that a run in this state runs no more calls.
func (l *Loop) exhausted(s *State) bool {
	return s.Iteration >= l.most || s.refused() >= maxRefused
}

// refused counts the replies at the end that led to nothing but refusals.
func (s *State) refused() (n int) {
	for i := len(s.Messages) - 1; i >= 0 && s.Messages[i].refused(); i-- {
		n++
	}
	return n
}

func (m *Message) refused() bool {
	for i := range m.Calls {
		a := m.Calls[i].Answer
		if a == nil || a.Code != toolguard.CodeLimitReached && a.Code != toolguard.CodeLoopDetected {
			return false
		}
	}
	return len(m.Calls) > 0
}

// stop is why a run ends that has an answer: what held before the answer.
func (r *run) stop() Stop {
	before := r.state
	before.Iteration--
	before.Messages = before.Messages[:len(before.Messages)-1]
	if r.loop.exhausted(&before) {
		return StopLimit
	}
	return StopAnswered
}
