package policies

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/httpguard"
	"github.com/toolguard-go/toolguard/internal/policyjson"
)

// groups are the timeouts of the services an agent talks to.
type groups struct {
	LLM      streamGroup
	MCP      streamGroup
	Tool     toolGroup
	Identity identityGroup
}

// streamGroup limits the phases of an exchange, not the whole.
type streamGroup struct {
	Connect   time.Duration
	FirstByte time.Duration
	Idle      time.Duration
}

// toolGroup is the timeout of an attempt, by the tool's class.
type toolGroup struct {
	Attempt time.Duration
	Media   time.Duration
}

// identityGroup limits a whole exchange with a service that says who somebody is.
type identityGroup struct {
	Timeout    time.Duration
	Retries    *int // nil is 1
	RetryDelay time.Duration
}

// Nothing sensible waits longer, or tries more often.
const (
	maxGroupTimeout = 24 * time.Hour
	maxRetries      = 10
)

// What toolguard itself knows and need not be told.
const (
	mediaClass     = "media"
	attemptTimeout = 60 * time.Second
	mediaTimeout   = 300 * time.Second
)

func (g groups) withDefaults() groups {
	g.LLM = g.LLM.withDefaults(10*time.Second, 300*time.Second)
	g.MCP = g.MCP.withDefaults(5*time.Second, 30*time.Second)
	g.Tool.Attempt = cmp.Or(g.Tool.Attempt, attemptTimeout)
	g.Tool.Media = cmp.Or(g.Tool.Media, mediaTimeout)
	g.Identity.Timeout = cmp.Or(g.Identity.Timeout, 5*time.Second)
	g.Identity.Retries = cmp.Or(g.Identity.Retries, new(1))
	g.Identity.RetryDelay = cmp.Or(g.Identity.RetryDelay, time.Second)
	return g
}

func (g streamGroup) withDefaults(connect, idle time.Duration) streamGroup {
	g.Connect = cmp.Or(g.Connect, connect)
	g.Idle = cmp.Or(g.Idle, idle)
	g.FirstByte = cmp.Or(g.FirstByte, g.Idle)
	return g
}

// problems returns the values that are beyond all bounds.
func (g groups) problems() policyjson.Errors {
	var errs policyjson.Errors
	all := reflect.ValueOf(g)
	for i := range all.NumField() {
		group := all.Field(i)
		for j := range group.NumField() {
			d, ok := group.Field(j).Interface().(time.Duration)
			if ok && d > maxGroupTimeout {
				path := "/groups/" + policyjson.Name(all.Type().Field(i).Name) + "/" + policyjson.Name(group.Type().Field(j).Name)
				errs = append(errs, &policyjson.Error{Path: path, Problem: fmt.Sprintf("%v, want at most %v", d, maxGroupTimeout)})
			}
		}
	}
	if n := *g.Identity.Retries; n > maxRetries {
		errs = append(errs, &policyjson.Error{Path: "/groups/identity/retries", Problem: fmt.Sprintf("%d, want at most %d", n, maxRetries)})
	}
	return errs
}

// timeouts fills in what the group "tool" says where a timeout policy leaves it
// open. It does so by class, because Attempt would go before the classes, unless
// the document itself has put the tool into a class that has a timeout. The
// classes of p are the caller's own.
func (s *Set) timeouts(p toolguard.TimeoutPolicy, info toolguard.Info) toolguard.TimeoutPolicy {
	if p.Off || p.Attempt != 0 {
		return p
	}
	group, given := s.doc.Groups.Tool, s.doc.Tools[info.Name].Class
	fill := func(class string, d time.Duration) {
		if p.Classes == nil {
			p.Classes = map[string]time.Duration{}
		}
		p.Classes[class] = cmp.Or(p.Classes[class], d)
	}
	if group.Attempt != attemptTimeout {
		fill("", group.Attempt)
	}
	if group.Media != mediaTimeout || given == mediaClass {
		fill(mediaClass, group.Media)
	}
	if _, bundle := s.doc.Classes[info.Class]; bundle && info.Class != mediaClass {
		fill(info.Class, group.Attempt) // a class the guard would not know otherwise
	}
	if given != "" {
		p.Attempt = p.Classes[given]
	}
	return p
}

// Identity returns options for a guard around calls to an identity service: the
// group's timeout for each attempt, its retries, and a budget that has room for
// them. The retries are the guard's, which knows when a call may be repeated;
// the client of the group has none. All else is as in [Set.Options] of a tool
// the document does not name.
func (s *Set) Identity() toolguard.Options {
	o, g := s.Options(""), s.doc.Groups.Identity
	retries := *g.Retries
	o.Timeout = toolguard.TimeoutPolicy{
		Attempt: g.Timeout,
		Budget:  g.Timeout + time.Duration(retries)*(g.Timeout+g.RetryDelay),
	}
	o.Retry = toolguard.RetryPolicy{Off: true}
	if retries > 0 {
		o.Retry = toolguard.RetryPolicy{
			MaxAttempts: 1 + retries, BaseDelay: g.RetryDelay, RateLimitDelay: g.RetryDelay, MaxDelay: g.RetryDelay,
		}
	}
	return o
}

// HTTPOptions returns the options [Set.HTTPClient] makes the client of a group
// with, for a host that has more to say, such as httpguard.Options.IdempotencyHosts.
func (s *Set) HTTPOptions(group string) (httpguard.Options, error) {
	g := s.doc.Groups
	switch group {
	case "llm":
		return g.LLM.options(), nil
	case "mcp":
		return g.MCP.options(), nil
	case "tool":
		// The guard ends the attempt sooner if the tool is not of class media.
		longest := max(g.Tool.Attempt, g.Tool.Media)
		return httpguard.Options{HeaderTimeout: longest, IdleTimeout: longest}, nil
	case "identity":
		d := g.Identity.Timeout
		return httpguard.Options{ConnectTimeout: d, HeaderTimeout: d, IdleTimeout: d}, nil
	}
	return httpguard.Options{}, fmt.Errorf("policies: unknown group %q%s", group,
		policyjson.Suggestion(group, []string{"llm", "mcp", "tool", "identity"}))
}

func (g streamGroup) options() httpguard.Options {
	return httpguard.Options{ConnectTimeout: g.Connect, HeaderTimeout: g.FirstByte, IdleTimeout: g.Idle}
}

// HTTPClient returns a client with the limits of a group: "llm", "mcp", "tool"
// or "identity". It has connections of its own, so make one and keep it. The
// limits are on phases, and the whole is limited by the context of a request;
// only the client of "identity" limits the whole as well. No client repeats a
// request that may have been sent: the guard does that, if it is safe.
//
// Idle is the silence of any answer, standing event streams included: comments
// and blank lines do not count as a sign of life.
func (s *Set) HTTPClient(group string) (*http.Client, error) {
	o, err := s.HTTPOptions(group)
	if err != nil {
		return nil, err
	}
	client, err := httpguard.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("policies: group %q: %w", group, err)
	}
	if group == "identity" {
		client.Timeout = s.doc.Groups.Identity.Timeout
	}
	return client, nil
}
