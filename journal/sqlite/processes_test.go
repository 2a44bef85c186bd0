package sqlite_test

import (
	"encoding/json"
	"flag"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

var kills = flag.Int("kills", 16, "how many writing processes TestNoAcknowledgedWriteIsLost kills")

// Of all goroutines of all processes that claim a key, one gets it; the others are
// shown whose it is.
func TestOneClaimWins(t *testing.T) {
	t.Parallel()
	const processes = 3
	file := filepath.Join(t.TempDir(), "journal.db")
	var all []*child
	for range processes {
		all = append(all, begin(t, "claim", file))
	}
	for _, c := range all {
		require.True(t, c.out.Scan(), "a process cannot open the file")
	}
	for _, c := range all {
		_, err := io.WriteString(c.in, "go\n")
		require.NoError(t, err)
	}
	winner, seen, answers := map[string]string{}, map[string]map[string]bool{}, 0
	for _, c := range all {
		for c.out.Scan() {
			var got claimed
			require.NoError(t, json.Unmarshal(c.out.Bytes(), &got))
			answers++
			if got.Won {
				assert.Empty(t, winner[got.Key], "a second winner of %q", got.Key)
				winner[got.Key] = got.By
			}
			if seen[got.Key] == nil {
				seen[got.Key] = map[string]bool{}
			}
			seen[got.Key][got.Owner] = true
		}
		require.NoError(t, c.cmd.Wait())
	}
	assert.Equal(t, processes*raceClaimer*raceKeys, answers)
	assert.Len(t, winner, raceKeys)
	for key, owners := range seen {
		assert.Equal(t, []string{winner[key]}, slices.Collect(maps.Keys(owners)), "whom those who lost %q were shown", key)
	}
	j := openAt(t, file)
	records, err := j.Records(t.Context(), toolguard.RecordQuery{})
	require.NoError(t, err)
	assert.Len(t, records, raceKeys, "who loses leaves no record")
}

// Processes that write are killed at any moment, while they open the file too. What
// was acknowledged is there, and of what was not, all of a write or nothing.
// `make crash` kills a thousand.
func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	t.Parallel()
	const atOnce = 2
	file := filepath.Join(t.TempDir(), "journal.db")
	acknowledged, killed := map[string]toolguard.State{}, 0
	for killed < *kills {
		var all []*child
		for range atOnce {
			all = append(all, begin(t, "write", file))
		}
		fresh := map[string]toolguard.State{}
		for _, c := range all {
			for _, s := range c.kill(t, time.Duration(rand.IntN(120))*time.Millisecond) {
				fresh[s.Key] = max(fresh[s.Key], s.State)
			}
			killed++
		}
		j := openAt(t, file)
		for key, state := range fresh {
			stillThere(t, j, key, state)
		}
		require.NoError(t, j.Close())
		maps.Copy(acknowledged, fresh)
		if t.Failed() {
			return
		}
	}
	j := openAt(t, file)
	for key, state := range acknowledged {
		stillThere(t, j, key, state)
	}
	wholeWrites(t, j)
	require.NotEmpty(t, acknowledged)
	t.Logf("%d processes killed, %d keys acknowledged, none lost", killed, len(acknowledged))
}

// kill ends the process after a while and returns what it has said.
func (c *child) kill(t *testing.T, after time.Duration) (said []step) {
	t.Helper()
	timer := time.AfterFunc(after, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	for c.out.Scan() {
		var s step
		if json.Unmarshal(c.out.Bytes(), &s) == nil { // the last line may be cut
			said = append(said, s)
		}
	}
	require.ErrorContains(t, c.cmd.Wait(), "killed", "it ended by itself")
	return said
}

func stillThere(t *testing.T, j *sqlite.Journal, key string, state toolguard.State) {
	t.Helper()
	found := scan(t, j, toolguard.Query{Key: key})
	if assert.Len(t, found, 1, "the acknowledged key %q", key) {
		assert.GreaterOrEqual(t, found[0].State, state, "the acknowledged state of %q", key)
	}
}

// wholeWrites looks for entries without their records, and records without their
// entries.
func wholeWrites(t *testing.T, j *sqlite.Journal) {
	t.Helper()
	last, all := map[string]toolguard.State{}, 0
	for after := uint64(0); ; {
		records, err := j.Records(t.Context(), toolguard.RecordQuery{After: after})
		require.NoError(t, err)
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			require.Equal(t, last[r.Key], r.From, "the records of %q", r.Key)
			last[r.Key], after = r.To, r.Seq
		}
	}
	for {
		found := scan(t, j, toolguard.Query{Skip: all, Limit: 1000})
		if len(found) == 0 {
			break
		}
		for _, e := range found {
			require.Equal(t, last[e.Key], e.State, "the last record of %q", e.Key)
		}
		all += len(found)
	}
	assert.Len(t, last, all, "entries, and keys with records")
}
