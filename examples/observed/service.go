package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
	"github.com/toolguard-go/toolguard/observe/otelguard"
)

// service is what stands behind the tools: quick, and now and then not there.
type service struct {
	*httptest.Server
	bad atomic.Bool
}

func newService() *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// misbehave makes a third of the requests fail, each in a way of its own.
func (s *service) misbehave(on bool) { s.bad.Store(on) }

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	dice := rand.Float64()
	time.Sleep(time.Duration(rand.ExpFloat64() * float64(4*time.Millisecond)))
	switch {
	case s.bad.Load() && dice < .3:
		http.Error(w, "out of order", http.StatusServiceUnavailable)
	case s.bad.Load() && dice < .35:
		time.Sleep(700 * time.Millisecond)
	case dice < .02:
		w.Header().Set("Retry-After", "0")
		http.Error(w, "slowly", http.StatusTooManyRequests)
	case dice < .06:
		http.Error(w, "no such thing", http.StatusNotFound)
	default:
		w.Write([]byte(`{"status":"fine"}`))
	}
}

type question struct {
	ID string `json:"id"`
}

// tools are four operations of the service, with what may be done about them.
func (s *service) tools() ([]toolguard.Tool, error) {
	client, err := httpguard.NewClient(httpguard.Options{Propagate: otelguard.Propagate})
	if err != nil {
		return nil, err
	}
	tool := func(name, method string, effect toolguard.Effect) toolguard.Tool {
		info := toolguard.Info{Name: name, Description: "Part of the example: " + name + ".", Version: "1", Effect: effect, RepeatsNormal: true}
		return toolguard.Func(info, func(ctx context.Context, in question) (string, error) {
			return s.ask(ctx, client, method, name+"/"+in.ID)
		})
	}
	return []toolguard.Tool{
		tool("search_orders", http.MethodGet, toolguard.ReadOnly),
		tool("get_weather", http.MethodGet, toolguard.ReadOnly),
		tool("send_email", http.MethodPost, toolguard.Idempotent),
		tool("refund", http.MethodPost, toolguard.NonIdempotent),
	}, nil
}

func (s *service) ask(ctx context.Context, client *http.Client, method, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL+"/"+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if err := httpguard.CheckResponse(resp); err != nil {
		return "", err
	}
	body, err := httpguard.ReadAll(resp.Body, 1<<16)
	return string(body), err
}
