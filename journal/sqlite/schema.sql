-- toolguard's journal, version 1. Instants are nanoseconds since 1970, in UTC.
-- Read the views toolguard_journal and toolguard_audit; write nothing here.

-- What is known of each key.
CREATE TABLE toolguard_entries (
  seq            INTEGER PRIMARY KEY,
  key            TEXT NOT NULL UNIQUE,
  token          INTEGER NOT NULL,
  state          TEXT NOT NULL,
  group_key      TEXT NOT NULL,
  generation     INTEGER NOT NULL,
  tool           TEXT NOT NULL,
  source         TEXT NOT NULL,
  tenant         TEXT NOT NULL,
  principal      TEXT NOT NULL,
  session        TEXT NOT NULL,
  turn           TEXT NOT NULL,
  run            TEXT NOT NULL,
  step           TEXT NOT NULL,
  model          TEXT NOT NULL,
  prompt_version TEXT NOT NULL,
  owner          TEXT NOT NULL,
  linked         TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  due_ns         INTEGER NOT NULL, -- somebody looks at it this long after updated_at
  due_at         INTEGER,          -- updated_at + due_ns, NULL for never
  digest         TEXT NOT NULL,    -- of what was asked for
  rest           TEXT NOT NULL,    -- JSON: what has no column
  args           TEXT,
  result         TEXT
) STRICT;

CREATE INDEX toolguard_entries_group ON toolguard_entries (group_key, generation);
CREATE INDEX toolguard_entries_run ON toolguard_entries (run, digest) WHERE run <> '';
CREATE INDEX toolguard_entries_session ON toolguard_entries (session, digest) WHERE session <> '';
CREATE INDEX toolguard_entries_open ON toolguard_entries (due_at)
  WHERE state NOT IN ('succeeded', 'failed', 'denied', 'expired', 'aborted');

-- The audit: one row for each thing that happened, never changed.
CREATE TABLE toolguard_records (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  at             INTEGER NOT NULL,
  kind           TEXT NOT NULL,
  key            TEXT NOT NULL,
  token          INTEGER NOT NULL,
  from_state     TEXT NOT NULL,
  to_state       TEXT NOT NULL,
  actor          TEXT NOT NULL,
  why            TEXT NOT NULL,
  tool           TEXT NOT NULL,
  source         TEXT NOT NULL,
  tenant         TEXT NOT NULL,
  principal      TEXT NOT NULL,
  session        TEXT NOT NULL,
  turn           TEXT NOT NULL,
  run            TEXT NOT NULL,
  step           TEXT NOT NULL,
  model          TEXT NOT NULL,
  prompt_version TEXT NOT NULL,
  code           TEXT NOT NULL,
  outcome        TEXT NOT NULL,
  rest           TEXT NOT NULL,    -- JSON: what has no column
  args           TEXT
) STRICT;

CREATE INDEX toolguard_records_key ON toolguard_records (key) WHERE key <> '';

CREATE VIEW toolguard_journal AS
SELECT key, state, tool, tenant, principal, session, turn, run, step, args, result,
       rest ->> 'code' AS code, rest ->> 'effect' AS effect, rest ->> 'risk' AS risk,
       rest ->> 'attempts' AS attempts, rest ->> 'approval' AS approval, linked,
       strftime('%Y-%m-%d %H:%M:%f', created_at / 1e9, 'unixepoch') AS created,
       strftime('%Y-%m-%d %H:%M:%f', updated_at / 1e9, 'unixepoch') AS updated,
       strftime('%Y-%m-%d %H:%M:%f', due_at / 1e9, 'unixepoch') AS due,
       token, group_key, generation, source, model, prompt_version, owner, digest, rest
FROM toolguard_entries;

CREATE VIEW toolguard_audit AS
SELECT seq, strftime('%Y-%m-%d %H:%M:%f', at / 1e9, 'unixepoch') AS time,
       kind, from_state, to_state, actor, why, key, tool, tenant, principal, session, turn, run, step,
       args, outcome, code, rest ->> 'attempt' AS attempt, rest ->> 'duration_ns' / 1e6 AS duration_ms,
       rest ->> 'incident' AS incident, model, prompt_version, token, source, rest
FROM toolguard_records;
