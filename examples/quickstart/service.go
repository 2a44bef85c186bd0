package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

type order struct {
	ID    string `json:"id"`
	Item  string `json:"item"`
	Cents int    `json:"cents"`
}

type product struct {
	SKU   string `json:"sku"`
	Name  string `json:"name"`
	Cents int    `json:"cents"`
}

type parcel struct {
	OrderID string `json:"order_id"`
	Where   string `json:"where"`
}

type refund struct {
	ID      string `json:"id"`
	OrderID string `json:"order_id"`
	Cents   int    `json:"cents"`
}

// ledger is what the shop has really done.
type ledger struct {
	refunds []refund
	mails   []mailIn
}

// check says whether the conversation left the ledger as it should: one refund,
// although its answer was lost, and one mail, although it took two attempts.
func (l ledger) check() error {
	if len(l.refunds) != 1 || len(l.mails) != 1 {
		return fmt.Errorf("the ledger has %d refunds and %d mails, want one of each", len(l.refunds), len(l.mails))
	}
	return nil
}

// shop is a small shop behind HTTP. Its mail desk has a port of its own, on
// which nothing listens until it opens.
type shop struct {
	url, mailURL string
	mailAddr     string
	server       *http.Server
	closing      chan struct{}
	closeOnce    sync.Once

	mu        sync.Mutex
	faults    []fault // of the next requests
	meanwhile func(*shop)
	began     time.Time
	log       []string
	requests  int
	ledger    ledger
}

func openShop() (*shop, error) {
	api, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mail, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mail.Close()
	s := &shop{
		url: "http://" + api.Addr().String(), mailURL: "http://" + mail.Addr().String(),
		mailAddr: mail.Addr().String(), closing: make(chan struct{}),
	}
	s.server = &http.Server{Handler: s.routes()}
	go s.server.Serve(api)
	return s, nil
}

// openMailDesk begins to listen on the mail desk's port.
func (s *shop) openMailDesk() {
	mail, err := net.Listen("tcp", s.mailAddr)
	if err != nil {
		s.note("the mail desk cannot open: %v", err)
		return
	}
	s.note("the mail desk opens")
	go s.server.Serve(mail)
}

// close ends requests that hang, and then the service.
func (s *shop) close() {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.server.Close()
	})
}

// route is what the shop answers when nothing goes wrong.
type route func(r *http.Request) (status int, body any)

func (s *shop) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, do := range map[string]route{
		"GET /orders/{id}": func(r *http.Request) (int, any) {
			return 200, order{ID: r.PathValue("id"), Item: "desk lamp", Cents: 8000}
		},
		"GET /products": products,
		"GET /prices/{sku}": func(r *http.Request) (int, any) {
			return 200, product{SKU: r.PathValue("sku"), Name: "desk lamp", Cents: 8000}
		},
		"GET /parcels/{id}": func(r *http.Request) (int, any) {
			return 200, parcel{OrderID: r.PathValue("id"), Where: "in the van"}
		},
		"GET /reviews/{sku}":       func(*http.Request) (int, any) { return 200, []string{"bright"} },
		"GET /help":                func(*http.Request) (int, any) { return 200, "Returns are free for 30 days." },
		"GET /export":              func(*http.Request) (int, any) { return 200, "A-17" },
		"PUT /orders/{id}/address": func(*http.Request) (int, any) { return 200, map[string]bool{"ok": true} },
		"POST /refunds":            s.refund,
		"GET /refunds":             s.listRefunds,
		"POST /mails":              s.mail,
	} {
		mux.HandleFunc(pattern, s.serve(do))
	}
	return mux
}

func products(r *http.Request) (int, any) {
	all := []product{{"L-1", "desk lamp", 8000}, {"L-2", "floor lamp", 12000}, {"L-3", "lantern", 3000}}
	n, err := strconv.Atoi(r.FormValue("limit"))
	if err != nil || n < 1 || n > len(all) {
		n = len(all)
	}
	return 200, all[:n]
}

