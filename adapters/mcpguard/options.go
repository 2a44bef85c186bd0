package mcpguard

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolguard-go/toolguard"
)

// Options say how the tools of one server are guarded. Nil and the zero value
// are the documented defaults; [New] copies the struct.
type Options struct {
	// Options hold for every tool. If Sessions is nil, the guards bring their own.
	// Schemas are enforced leniently, whatever Arguments.Schema says, and errors
	// that a client has to answer to pass through beside those of PassThrough.
	toolguard.Options
	// For returns the policies of one tool; what it leaves zero is taken from
	// Options. The method For of a policies.Set fits.
	For func(toolguard.Info) toolguard.Options
	// Source names the server, as part of the identity of its tools.
	Source string
	// Effect of tools whose hints say nothing, or are not trusted. Hints that say
	// worse of a tool are believed. If zero, it is unknown: not repeatable.
	Effect toolguard.Effect
	// TrustHints lets the server's annotations make a tool repeatable. They may
	// then allow retries, joining and reuse, and never a permission.
	TrustHints bool
	// Info has the last word on what a tool is. It is given what was read from the
	// list and must keep the name. If nil, that stays.
	Info func(tool *mcp.Tool, info toolguard.Info) toolguard.Info
	// DoubtErrors takes no tool's word that it failed: a result with IsError then
	// leaves the outcome unknown, unless the tool is read-only.
	DoubtErrors bool
	// MaxWaiting is how long a call may wait, over all its attempts, for what the
	// server asks of the client meanwhile, such as a person's answer, without that
	// counting against its timeout. See [Guards.Questions]. If zero, 10 min.
	MaxWaiting time.Duration
	// Logger hears of tools that could only be guarded in part. If nil, nobody does.
	Logger *slog.Logger
}

// DefaultMaxWaiting is that of Options.MaxWaiting.
const DefaultMaxWaiting = 10 * time.Minute

// check fills in defaults, and says what makes no sense.
func (o *Options) check() error {
	o.MaxWaiting = cmp.Or(o.MaxWaiting, DefaultMaxWaiting)
	var errs []error
	if _, err := toolguard.NewWaiting(o.MaxWaiting); err != nil {
		errs = append(errs, fmt.Errorf("mcpguard: Options.MaxWaiting: %w", err))
	}
	if o.Effect > toolguard.NonIdempotent {
		errs = append(errs, fmt.Errorf("mcpguard: Options.Effect %v, want one of the effects", o.Effect))
	}
	if o.Effect == toolguard.IdempotentByKey {
		errs = append(errs, errors.New("mcpguard: Options.Effect idempotent_by_key: MCP hands no key on; say so of single tools with Options.Info"))
	}
	return errors.Join(errs...)
}
