package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The processes of the tests are this test binary.
func TestMain(m *testing.M) {
	if ok, err := raced(os.Args[1:]); ok {
		exit(err)
	}
	if ok, err := played(os.Args[1:]); ok {
		exit(err)
	}
	os.Exit(m.Run())
}

// newPlayer returns one whose agents keep their journals where stores says.
func newPlayer(t *testing.T, stores func(order string) store) *player {
	t.Helper()
	url, closeBank, err := openBank(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, closeBank()) })
	return &player{bank: url, journal: stores}
}

func inSQLite(t *testing.T) func(order string) store {
	folder := t.TempDir()
	return func(order string) store { return store{File: filepath.Join(folder, order+".db")} }
}

const (
	serverVariable = "TOOLGUARD_TEST_POSTGRES"
	mustVariable   = "TOOLGUARD_TEST_MUST_RUN"
)

// inPostgres gives each order a schema of its own.
func inPostgres(t *testing.T) func(order string) store {
	t.Helper()
	dsn := os.Getenv(serverVariable)
	if dsn == "" {
		why := serverVariable + " is not set: want the DSN of a PostgreSQL server; .ci/postgres start DIR starts one and prints it"
		if os.Getenv(mustVariable) != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	prefix := "refund_" + strings.ToLower(rand.Text()[:10])
	var made atomic.Int64
	t.Cleanup(func() { dropSchemas(t, dsn, prefix, int(made.Load())) })
	return func(string) store {
		return store{DSN: dsn, Schema: fmt.Sprintf("%s_%d", prefix, made.Add(1))}
	}
}

func dropSchemas(t *testing.T, dsn, prefix string, n int) {
	ctx := context.Background() // the test's own is over
	c, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer c.Close(ctx)
	for i := range n {
		_, err := c.Exec(ctx, fmt.Sprintf(`DROP SCHEMA IF EXISTS "%s_%d" CASCADE`, prefix, i+1))
		require.NoError(t, err)
	}
}
