package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
)

// backend is the client of the shop's API that a program has anyway: ordinary
// functions that return the errors they get. Only its http.Client comes from
// httpguard, so that a guard can tell which requests left the house.
type backend struct {
	http         *http.Client
	url, mailURL string
}

type orderIn struct {
	OrderID string `json:"order_id" jsonschema:"such as A-17"`
}

func (b *backend) getOrder(ctx context.Context, in orderIn) (order, error) {
	return fetch[order](ctx, b.http, "GET", b.url+"/orders/"+url.PathEscape(in.OrderID), nil)
}

type productsIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty"`
}

func (b *backend) listProducts(ctx context.Context, in productsIn) ([]product, error) {
	query := url.Values{"q": {in.Query}, "limit": {fmt.Sprint(in.Limit)}}
	return fetch[[]product](ctx, b.http, "GET", b.url+"/products?"+query.Encode(), nil)
}

type skuIn struct {
	SKU string `json:"sku"`
}

func (b *backend) getPrice(ctx context.Context, in skuIn) (product, error) {
	return fetch[product](ctx, b.http, "GET", b.url+"/prices/"+url.PathEscape(in.SKU), nil)
}

func (b *backend) getReviews(ctx context.Context, in skuIn) ([]string, error) {
	return fetch[[]string](ctx, b.http, "GET", b.url+"/reviews/"+url.PathEscape(in.SKU), nil)
}

func (b *backend) trackParcel(ctx context.Context, in orderIn) (parcel, error) {
	return fetch[parcel](ctx, b.http, "GET", b.url+"/parcels/"+url.PathEscape(in.OrderID), nil)
}

func (b *backend) searchHelp(ctx context.Context, input string) (string, error) {
	return fetch[string](ctx, b.http, "GET", b.url+"/help?q="+url.QueryEscape(input), nil)
}

// exportOrders has a bug that many tools have: it does not pass its context on.
func (b *backend) exportOrders(context.Context, struct{}) (string, error) {
	return fetch[string](context.Background(), b.http, "GET", b.url+"/export", nil)
}

type deliveryIn struct {
	Zone int `json:"zone"`
}

// estimateDelivery has a bug too: there are only three zones in its table.
func (b *backend) estimateDelivery(_ context.Context, in deliveryIn) (string, error) {
	days := []int{1, 2, 4}
	return fmt.Sprintf("%d days", days[in.Zone]), nil
}

type addressIn struct {
	OrderID string `json:"order_id"`
	Address string `json:"address"`
}

func (b *backend) changeAddress(ctx context.Context, in addressIn) (json.RawMessage, error) {
	return fetch[json.RawMessage](ctx, b.http, "PUT", b.url+"/orders/"+url.PathEscape(in.OrderID)+"/address", in)
}

type mailIn struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

func (b *backend) sendMail(ctx context.Context, in mailIn) error {
	_, err := fetch[json.RawMessage](ctx, b.http, "POST", b.mailURL+"/mails", in)
	return err
}

type refundIn struct {
	OrderID string `json:"order_id"`
	Cents   int    `json:"cents"`
}

func (b *backend) refund(ctx context.Context, in refundIn) (refund, error) {
	return fetch[refund](ctx, b.http, "POST", b.url+"/refunds", in)
}

func (b *backend) listRefunds(ctx context.Context, in orderIn) ([]refund, error) {
	return fetch[[]refund](ctx, b.http, "GET", b.url+"/refunds?order_id="+url.QueryEscape(in.OrderID), nil)
}

// fetch makes one request and decodes the answer.
func fetch[Out any](ctx context.Context, client *http.Client, method, url string, in any) (out Out, err error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return out, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return out, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if err := httpguard.CheckResponse(resp); err != nil {
		return out, err
	}
	text, err := httpguard.ReadAll(resp.Body, 1<<20)
	if err != nil {
		return out, err
	}
	err = json.Unmarshal(text, &out)
	return out, err
}

