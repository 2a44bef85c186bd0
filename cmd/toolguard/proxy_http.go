package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/toolguard-go/toolguard/adapters/mcpguard"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/config"
	"github.com/toolguard-go/toolguard/cmd/toolguard/internal/proxy"
)

// list is a flag that may be given again.
type list []string

// String implements [flag.Value].
func (l *list) String() string { return strings.Join(*l, ", ") }

// Set implements [flag.Value].
func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

// headers is a flag of HTTP headers.
type headers struct{ http.Header }

// String implements [flag.Value]. Values may be secret.
func (h *headers) String() string {
	var names []string
	for name := range h.Header {
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// Set implements [flag.Value].
func (h *headers) Set(s string) error {
	name, value, ok := strings.Cut(s, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return fmt.Errorf("want \"Name: value\"")
	}
	if h.Header == nil {
		h.Header = make(http.Header)
	}
	h.Add(name, strings.TrimSpace(os.ExpandEnv(value)))
	return nil
}

// check refuses flags that make no sense together.
func (f *proxyFlags) check(server []string) error {
	switch {
	case len(server) == 0 && f.url == "":
		return usagef("which server? want -- and its command, or -url")
	case len(server) > 0 && f.url != "":
		return usagef("-url and the command %q, want one of them", server[0])
	case f.maxMessage < 1<<10:
		return usagef("-max-message %d, want 1024 or more", f.maxMessage)
	case f.maxSessions < 1:
		return usagef("-max-sessions %d, want 1 or more", f.maxSessions)
	case f.idle <= 0:
		return usagef("-idle %v, want more than 0", f.idle)
	case !(f.successes >= 0 && f.successes <= 1):
		return usagef("-event-successes %v, want 0 to 1", f.successes)
	case f.successes != defaultSuccesses && f.events == "":
		return usagef("-event-successes is for -events")
	case f.headers.Header != nil && f.url == "":
		return usagef("-header is for a server at -url")
	case f.listen == "" && (f.tokenFile != "" || len(f.origins) > 0):
		return usagef("-token-file and -allow-origin are for -listen")
	}
	return nil
}

// upstream is the server at -url, nil without.
func (f *proxyFlags) upstream(cfg *config.Config) (*proxy.Upstream, error) {
	if f.url == "" {
		return nil, nil
	}
	if u, err := url.Parse(f.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("-url %q, want http:// or https:// and a host", f.url)
	}
	o, err := cfg.Policies.HTTPOptions("mcp")
	if err != nil {
		return nil, err
	}
	client, err := mcpguard.HTTPClient(o)
	if err != nil {
		return nil, err
	}
	return &proxy.Upstream{URL: f.url, Client: client, Header: f.headers.Header}, nil
}

// door is where clients come in over HTTP.
type door struct {
	net.Listener
	token string
}

// open opens the door at -listen; nil without.
func (f *proxyFlags) open() (*door, error) {
	if f.listen == "" {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, usagef("-listen %q, want host:port", f.listen)
	}
	token, err := f.token()
	if err != nil {
		return nil, usageError{err}
	}
	if ip := net.ParseIP(host); token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usagef("-listen %s can be reached from other machines: want -token-file", f.listen)
	}
	ln, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, err
	}
	return &door{ln, token}, nil
}

// close does nothing after serving, which closes it too.
func (d *door) close() {
	if d != nil {
		_ = d.Close()
	}
}

// serve serves streamable HTTP.
func (f *proxyFlags) serve(ctx context.Context, o *proxy.Options, d *door, c *console) error {
	fmt.Fprintf(c.err, "toolguard: serving at http://%s/mcp\n", d.Addr())
	w := &proxy.Web{
		Options: *o, Conversation: f.session, Token: d.token, Origins: f.origins, MaxSessions: f.maxSessions, Idle: f.idle,
	}
	return w.Serve(ctx, d)
}

// token reads -token-file.
func (f *proxyFlags) token() (string, error) {
	if f.tokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < 16 {
		return "", fmt.Errorf("-token-file %s: a token of %d characters, want 16 or more", f.tokenFile, len(token))
	}
	return token, nil
}
