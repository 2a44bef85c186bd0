package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolguard-go/toolguard"
)

// shop is the service behind the tools. It lives in memory.
type shop struct {
	mu       sync.Mutex
	orders   map[string]order
	products []string
	refunds  []refund
	searches int
}

type order struct {
	ID     string `json:"id"`
	Item   string `json:"item"`
	Cents  int    `json:"cents"`
	Status string `json:"status"`
}

type refund struct {
	ID      string `json:"id"`
	OrderID string `json:"order_id"`
	Cents   int    `json:"cents"`
}

func newShop() *shop {
	return &shop{
		orders:   map[string]order{"A-17": {ID: "A-17", Item: "toaster", Cents: 8000, Status: "returned"}},
		products: []string{"red kettle", "blue kettle (3 left)", "blue mug"},
	}
}

// newToolbox guards the shop's functions. What a tool has to say beyond its
// function is its effect.
func newToolbox(s *shop) (*toolguard.Toolbox, error) {
	return toolguard.NewToolbox(
		&toolguard.ToolboxOptions{Options: toolguard.Options{
			Timeout: toolguard.TimeoutPolicy{Attempt: 2 * time.Second},
			Retry:   toolguard.RetryPolicy{BaseDelay: 20 * time.Millisecond}, // nobody likes to wait for a demonstration
		}},
		toolguard.Func(toolguard.Info{Name: "get_order", Description: "Looks up an order.", Effect: toolguard.ReadOnly}, s.getOrder),
		toolguard.Func(toolguard.Info{Name: "search_products", Description: "Searches what the shop sells.", Effect: toolguard.ReadOnly}, s.search),
		toolguard.Func(toolguard.Info{Name: "list_refunds", Description: "Lists the refunds of an order.", Effect: toolguard.ReadOnly}, s.listRefunds),
		toolguard.Func(toolguard.Info{
			Name: "refund_order", Description: "Refunds an order that was returned.",
			Effect: toolguard.NonIdempotent, VerifyWith: []string{"list_refunds"},
		}, s.refund),
	)
}

type orderIn struct {
	OrderID string `json:"order_id"`
}

func (s *shop) getOrder(_ context.Context, in orderIn) (order, error) {
	if o, ok := s.orders[in.OrderID]; ok {
		return o, nil
	}
	return order{}, toolguard.NotFound("There is no order %s.", in.OrderID)
}

type searchIn struct {
	Words string `json:"words"`
}

// search fails every other time.
func (s *shop) search(_ context.Context, in searchIn) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.searches++; s.searches%2 == 1 {
		return nil, toolguard.Unavailable("The index is being rebuilt.")
	}
	found := []string{}
	for _, p := range s.products {
		if strings.Contains(p, strings.ToLower(in.Words)) {
			found = append(found, p)
		}
	}
	return found, nil
}

type refundIn struct {
	OrderID string `json:"order_id"`
	Cents   int    `json:"cents"`
}

// refund does its work, and then its answer is lost.
func (s *shop) refund(_ context.Context, in refundIn) (refund, error) {
	o, ok := s.orders[in.OrderID]
	switch {
	case !ok:
		return refund{}, toolguard.NoEffect(toolguard.NotFound("There is no order %s.", in.OrderID))
	case in.Cents > o.Cents:
		return refund{}, toolguard.NoEffect(toolguard.Business("Order %s cost %d cents.", o.ID, o.Cents))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refunds = append(s.refunds, refund{fmt.Sprintf("R-%d", len(s.refunds)+1), in.OrderID, in.Cents})
	return refund{}, toolguard.MaybeDone(toolguard.Unavailable("The connection to the bank broke."))
}

func (s *shop) listRefunds(_ context.Context, in orderIn) ([]refund, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []refund{}
	for _, r := range s.refunds {
		if r.OrderID == in.OrderID {
			found = append(found, r)
		}
	}
	return found, nil
}