func (s *shop) refund(r *http.Request) (int, any) {
	var in refundIn
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return 400, err.Error()
	}
	s.mu.Lock()
	done := refund{ID: fmt.Sprintf("R-%d", len(s.ledger.refunds)+1), OrderID: in.OrderID, Cents: in.Cents}
	s.ledger.refunds = append(s.ledger.refunds, done)
	s.mu.Unlock()
	s.note("ledger: refund %s of %d cents for order %s", done.ID, done.Cents, done.OrderID)
	return 201, done
}

func (s *shop) listRefunds(r *http.Request) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []refund{}
	for _, one := range s.ledger.refunds {
		if one.OrderID == r.FormValue("order_id") {
			found = append(found, one)
		}
	}
	return 200, found
}

func (s *shop) mail(r *http.Request) (int, any) {
	var in mailIn
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return 400, err.Error()
	}
	s.mu.Lock()
	s.ledger.mails = append(s.ledger.mails, in)
	s.mu.Unlock()
	s.note("ledger: mail to %s", in.To)
	return 202, map[string]bool{"sent": true}
}

// serve answers with do, unless a fault is due.
func (s *shop) serve(do route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if f := s.nextFault(); f != nil {
			f(s, w, r, do)
			return
		}
		status, body := do(r)
		s.reply(w, r, status, body)
	}
}

func (s *shop) reply(w http.ResponseWriter, r *http.Request, status int, body any) {
	s.noteRequest(r, strconv.Itoa(status))
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// fault answers one request in place of the route, or after it.
type fault func(s *shop, w http.ResponseWriter, r *http.Request, do route)

// busy asks to come back in a second.
func busy(s *shop, w http.ResponseWriter, r *http.Request, _ route) {
	s.noteRequest(r, "503, Retry-After: 1")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(503)
}

// down cannot serve and does not say for how long.
func down(s *shop, w http.ResponseWriter, r *http.Request, _ route) { s.reply(w, r, 503, "down") }

// broken fails inside and shows more of it than it should.
func broken(s *shop, w http.ResponseWriter, r *http.Request, _ route) {
	s.reply(w, r, 500, "dial tcp db-7.internal:5432: no route to host\ngoroutine 12 [running]")
}

// hang does not answer.
func hang(s *shop, _ http.ResponseWriter, r *http.Request, _ route) {
	s.noteRequest(r, "no answer")
	select {
	case <-r.Context().Done():
	case <-s.closing:
	}
	panic(http.ErrAbortHandler)
}

// loseAnswer does what it was asked to do and loses the connection afterwards.
func loseAnswer(s *shop, _ http.ResponseWriter, r *http.Request, do route) {
	do(r)
	s.noteRequest(r, "done, but the connection broke before the answer")
	panic(http.ErrAbortHandler)
}

// garble answers with a page where JSON was promised.
func garble(s *shop, w http.ResponseWriter, r *http.Request, _ route) {
	s.noteRequest(r, "200, an HTML page")
	fmt.Fprint(w, "<html><body>Please enable cookies</body></html>")
}

// decline reports its failure inside a success.
func decline(s *shop, w http.ResponseWriter, r *http.Request, _ route) {
	s.reply(w, r, 200, map[string]any{"ok": false, "error": "the parcel has already left the warehouse"})
}

// prepare arranges the faults of a step and starts a fresh log.
func (s *shop) prepare(next step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.meanwhile, s.began = next.faults, next.meanwhile, time.Now()
	s.log, s.requests = nil, 0
}

// passTime is called while a guard waits between two attempts.
func (s *shop) passTime() {
	s.mu.Lock()
	meanwhile := s.meanwhile
	s.meanwhile = nil
	s.mu.Unlock()
	if meanwhile != nil {
		meanwhile(s)
	}
}

func (s *shop) nextFault() fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if len(s.faults) == 0 {
		return nil
	}
	f := s.faults[0]
	s.faults = s.faults[1:]
	return f
}

func (s *shop) noteRequest(r *http.Request, answer string) {
	s.note("%s %s -> %s", r.Method, r.URL.RequestURI(), answer)
}

// note writes a line into the log, with the time since the step began.
func (s *shop) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := strings.TrimSpace(fmt.Sprintf(format, args...))
	s.log = append(s.log, fmt.Sprintf("%5d ms  %s", time.Since(s.began).Milliseconds(), line))
}

func (s *shop) takeLog() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

func (s *shop) takeRequests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}
