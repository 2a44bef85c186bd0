package toolguard

import "context"

// Scope says whose call this is. It travels in the context, and every field
// may be empty: an empty field turns off what depends on it.
type Scope struct {
	// Tenant separates breakers and stored answers of different customers.
	Tenant string `json:"tenant,omitempty"`
	// Principal is the person or service on whose behalf the agent acts.
	Principal string `json:"principal,omitempty"`
	// Session is one conversation.
	Session string `json:"session,omitempty"`
	// Turn is one message of the user inside a session.
	Turn string `json:"turn,omitempty"`
	// Run and Step are the host's durable identity of this piece of work.
	Run  string `json:"run,omitempty"`
	Step string `json:"step,omitempty"`
	// Model and PromptVersion are recorded with every event.
	Model         string `json:"model,omitempty"`
	PromptVersion string `json:"prompt_version,omitempty"`
}

type scopeKey struct{}

// WithScope returns a context that carries s in place of any scope before it.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, &s)
}

// ScopeFrom returns the scope ctx carries, or the zero Scope.
func ScopeFrom(ctx context.Context) Scope { return *scopeFrom(ctx) }

var noScope Scope

func scopeFrom(ctx context.Context) *Scope {
	if s, ok := ctx.Value(scopeKey{}).(*Scope); ok {
		return s
	}
	return &noScope
}

// withStep gives the scope ctx carries another step.
func withStep(ctx context.Context, step string) context.Context {
	s := *scopeFrom(ctx)
	s.Step = step
	return WithScope(ctx, s)
}
