package main

import (
	"context"
	"io"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/postgres"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// store says where a journal is. Any number of processes may have it open: the
// agent, one that recovers, one in which people decide.
type store struct {
	File        string // of SQLite, or:
	DSN, Schema string // of PostgreSQL
}

// journal is one that has to be closed.
type journal interface {
	toolguard.Journal
	io.Closer
}

func (s store) open() (journal, error) {
	if s.DSN == "" {
		return sqlite.Open(s.File, nil)
	}
	return postgres.Open(context.Background(), s.DSN, &postgres.Options{Schema: s.Schema, Connections: 4})
}

// mostSteps bounds what one conversation of this example leaves in the journal.
const mostSteps = 100

// ofConversation asks for what is in the journal of a conversation.
func ofConversation(session string, states ...toolguard.State) toolguard.Query {
	return toolguard.Query{Tenant: tenant, Session: session, States: states, Limit: mostSteps}
}
