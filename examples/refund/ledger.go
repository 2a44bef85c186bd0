package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // the driver
)

// ledger is the bank's book: what is in it has happened.
type ledger struct{ db *sql.DB }

const ledgerSchema = `CREATE TABLE IF NOT EXISTS refunds (
	id        INTEGER PRIMARY KEY AUTOINCREMENT,
	order_id  TEXT NOT NULL,
	cents     INTEGER NOT NULL,
	reference TEXT NOT NULL,   -- how the client calls it
	key       TEXT UNIQUE      -- Idempotency-Key, where that is honoured
)`

func openLedger(path string) (*ledger, error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(ledgerSchema); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger %s: %w", path, err), db.Close())
	}
	return &ledger{db}, nil
}

// book adds a refund. Under a key that has been used it returns the refund that
// was made then.
func (l *ledger) book(ctx context.Context, o order, key string) (receipt, error) {
	unique := sql.NullString{String: key, Valid: key != ""}
	booked, err := l.db.ExecContext(ctx,
		"INSERT INTO refunds (order_id, cents, reference, key) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
		o.Order, o.Cents, o.Reference, unique)
	if err != nil {
		return receipt{}, err
	}
	if n, err := booked.RowsAffected(); err != nil || n == 0 {
		return l.first(ctx, "key = ?", key)
	}
	id, err := booked.LastInsertId()
	if err != nil {
		return receipt{}, err
	}
	return l.first(ctx, "id = ?", id)
}

func (l *ledger) first(ctx context.Context, where string, of any) (receipt, error) {
	made, err := l.list(ctx, where, of)
	if err == nil && len(made) == 0 {
		err = fmt.Errorf("ledger: no refund where %s", where)
	}
	if err != nil {
		return receipt{}, err
	}
	return made[0], nil
}

// list returns the refunds for which a condition with one argument holds.
func (l *ledger) list(ctx context.Context, where string, of any) ([]receipt, error) {
	rows, err := l.db.QueryContext(ctx, "SELECT id, order_id, cents FROM refunds WHERE "+where+" ORDER BY id", of)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	made := []receipt{}
	for rows.Next() {
		var id int64
		var r receipt
		if err := rows.Scan(&id, &r.Order, &r.Cents); err != nil {
			return nil, err
		}
		r.ID = fmt.Sprint("R-", id)
		made = append(made, r)
	}
	return made, rows.Err()
}
