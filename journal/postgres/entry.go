package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/toolguard-go/toolguard"
)

// entryColumns are those of toolguard_entries that a writer says, in the order of
// entryRow.values.
var entryColumns = []column{
	{"key", "text"}, {"token", "bigint"}, {"state", "text"}, {"group_key", "text"}, {"generation", "bigint"},
	{"tool", "text"}, {"source", "text"}, {"tenant", "text"}, {"principal", "text"}, {"session", "text"}, {"turn", "text"},
	{"run", "text"}, {"step", "text"}, {"model", "text"}, {"prompt_version", "text"}, {"call_id", "text"},
	{"owner", "text"}, {"linked", "text"}, {"due_ns", "bigint"}, {"digest", "text"}, {"rest", "jsonb"}, {"args", "text"}, {"result", "text"},
}

// entryRow is an entry as it is stored: text where a person or a query looks for
// it, exact text where every byte counts, and JSON for everything else.
type entryRow struct {
	toolguard.Entry        // its strings are spelled
	token, generation, due int64
	state, digest, rest    string
	args, result           *string
}

// values are pointers to the columns, to bind and to scan.
func (r *entryRow) values() []any {
	e, s := &r.Entry, &r.Scope
	return []any{
		&e.Key, &r.token, &r.state, &e.Group, &r.generation,
		&e.Tool, &e.Source, &s.Tenant, &s.Principal, &s.Session, &s.Turn,
		&s.Run, &s.Step, &s.Model, &s.PromptVersion, &e.CallID,
		&e.Owner, &e.Linked, &r.due, &r.digest, &r.rest, &r.args, &r.result,
	}
}

// bound are the values that pointers lead to.
func bound(pointers []any) []any {
	for i, p := range pointers {
		switch p := p.(type) {
		case *string:
			pointers[i] = *p
		case **string:
			pointers[i] = *p
		case *int64:
			pointers[i] = *p
		}
	}
	return pointers
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
	CallID     absent `json:"call_id,omitzero"`
	Owner      absent `json:"owner,omitzero"`
	Linked     absent `json:"linked,omitzero"`
	Digest     absent `json:"digest,omitzero"`
	Args       absent `json:"args,omitzero"`
	Result     absent `json:"result,omitzero"`
	Due        absent `json:"due_ns,omitzero"`
	Created    absent `json:"created,omitzero"`
	Updated    absent `json:"updated,omitzero"`
}

func rowOf(e toolguard.Entry) (*entryRow, error) {
	r := &entryRow{
		Entry: e, token: int64(e.Token), generation: int64(e.Generation), due: int64(e.Due),
		state: e.State.String(), digest: e.Digest.String(), args: text(e.Args), result: text(e.Result),
	}
	eachString(&r.Entry, spell)
	rest, err := json.Marshal(restOfEntry{Entry: &r.Entry})
	if err != nil {
		return nil, fmt.Errorf("entry %q: %w", e.Key, err)
	}
	r.rest = string(rest)
	return r, nil
}

// text is b as a column; NULL for nil.
func text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := spell(string(b))
	return &s
}

func raw(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(unspell(*s))
}

// entry is the row as it was read.
func (r *entryRow) entry() (toolguard.Entry, error) {
	e := r.Entry
	if err := json.Unmarshal([]byte(r.rest), &e); err != nil {
		return toolguard.Entry{}, certainly("entry %q: %w", e.Key, err)
	}
	if err := e.State.UnmarshalText([]byte(r.state)); err != nil {
		return toolguard.Entry{}, certainly("entry %q: %w", e.Key, err)
	}
	if err := e.Digest.UnmarshalText([]byte(r.digest)); err != nil {
		return toolguard.Entry{}, certainly("entry %q: %w", e.Key, err)
	}
	eachString(&e, unspell)
	e.Token, e.Generation, e.Due = uint64(r.token), int(r.generation), time.Duration(r.due)
	e.Args, e.Result = raw(r.args), raw(r.result)
	e.Created, e.Updated, e.Read = r.Created.UTC(), r.Updated.UTC(), r.Read.UTC()
	return e, nil
}

// stored are the columns of an entry that is read, as scanEntry takes them.
var stored = list(entryColumns, func(_ int, c column) string { return "e." + c.name }) + ", e.created_at, e.updated_at"

// scanEntry reads what stored says, followed by the instant of this reading and
// what else the statement returns.
func scanEntry(row pgx.CollectableRow, more ...any) (toolguard.Entry, error) {
	r := new(entryRow)
	to := append(r.values(), &r.Created, &r.Updated, &r.Read)
	if err := row.Scan(append(to, more...)...); err != nil {
		return toolguard.Entry{}, err
	}
	return r.entry()
}

func justEntry(row pgx.CollectableRow) (toolguard.Entry, error) { return scanEntry(row) }
