-- toolguard's journal, version 1. Read the views toolguard_journal and
-- toolguard_audit; write nothing here. An index over text that may be longer than
-- an index can hold is one over its beginning.

-- What is known of each key.
CREATE TABLE toolguard_entries (
  seq            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key            text COLLATE "C" NOT NULL UNIQUE,
  token          bigint NOT NULL,
  state          text NOT NULL,
  group_key      text COLLATE "C" NOT NULL,
  generation     bigint NOT NULL,
  tool           text NOT NULL,
  source         text NOT NULL,
  tenant         text NOT NULL,
  principal      text NOT NULL,
  session        text COLLATE "C" NOT NULL,
  turn           text NOT NULL,
  run            text COLLATE "C" NOT NULL,
  step           text NOT NULL,
  model          text NOT NULL,
  prompt_version text NOT NULL,
  call_id        text NOT NULL,
  owner          text NOT NULL,
  linked         text NOT NULL,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL,
  due_ns         bigint NOT NULL,  -- somebody looks at it this long after updated_at
  due_at         timestamptz,      -- updated_at + due_ns; NULL for never
  settled_at     timestamptz,      -- updated_at, if it may be deleted when it is old
  digest         text COLLATE "C" NOT NULL, -- of what was asked for
  rest           jsonb NOT NULL,   -- what has no column
  args           text,
  result         text
);

CREATE INDEX toolguard_entries_group ON toolguard_entries (left(group_key, 120), generation);
CREATE INDEX toolguard_entries_run ON toolguard_entries (left(run, 120), digest) WHERE run <> '';
CREATE INDEX toolguard_entries_session ON toolguard_entries (left(session, 120), digest) WHERE session <> '';
CREATE INDEX toolguard_entries_open ON toolguard_entries (due_at) WHERE settled_at IS NULL;
CREATE INDEX toolguard_entries_settled ON toolguard_entries (settled_at) WHERE settled_at IS NOT NULL;

-- The audit: one row for each thing that happened, never changed.
CREATE TABLE toolguard_records (
  seq            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at             timestamptz NOT NULL,
  kind           text NOT NULL,
  key            text COLLATE "C" NOT NULL,
  token          bigint NOT NULL,
  from_state     text NOT NULL,
  to_state       text NOT NULL,
  actor          text NOT NULL,
  why            text NOT NULL,
  tool           text NOT NULL,
  source         text NOT NULL,
  tenant         text NOT NULL,
  principal      text NOT NULL,
  session        text NOT NULL,
  turn           text NOT NULL,
  run            text NOT NULL,
  step           text NOT NULL,
  model          text NOT NULL,
  prompt_version text NOT NULL,
  call_id        text NOT NULL,
  code           text NOT NULL,
  outcome        text NOT NULL,
  rest           jsonb NOT NULL,   -- what has no column
  args           text
);

CREATE INDEX toolguard_records_key ON toolguard_records (left(key, 120), seq) WHERE key <> '';

CREATE VIEW toolguard_journal AS
SELECT key, state, tool, tenant, principal, session, turn, run, step, call_id, args, result,
       rest ->> 'code' AS code, rest ->> 'effect' AS effect, rest ->> 'risk' AS risk,
       (rest ->> 'attempts')::bigint AS attempts, rest -> 'approval' AS approval, linked,
       created_at AS created, updated_at AS updated, due_at AS due,
       token, group_key, generation, source, model, prompt_version, owner, digest, rest
FROM toolguard_entries;

CREATE VIEW toolguard_audit AS
SELECT seq, at AS time, kind, from_state, to_state, actor, why, key, tool, tenant, principal, session, turn,
       run, step, call_id, args, outcome, code, (rest ->> 'attempt')::bigint AS attempt,
       (rest ->> 'duration_ns')::bigint / 1e6 AS duration_ms, rest ->> 'incident' AS incident,
       model, prompt_version, token, source, rest
FROM toolguard_records;
