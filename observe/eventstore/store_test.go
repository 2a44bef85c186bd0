package eventstore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/observe/eventstore"
	"github.com/toolguard-go/toolguard/observe/eventstore/dial"
)

var noon = time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, name string) {
		s := open(t, name)
		r := recorder(t, s, eventstore.Options{Payloads: true})
		full := call(noon, "pay", toolguard.CodeAttemptTimeout, 1<<63+7)
		full.Within, full.Key, full.Incident, full.Err = 3, "key-1", "inc-1", errors.New("odd\x00 thing")
		full.Scope = toolguard.Scope{Run: "r1", Step: "2", Session: "s1", Model: "m"}
		full.Digest[0] = 7
		full.Wait, full.Requests, full.Bytes, full.Deadline = time.Second, 2, 99, noon.Add(time.Minute)
		full.Transitions = []toolguard.Transition{{From: toolguard.BreakerClosed, To: toolguard.BreakerOpen, At: noon}}
		full.Notes = []toolguard.Note{{Kind: "degraded"}}
		full.Arguments, full.Result = []byte(`{"a":1}`), "text"
		r.Observe(t.Context(), full)
		r.Observe(t.Context(), call(noon.Add(time.Second), "pay", "", 1<<63))
		require.NoError(t, r.Close(t.Context()))

		for _, any := range []string{"c" + "9223372036854775815", "key-1", "inc-1", "r1/2", full.Digest.String()} {
			found, err := s.Records(t.Context(), eventstore.Query{Any: any})
			require.NoError(t, err)
			require.Len(t, found, 1, any)
			got := found[0]
			assert.Equal(t, full.Ref, got.Ref)
			assert.Equal(t, full.Within, got.Within)
			assert.True(t, full.Time.Equal(got.Time))
			assert.Equal(t, full.Scope, got.Scope)
			assert.Equal(t, toolguard.CategoryTimeout, got.Category)
			assert.Equal(t, "odd  thing", got.Error)
			assert.Equal(t, full.Transitions[0].To, got.Transitions[0].To)
			assert.Equal(t, []string{"degraded"}, got.Notes)
			assert.Equal(t, `{"a":1}`, got.Arguments)
			assert.Equal(t, "text", got.Result)
		}
		for want, q := range map[int]eventstore.Query{
			0: {From: noon.Add(time.Nanosecond)}, 1: {Ref: full.Ref, To: noon.Add(1), Within: 3},
		} {
			found, err := s.Records(t.Context(), q)
			require.NoError(t, err)
			assert.Len(t, found, want)
		}
		counts, err := s.Rollups(t.Context(), noon, noon.Add(time.Minute))
		require.NoError(t, err)
		require.Len(t, counts, 2)
		assert.EqualValues(t, 2, counts[0].Calls+counts[1].Calls)
	})
}

// Counts of several writers of one minute add up, however often they are written.
func TestCountsAddUp(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, name string) {
		var wg sync.WaitGroup
		for range 4 {
			s := open(t, name)
			wg.Go(func() {
				for range 3 {
					r := recorder(t, s, eventstore.Options{NoSuccesses: true})
					for i := range 50 {
						e := call(noon, "read", "", 0)
						e.Attempts, e.Duration = 2, time.Duration(i+1)*time.Millisecond
						r.Observe(t.Context(), e)
						r.Observe(t.Context(), call(noon, "read", toolguard.CodeServerError, 0))
					}
					assert.NoError(t, r.Close(t.Context()))
				}
			})
		}
		wg.Wait()
		counts, err := open(t, name).Rollups(t.Context(), noon, noon.Add(1))
		require.NoError(t, err)
		require.Len(t, counts, 2)
		for _, c := range counts {
			assert.EqualValues(t, 600, c.Calls)
			assert.EqualValues(t, 600, c.Took.Count())
			if c.OK {
				assert.EqualValues(t, 1200, c.Attempts)
				assert.EqualValues(t, 600, c.Retries)
				assert.InEpsilon(t, 25*time.Millisecond, c.Took.At(.5), .1)
			}
		}
	})
}

func TestRetentionAndSize(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, name string) {
		s := open(t, name)
		r := recorder(t, s, eventstore.Options{Queue: 2000})
		for i := range 1000 {
			r.Observe(t.Context(), call(noon.Add(time.Duration(i)*time.Minute), "pay", toolguard.CodeServerError, uint64(i+1)))
		}
		require.NoError(t, r.Close(t.Context()))
		all := eventstore.Query{Limit: 5000}
		n, err := s.Prune(t.Context(), noon.Add(100*time.Minute), 1<<40)
		require.NoError(t, err)
		assert.Equal(t, 100, n)
		_, err = s.Prune(t.Context(), noon, 50_000)
		require.NoError(t, err)
		left, err := s.Records(t.Context(), all)
		require.NoError(t, err)
		assert.Less(t, len(left), 200)
		assert.Greater(t, len(left), 20)
		assert.EqualValues(t, 1000, left[0].Ref, "the newest stay")
		counts, err := s.Rollups(t.Context(), noon, noon.Add(24*time.Hour))
		require.NoError(t, err)
		assert.Len(t, counts, 900)
	})
}

func TestStoresThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte("this is no database, but it is long enough to look like a page of one"), 0o600))
	empty := filepath.Join(dir, "empty.db")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for name, want := range map[string]string{
		filepath.Join(dir, "absent.db"): "no such file", dir: "is a directory", garbage: "not a database", "": "no such file",
	} {
		_, err := dial.Read(t.Context(), name)
		assert.ErrorContains(t, err, want, name)
		assert.NoFileExists(t, filepath.Join(dir, "absent.db"), "reading makes nothing")
	}
	_, err := dial.Read(t.Context(), empty)
	assert.ErrorIs(t, err, eventstore.ErrEmpty)
	for _, secret := range []string{"hunter2", "hun%20ter2", "hun ter2", "a%zzb"} {
		_, err = dial.Read(t.Context(), "postgres://app:"+secret+"@127.0.0.1:1/x")
		require.Error(t, err)
		assert.NotContains(t, err.Error(), secret)
	}
	_, err = dial.Read(t.Context(), "postgres://app@127.0.0.1:1/x")
	assert.ErrorContains(t, err, "connect", "it says what is wrong")
}

func TestUnknownVersion(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "new.db")
	open(t, name).Close()
	db, err := sql.Open("sqlite", name)
	require.NoError(t, err)
	_, err = db.Exec(`UPDATE toolguard_event_version SET version = 7`)
	require.NoError(t, err)
	db.Close()
	for _, read := range []func(context.Context, string) (*eventstore.DB, error){dial.Read, dial.Open} {
		_, err = read(t.Context(), name)
		assert.ErrorIs(t, err, eventstore.ErrVersion)
		assert.ErrorContains(t, err, "7")
	}
}

// A report may read while a program writes.
func TestReadingBesideWriting(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "live.db")
	r := recorder(t, open(t, name), eventstore.Options{Every: time.Millisecond})
	require.Eventually(t, func() bool {
		r.Observe(t.Context(), call(noon, "pay", toolguard.CodeServerError, 1))
		s, err := dial.Read(t.Context(), name)
		require.NoError(t, err)
		defer s.Close()
		found, err := s.Records(t.Context(), eventstore.Query{})
		require.NoError(t, err)
		return len(found) > 20
	}, 30*time.Second, time.Millisecond)
	assert.NoError(t, r.Stats().Err)
}

// What another version made is left as it is: no table is added to it.
func TestAnUnknownVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, name string) {
		driver, dsn := "sqlite", name
		if strings.HasPrefix(name, "postgres") {
			driver = "pgx"
		}
		db, err := sql.Open(driver, dsn)
		require.NoError(t, err)
		defer db.Close()
		for _, statement := range []string{`CREATE TABLE toolguard_event_version (version INTEGER NOT NULL)`, `INSERT INTO toolguard_event_version VALUES (2)`} {
			_, err = db.Exec(statement)
			require.NoError(t, err)
		}
		_, err = dial.Open(t.Context(), name)
		require.ErrorIs(t, err, eventstore.ErrVersion)
		_, err = db.Exec(`SELECT 1 FROM toolguard_event_records`)
		assert.Error(t, err, "there is no such table")
	})
}

// Damage is named, and nothing is made up.
func TestDamagedRecordsAreNamed(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "damaged.db")
	s := open(t, name)
	r := recorder(t, s, eventstore.Options{})
	r.Observe(t.Context(), call(noon, "pay", toolguard.CodeServerError, 1))
	require.NoError(t, r.Close(t.Context()))
	db, err := sql.Open("sqlite", name)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`UPDATE toolguard_event_records SET body = '{"kind":'`)
	require.NoError(t, err)
	_, err = s.Records(t.Context(), eventstore.Query{})
	assert.ErrorContains(t, err, "a record that cannot be read")
	for _, damage := range []string{`took = x'ff'`, `outcome = 'lost'`} {
		_, err = db.Exec(`UPDATE toolguard_event_counts SET ` + damage)
		require.NoError(t, err)
		_, err = s.Rollups(t.Context(), noon, noon.Add(time.Minute))
		assert.ErrorContains(t, err, "counts that cannot be read", damage)
	}
}

// A name is found by what was written of it, however long or odd it is.
func TestHostileNamesAreFoundAgain(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, name string) {
		s := open(t, name)
		r := recorder(t, s, eventstore.Options{})
		names := []string{`'"; DROP TABLE toolguard_event_records; --`, strings.Repeat("ä", 5<<10), "a\x00b", "\xff\xfe", "%_?$1"}
		for i, id := range names {
			e := call(noon, "pay", toolguard.CodeServerError, uint64(i+1))
			e.CallID = id
			r.Observe(t.Context(), e)
		}
		require.NoError(t, r.Close(t.Context()))
		for i, id := range names {
			found, err := s.Records(t.Context(), eventstore.Query{Any: id})
			require.NoError(t, err)
			require.Len(t, found, 1, "%.20q", id)
			assert.EqualValues(t, i+1, found[0].Ref)
		}
	})
}
