package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard"
)

// lineColumns of toolguard_records, in the order of line.values.
var lineColumns = []string{
	"at", "kind", "key", "token", "from_state", "to_state", "actor", "why", "tool", "source",
	"tenant", "principal", "session", "turn", "run", "step", "model", "prompt_version",
	"code", "outcome", "rest", "args",
}

// line is a record as it is stored.
type line struct {
	seq, at              int64
	kind, key            string
	token                int64 // of a uint64, bit by bit
	from, to, actor, why string
	tool, source         string
	scope                toolguard.Scope
	code, outcome        string
	rest                 string
	args                 sql.NullString
}

// values are pointers to the columns, to bind and to scan.
func (l *line) values() []any {
	return []any{
		&l.at, &l.kind, &l.key, &l.token, &l.from, &l.to, &l.actor, &l.why, &l.tool, &l.source,
		&l.scope.Tenant, &l.scope.Principal, &l.scope.Session, &l.scope.Turn, &l.scope.Run, &l.scope.Step, &l.scope.Model, &l.scope.PromptVersion,
		&l.code, &l.outcome, &l.rest, &l.args,
	}
}

// restOfRecord is what of a record has no column, what is added to it later included.
type restOfRecord struct {
	*toolguard.Record
	Seq     absent `json:"seq,omitzero"`
	At      absent `json:"at,omitzero"`
	Kind    absent `json:"kind,omitzero"`
	Key     absent `json:"key,omitzero"`
	Token   absent `json:"token,omitzero"`
	From    absent `json:"from,omitzero"`
	To      absent `json:"to,omitzero"`
	Actor   absent `json:"actor,omitzero"`
	Why     absent `json:"why,omitzero"`
	Tool    absent `json:"tool,omitzero"`
	Source  absent `json:"source,omitzero"`
	Scope   absent `json:"scope,omitzero"`
	Code    absent `json:"code,omitzero"`
	Outcome absent `json:"outcome,omitzero"`
	Args    absent `json:"args,omitzero"`
}

// linesOf copies the records: who waits for the write may leave, and change them.
func linesOf(records []toolguard.Record) ([]*line, error) {
	lines := make([]*line, len(records))
	for i := range records {
		r := &records[i]
		rest, err := json.Marshal(restOfRecord{Record: r})
		if err != nil {
			return nil, fmt.Errorf("toolguard/sqlite: record of %q: %w", r.Key, err)
		}
		lines[i] = &line{
			kind: r.Kind.String(), key: r.Key, token: int64(r.Token), from: r.From.String(), to: r.To.String(),
			actor: r.Actor, why: r.Why, tool: r.Tool, source: r.Source, scope: r.Scope,
			code: string(r.Code), outcome: r.Outcome.String(), rest: string(rest), args: text(r.Args),
		}
	}
	return lines, nil
}

func (l *line) record() (toolguard.Record, error) {
	var r toolguard.Record
	err := json.Unmarshal([]byte(l.rest), &r)
	for _, part := range []struct {
		of   interface{ UnmarshalText([]byte) error }
		text string
	}{{&r.Kind, l.kind}, {&r.From, l.from}, {&r.To, l.to}, {&r.Outcome, l.outcome}} {
		if err == nil {
			err = part.of.UnmarshalText([]byte(part.text))
		}
	}
	if err != nil {
		return r, fmt.Errorf("toolguard/sqlite: record %d is damaged: %w", l.seq, err)
	}
	r.Seq, r.At = uint64(l.seq), instant(l.at)
	r.Key, r.Token, r.Actor, r.Why, r.Tool, r.Source = l.key, uint64(l.token), l.actor, l.why, l.tool, l.source
	r.Scope, r.Code, r.Args = l.scope, toolguard.Code(l.code), raw(l.args)
	return r, nil
}

var (
	insertRecord  = "INSERT INTO toolguard_records (" + strings.Join(lineColumns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(lineColumns)-1) + ")"
	selectRecords = "SELECT seq, " + strings.Join(lineColumns, ", ") + " FROM toolguard_records "
)
