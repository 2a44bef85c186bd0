package postgres_test

import (
	"context"
	"crypto/rand"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard/journal/postgres"
	"github.com/toolguard-go/toolguard/journal/postgres/internal/pgtest"
)

const (
	serverVariable = "TOOLGUARD_TEST_POSTGRES"
	mustVariable   = "TOOLGUARD_TEST_MUST_RUN"
)

// skip leaves a test out, except where all have to run.
func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(mustVariable) != "" {
		t.Fatalf("%s, and %s is set", why, mustVariable)
	}
	t.Skip(why)
}

// dsn is that of the server for tests.
func dsn(t testing.TB) string {
	t.Helper()
	name := os.Getenv(serverVariable)
	if name == "" {
		skip(t, serverVariable+" is not set: want the DSN of a PostgreSQL server, 15 or newer, in which the user may create schemas; .ci/postgres start DIR starts one and prints it")
	}
	return name
}

// private starts a server that the test may stop.
func private(t testing.TB, settings ...string) *pgtest.Server {
	t.Helper()
	dsn(t)
	if _, err := pgtest.Programs(); err != nil {
		skip(t, err.Error())
	}
	s, err := pgtest.Start(t.Context(), "", settings...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Remove()) })
	return s
}

// connect is a connection of the test's own.
func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.WithoutCancel(t.Context()), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func run(t testing.TB, dsn, statement string, args ...any) {
	t.Helper()
	_, err := connect(t, dsn).Exec(context.WithoutCancel(t.Context()), statement, args...)
	require.NoError(t, err, statement)
}

// newSchema is a schema that is gone when the test is over.
func newSchema(t testing.TB, dsn string) string {
	name := "Test " + rand.Text()
	t.Cleanup(func() {
		ctx := context.Background()
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return // the server is gone as well
		}
		defer c.Close(ctx)
		_, err = c.Exec(ctx, `DROP SCHEMA IF EXISTS "`+name+`" CASCADE`)
		require.NoError(t, err)
	})
	return name
}

func openIn(t testing.TB, dsn, schema string) *postgres.Journal {
	t.Helper()
	return openWith(t, dsn, postgres.Options{Schema: schema, Connections: 6})
}

func openWith(t testing.TB, dsn string, opts postgres.Options) *postgres.Journal {
	t.Helper()
	j, err := postgres.Open(t.Context(), dsn, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

func open(t testing.TB) *postgres.Journal { return openIn(t, dsn(t), newSchema(t, dsn(t))) }
