package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// handshake is what the client has told the server of itself and its wishes. A
// server that is started again has to hear it too.
type handshake struct {
	mu         sync.Mutex
	initialize json.RawMessage // params
	ready      *message        // notifications/initialized
	level      json.RawMessage
	watched    map[string]json.RawMessage // subscriptions to resources, by their params
}

// heed takes note of a message from the client.
func (h *handshake) heed(m *message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch m.Method {
	case "initialize":
		h.initialize = m.Params
	case "notifications/initialized":
		h.ready = m
	case "logging/setLevel":
		h.level = m.Params
	case "resources/subscribe":
		if h.watched == nil {
			h.watched = make(map[string]json.RawMessage)
		}
		h.watched[string(m.Params)] = m.Params
	case "resources/unsubscribe":
		delete(h.watched, string(m.Params))
	}
}

// elicits reports whether the client can put a question to its user.
func (h *handshake) elicits() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	var p struct {
		Capabilities struct {
			Elicitation json.RawMessage `json:"elicitation"`
		} `json:"capabilities"`
	}
	return json.Unmarshal(h.initialize, &p) == nil && len(p.Capabilities.Elicitation) > 0 && string(p.Capabilities.Elicitation) != "null"
}

// step is a request of the handshake.
type step struct {
	method string
	params json.RawMessage
}

func (h *handshake) wishes() (steps []step) {
	if h.level != nil {
		steps = append(steps, step{"logging/setLevel", h.level})
	}
	for _, params := range h.watched {
		steps = append(steps, step{"resources/subscribe", params})
	}
	return steps
}

// repeat says it all again to a new server. One that has shaken no hands yet, or
// needs none, is ready at once.
func (h *handshake) repeat(ctx context.Context, s *server, l link) error {
	ctx, cancel := context.WithTimeout(ctx, handshaking)
	defer cancel()
	h.mu.Lock()
	initialize, ready, wishes := h.initialize, h.ready, h.wishes()
	h.mu.Unlock()
	if initialize == nil {
		return nil
	}
	answer, err := s.askBy(ctx, l, "initialize", initialize, "")
	if err != nil {
		return err
	}
	if e := answer.failed(); e != nil {
		return fmt.Errorf("it refuses to be initialized: %s", e.Message)
	}
	if ready == nil {
		return nil
	}
	if err := l.send(ctx, ready); err != nil {
		return err
	}
	for _, w := range wishes {
		if _, err := s.askBy(ctx, l, w.method, w.params, ""); err != nil {
			return err
		}
	}
	return nil
}