// newGuards wraps the functions. What a tool must say beyond its function is its
// effect, because that decides what may be repeated.
func newGuards(b *backend, base toolguard.Options) (map[string]*toolguard.Guard, error) {
	hurry(&base)
	guards := map[string]*toolguard.Guard{}
	for _, t := range []struct {
		tool toolguard.Tool
		tune func(*toolguard.Options)
	}{
		{toolguard.Func(reading("get_order"), b.getOrder), nil},
		{toolguard.Func(reading("list_products"), b.listProducts), nil},
		{toolguard.Func(reading("get_price"), b.getPrice), rememberLastGood},
		{toolguard.Func(reading("get_reviews"), b.getReviews), nil},
		{toolguard.Func(reading("track_parcel"), b.trackParcel), breakSooner},
		{toolguard.Text(reading("search_help"), b.searchHelp), waitLess},
		{toolguard.Func(reading("export_orders"), b.exportOrders), waitLess},
		{toolguard.Func(reading("estimate_delivery"), b.estimateDelivery), nil},
		{toolguard.Func(reading("list_refunds"), b.listRefunds), nil},
		{toolguard.Func(changing, b.changeAddress), mistrust},
		{toolguard.Action(mailing, b.sendMail), nil},
		{refundTool(b), nil},
	} {
		opts := base
		if t.tune != nil {
			t.tune(&opts)
		}
		g, err := toolguard.New(t.tool, &opts)
		if err != nil {
			return nil, err
		}
		guards[g.Info().Name] = g
	}
	return guards, nil
}

func reading(name string) toolguard.Info {
	return toolguard.Info{Name: name, Effect: toolguard.ReadOnly}
}

var (
	// changing the same address twice does no harm, and the one request is all
	// the tool does: what became of it is what became of the call.
	changing = toolguard.Info{Name: "change_address", Effect: toolguard.Idempotent, SingleRequest: true}
	// mailing twice is a nuisance. NonIdempotent is also what a tool counts as
	// that does not say.
	mailing = toolguard.Info{Name: "send_mail", Effect: toolguard.NonIdempotent}
)

// hurry shortens what is 60 s for an attempt and up to 200 ms for a first wait
// by default: too long for a demonstration.
func hurry(o *toolguard.Options) {
	o.Timeout = toolguard.TimeoutPolicy{Attempt: 2 * time.Second, Budget: 6 * time.Second, Grace: 100 * time.Millisecond}
	o.Retry = toolguard.RetryPolicy{BaseDelay: 50 * time.Millisecond}
}

func waitLess(o *toolguard.Options) {
	o.Timeout.Attempt, o.Retry.MaxAttempts = 300*time.Millisecond, 2
}

func breakSooner(o *toolguard.Options) { o.Breaker.Failures = 3 }

func rememberLastGood(o *toolguard.Options) { o.Fallback = &toolguard.Fallback{LastGood: time.Minute} }

func mistrust(o *toolguard.Options) { o.CheckResult = toolguard.Failed }

// maxRefund is what support may refund without a manager, in cents.
const maxRefund = 10_000

// refundTool is the one that must not run twice. Its gates see typed arguments;
// the sentences they return are read by the model.
func refundTool(b *backend) toolguard.Tool {
	t := toolguard.Func(toolguard.Info{
		Name:       "refund_order",
		Effect:     toolguard.NonIdempotent,
		VerifyWith: []string{"list_refunds"},
	}, b.refund)
	t.Authorize = func(ctx context.Context, _ refundIn) error {
		if toolguard.ScopeFrom(ctx).Principal != "support" {
			return toolguard.Permission("Only support staff may refund an order.")
		}
		return nil
	}
	t.Check = func(_ context.Context, in refundIn) error {
		if in.Cents > maxRefund {
			return toolguard.Business("A refund of more than %d cents needs a manager.", maxRefund)
		}
		return nil
	}
	return t
}
