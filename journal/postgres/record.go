package postgres

import (
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/toolguard-go/toolguard"
)

// recordColumns are those of toolguard_records that a writer says, in the order of
// recordRow.values.
var recordColumns = []column{
	{"kind", "text"}, {"key", "text"}, {"token", "bigint"}, {"from_state", "text"}, {"to_state", "text"},
	{"actor", "text"}, {"why", "text"}, {"tool", "text"}, {"source", "text"}, {"tenant", "text"}, {"principal", "text"},
	{"session", "text"}, {"turn", "text"}, {"run", "text"}, {"step", "text"}, {"model", "text"}, {"prompt_version", "text"},
	{"call_id", "text"}, {"code", "text"}, {"outcome", "text"}, {"rest", "jsonb"}, {"args", "text"},
}

// recordRow is a record as it is stored.
type recordRow struct {
	toolguard.Record // its strings are spelled
	seq, token       int64
	kind, from, to   string
	code, outcome    string
	rest             string
	args             *string
}

// values are pointers to the columns, to bind and to scan.
func (r *recordRow) values() []any {
	s := &r.Scope
	return []any{
		&r.kind, &r.Key, &r.token, &r.from, &r.to,
		&r.Actor, &r.Why, &r.Tool, &r.Source, &s.Tenant, &s.Principal,
		&s.Session, &s.Turn, &s.Run, &s.Step, &s.Model, &s.PromptVersion,
		&r.CallID, &r.code, &r.outcome, &r.rest, &r.args,
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
	CallID  absent `json:"call_id,omitzero"`
	Code    absent `json:"code,omitzero"`
	Outcome absent `json:"outcome,omitzero"`
	Args    absent `json:"args,omitzero"`
}

func recordRowOf(record toolguard.Record) (*recordRow, error) {
	r := &recordRow{
		Record: record, token: int64(record.Token), kind: record.Kind.String(), from: record.From.String(), to: record.To.String(),
		outcome: record.Outcome.String(), args: text(record.Args),
	}
	eachString(&r.Record, spell)
	r.code = string(r.Code)
	rest, err := json.Marshal(restOfRecord{Record: &r.Record})
	if err != nil {
		return nil, fmt.Errorf("record of %q: %w", record.Key, err)
	}
	r.rest = string(rest)
	return r, nil
}

// record is the row as it was read.
func (r *recordRow) record() (toolguard.Record, error) {
	record := r.Record
	err := json.Unmarshal([]byte(r.rest), &record)
	for _, part := range []struct {
		of   interface{ UnmarshalText([]byte) error }
		text string
	}{{&record.Kind, r.kind}, {&record.From, r.from}, {&record.To, r.to}, {&record.Outcome, r.outcome}} {
		if err == nil {
			err = part.of.UnmarshalText([]byte(part.text))
		}
	}
	if err != nil {
		return toolguard.Record{}, damaged{fmt.Errorf("record %d: %w", r.seq, err)}
	}
	record.Code = toolguard.Code(r.code)
	eachString(&record, unspell)
	record.Seq, record.Token, record.Args = uint64(r.seq), uint64(r.token), raw(r.args)
	record.At = r.At.UTC()
	return record, nil
}

func scanRecord(row pgx.CollectableRow) (toolguard.Record, error) {
	r := new(recordRow)
	if err := row.Scan(append([]any{&r.seq, &r.At}, r.values()...)...); err != nil {
		return toolguard.Record{}, err
	}
	return r.record()
}

// arrays are the values of records, column by column, as unnest takes them; NULL
// for no record.
func arrays(records []toolguard.Record) ([]any, error) {
	columns := make([]any, len(recordColumns))
	for i := range records {
		r, err := recordRowOf(records[i])
		if err != nil {
			return nil, err
		}
		for c, value := range r.values() {
			switch v := value.(type) {
			case *int64:
				numbers, _ := columns[c].([]int64)
				columns[c] = append(numbers, *v)
			case *string:
				texts, _ := columns[c].([]*string)
				columns[c] = append(texts, v)
			case **string:
				texts, _ := columns[c].([]*string)
				columns[c] = append(texts, *v)
			}
		}
	}
	return columns, nil
}
