package proxy

import (
	"context"
	"encoding/json"

	"github.com/toolguard-go/toolguard"
)

// inProgress is a guarded call that is not answered.
type inProgress struct {
	stop    context.CancelFunc
	waiting *toolguard.Waiting
}

// stopped are the clocks that stand still for something the server has asked the
// client, such as what its user wants. Until that is answered the calls it may be
// about use up no time: the client has it, and the tool waits.
type stopped []func()

// maxQuestions bounds the questions that are kept track of.
const maxQuestions = 1024

// ask stops the clocks of the calls a question may be about: of the one it came
// with, where that can be told, else of all.
func (r *relay) ask(m *message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.asked) >= maxQuestions || r.asked[m.key()] != nil {
		return
	}
	var clocks stopped
	if c := r.calls[m.related]; c != nil {
		clocks = append(clocks, c.waiting.Begin())
	} else {
		for _, c := range r.calls {
			clocks = append(clocks, c.waiting.Begin())
		}
	}
	r.asked[m.key()] = clocks
}

// answered lets the clocks go on that a question has stopped: it was answered, or
// nobody wants to know any more.
func (r *relay) answered(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[key].goOn()
	delete(r.asked, key)
}

// unanswered forgets the questions of a server that is gone.
func (r *relay) unanswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, clocks := range r.asked {
		clocks.goOn()
	}
	clear(r.asked)
}

func (s stopped) goOn() {
	for _, end := range s {
		end()
	}
}

// cancelled is the key of the request that a notification of that name is about.
func cancelled(m *message) string {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &params) // no key is that of no request
	return string(params.RequestID)
}
