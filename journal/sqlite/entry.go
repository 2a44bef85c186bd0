package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/toolguard-go/toolguard"
)

// columns of toolguard_entries, in the order of row.values.
var columns = []string{
	"key", "token", "state", "group_key", "generation", "tool", "source",
	"tenant", "principal", "session", "turn", "run", "step", "model", "prompt_version",
	"owner", "linked", "created_at", "updated_at", "due_ns", "due_at", "digest", "rest", "args", "result",
}

// row is an entry as it is stored: text where a person or a query looks for it,
// exact bytes where they matter, and JSON for everything else.
type row struct {
	seq                   int64
	key, state, group     string
	token                 int64 // of a uint64, bit by bit
	generation            int64
	tool, source          string
	scope                 toolguard.Scope
	owner, linked         string
	created, updated, due int64
	dueAt                 sql.NullInt64
	digest, rest          string
	args, result          sql.NullString
}

// values are pointers to the columns, to bind and to scan.
func (r *row) values() []any {
	return []any{
		&r.key, &r.token, &r.state, &r.group, &r.generation, &r.tool, &r.source,
		&r.scope.Tenant, &r.scope.Principal, &r.scope.Session, &r.scope.Turn, &r.scope.Run, &r.scope.Step, &r.scope.Model, &r.scope.PromptVersion,
		&r.owner, &r.linked, &r.created, &r.updated, &r.due, &r.dueAt, &r.digest, &r.rest, &r.args, &r.result,
	}
}

// absent takes a member out of the JSON of the struct that embeds another: it has
// a column of its own.
type absent struct{}

// restOfEntry is what of an entry has no column, what is added to it later included.
type restOfEntry struct {
	*toolguard.Entry
	Key        absent `json:"key,omitzero"`
	Token      absent `json:"token,omitzero"`
	State      absent `json:"state,omitzero"`
	Group      absent `json:"group,omitzero"`
	Generation absent `json:"generation,omitzero"`
	Tool       absent `json:"tool,omitzero"`
	Source     absent `json:"source,omitzero"`
	Scope      absent `json:"scope,omitzero"`
	Owner      absent `json:"owner,omitzero"`
	Linked     absent `json:"linked,omitzero"`
	Digest     absent `json:"digest,omitzero"`
	Args       absent `json:"args,omitzero"`
	Result     absent `json:"result,omitzero"`
	Due        absent `json:"due_ns,omitzero"`
	Created    absent `json:"created,omitzero"`
	Updated    absent `json:"updated,omitzero"`
}

// rowOf copies the entry: who waits for the write may leave, and change it.
func rowOf(e *toolguard.Entry) (*row, error) {
	rest, err := json.Marshal(restOfEntry{Entry: e})
	if err != nil {
		return nil, fmt.Errorf("toolguard/sqlite: entry %q: %w", e.Key, err)
	}
	return &row{
		key: strings.Clone(e.Key), token: int64(e.Token), state: e.State.String(), group: e.Group, generation: int64(e.Generation),
		tool: e.Tool, source: e.Source, scope: e.Scope, owner: e.Owner, linked: e.Linked,
		due: int64(e.Due), digest: e.Digest.String(), rest: string(rest), args: text(e.Args), result: text(e.Result),
	}, nil
}

func text(b []byte) sql.NullString { return sql.NullString{String: string(b), Valid: b != nil} }

func raw(s sql.NullString) json.RawMessage {
	if !s.Valid {
		return nil
	}
	return json.RawMessage(s.String)
}

// stamp says when the row was written, and when it is due.
func (r *row) stamp(created, updated int64, due time.Duration) {
	r.created, r.updated, r.due = created, updated, int64(due)
	r.dueAt = sql.NullInt64{Int64: updated + int64(due), Valid: due > 0}
	if r.dueAt.Valid && r.dueAt.Int64 < updated { // beyond what can be counted
		r.dueAt.Int64 = math.MaxInt64
	}
}

// entry is the row as it was read at an instant.
func (r *row) entry(at int64) (toolguard.Entry, error) {
	var e toolguard.Entry
	if err := json.Unmarshal([]byte(r.rest), &e); err != nil {
		return e, fmt.Errorf("toolguard/sqlite: entry %q is damaged: %w", r.key, err)
	}
	if err := e.State.UnmarshalText([]byte(r.state)); err != nil {
		return e, fmt.Errorf("toolguard/sqlite: entry %q is damaged: %w", r.key, err)
	}
	if err := e.Digest.UnmarshalText([]byte(r.digest)); err != nil {
		return e, fmt.Errorf("toolguard/sqlite: entry %q is damaged: %w", r.key, err)
	}
	e.Key, e.Token, e.Group, e.Generation = r.key, uint64(r.token), r.group, int(r.generation)
	e.Tool, e.Source, e.Scope, e.Owner, e.Linked = r.tool, r.source, r.scope, r.owner, r.linked
	e.Args, e.Result, e.Due = raw(r.args), raw(r.result), time.Duration(r.due)
	e.Created, e.Updated, e.Read = instant(r.created), instant(r.updated), instant(at)
	return e, nil
}

func entries(rows []*row, at int64) ([]toolguard.Entry, error) {
	var all []toolguard.Entry
	for _, r := range rows {
		e, err := r.entry(at)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// settled is what of a row changes while its action goes on. Written alone, it
// leaves the indexes of everything else untouched.
func (r *row) settled() []any {
	return []any{r.token, r.state, r.owner, r.linked, r.updated, r.due, r.dueAt, r.rest, r.result, r.seq}
}

// sameAction reports whether the rows differ only in what settled returns.
func (r *row) sameAction(o *row) bool {
	return r.group == o.group && r.generation == o.generation && r.tool == o.tool && r.source == o.source &&
		r.scope == o.scope && r.digest == o.digest && r.args == o.args
}

// isOpen is the condition of toolguard_entries_open: SQLite uses the index where it
// finds these very words.
const isOpen = "state NOT IN ('succeeded', 'failed', 'denied', 'expired', 'aborted')"

var (
	selectEntries = "SELECT seq, " + strings.Join(columns, ", ") + " FROM toolguard_entries "
	selectByKey   = selectEntries + "WHERE key = ?"
	insertEntry   = "INSERT INTO toolguard_entries (" + strings.Join(columns, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(columns)-1) + ") ON CONFLICT (key) DO NOTHING"
	updateEntry = "UPDATE toolguard_entries SET " + strings.Join(columns, " = ?, ") + " = ? WHERE seq = ?"
	settleEntry = "UPDATE toolguard_entries SET token = ?, state = ?, owner = ?, linked = ?, updated_at = ?, due_ns = ?, due_at = ?, rest = ?, result = ? WHERE seq = ?"
)

// read scans all rows, and closes them.
func read(rows *sql.Rows, err error) ([]*row, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*row
	for rows.Next() {
		r := new(row)
		if err := rows.Scan(append([]any{&r.seq}, r.values()...)...); err != nil {
			return nil, fmt.Errorf("an entry is damaged: %w", err)
		}
		all = append(all, r)
	}
	return all, rows.Err()
}
