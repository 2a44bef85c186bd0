package postgres_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/postgres"
)

// A call is two durable writes, the claim and the settlement, each an entry and a
// record of the audit. In turns and on the same pool run the same two statements
// straight through pgx, their parameters made before (x_bare), and those of
// somebody who has a table of keys and nothing else: no audit, no scope, no time,
// no index but the key's (x_keys). The ratios are those of the middle turns.
//
//	go test -run '^$' -bench Calls -benchtime 3000x ./journal/postgres
func BenchmarkCalls(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			pool := benchPool(b)
			schema := newSchema(b, dsn(b))
			j, err := postgres.New(b.Context(), pool, &postgres.Options{Schema: schema})
			require.NoError(b, err)
			ways := []func(keys []string) func(i int) error{
				func(keys []string) func(int) error {
					return func(i int) error { return storetest.ClaimAndSettle(b.Context(), j, keys[i]) }
				},
				func(keys []string) func(int) error { return bareCalls(b, j, pool, keys) },
				newKeysOnly(b, pool, schema).calls,
			}
			const turns = 15
			took := make([][]time.Duration, len(ways))
			made, n := 0, max(b.N/turns, writers)
			for turn := range turns + 1 { // the first is to warm up
				for w, way := range ways {
					keys := make([]string, n)
					for i := range keys {
						made++
						keys[i] = fmt.Sprintf("key-%024d", made)
					}
					f := way(keys)
					start := time.Now()
					inParallel(b, writers, n, f)
					if turn > 0 {
						took[w] = append(took[w], time.Since(start))
					}
				}
			}
			ours, bare, keysOnly := middle(took[0]), middle(took[1]), middle(took[2])
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(n)/ours.Seconds(), "calls/s")
			b.ReportMetric(float64(ours)/float64(bare), "x_bare")
			b.ReportMetric(float64(ours)/float64(keysOnly), "x_keys")
		})
	}
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func benchPool(b *testing.B) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig(dsn(b))
	require.NoError(b, err)
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	return pool
}

// inParallel runs f(0) to f(n-1), several at a time.
func inParallel(tb testing.TB, workers, n int, f func(i int) error) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := f(int(i - 1)); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// bareCalls are the journal's two statements without the journal.
func bareCalls(b *testing.B, j *postgres.Journal, pool *pgxpool.Pool, keys []string) func(i int) error {
	type statement struct {
		query string
		args  []any
	}
	var calls [][2]statement
	for _, key := range keys {
		claim, settled, claimed, done := storetest.Ordinary(key)
		query, args, err := postgres.Bare(j, toolguard.Version{}, claim, claimed)
		require.NoError(b, err)
		settle, settleArgs, err := postgres.Bare(j, claim.Version(), settled, done)
		require.NoError(b, err)
		calls = append(calls, [2]statement{{query, args}, {settle, settleArgs}})
	}
	return func(i int) error {
		var created, updated time.Time
		var fresh bool
		claim, settle := calls[i][0], calls[i][1]
		if err := pool.QueryRow(b.Context(), claim.query, claim.args...).Scan(&created, &fresh); err != nil || !fresh {
			return fmt.Errorf("claim: %t, %w", fresh, err)
		}
		return pool.QueryRow(b.Context(), settle.query, settle.args...).Scan(&created, &updated)
	}
}

// keysOnly is a table of keys, as in many a program.
type keysOnly struct {
	b             *testing.B
	pool          *pgxpool.Pool
	claim, settle string
	args, result  string
}

func newKeysOnly(b *testing.B, pool *pgxpool.Pool, schema string) *keysOnly {
	table := `"` + schema + `".keys`
	_, err := pool.Exec(b.Context(), "CREATE TABLE "+table+` (key text PRIMARY KEY, digest bytea, state text, token bigint, owner text, lease_until timestamptz, args jsonb, result jsonb)`)
	require.NoError(b, err)
	claimed, settled, _, _ := storetest.Ordinary("")
	return &keysOnly{
		b: b, pool: pool, args: string(claimed.Args), result: string(settled.Result),
		claim: "INSERT INTO " + table + ` AS t (key, digest, state, token, owner, lease_until, args) VALUES ($1, $2, 'pending', 1, $3, now() + interval '30 s', $4)
			ON CONFLICT (key) DO UPDATE SET key = EXCLUDED.key RETURNING digest, state, token, xmax = 0`,
		settle: "UPDATE " + table + " SET state = 'succeeded', result = $2, lease_until = NULL WHERE key = $1 AND token = $3 AND state = 'pending'",
	}
}

func (k *keysOnly) calls(keys []string) func(i int) error {
	return func(i int) error {
		var digest []byte
		var state string
		var token int64
		var fresh bool
		err := k.pool.QueryRow(k.b.Context(), k.claim, keys[i], make([]byte, 32), keys[i], k.args).Scan(&digest, &state, &token, &fresh)
		if err != nil || !fresh {
			return fmt.Errorf("claim: %t, %w", fresh, err)
		}
		tag, err := k.pool.Exec(k.b.Context(), k.settle, keys[i], k.result, token)
		if err == nil && tag.RowsAffected() != 1 {
			return fmt.Errorf("settle: %v", tag)
		}
		return err
	}
}
