package postgres_test

import (
	"encoding/json"
	"flag"
	"io"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

var kills = flag.Int("kills", 12, "how many writing processes TestNoAcknowledgedWriteIsLost kills")

// However many goroutines of however many processes claim a key, one of them gets
// it, and all others are told which one.
func TestOneOfManyProcessesClaims(t *testing.T) {
	t.Parallel()
	const processes = 3
	schema := newSchema(t, dsn(t))
	j := openIn(t, dsn(t), schema)
	var racers []*child
	for range processes {
		c := begin(t, "race", dsn(t), schema)
		require.True(t, c.out.Scan(), "it is ready")
		racers = append(racers, c)
	}
	for _, c := range racers {
		_, err := io.WriteString(c.in, "go\n")
		require.NoError(t, err)
	}
	winner, told, claims := map[string]string{}, map[string]map[string]int{}, 0
	for _, c := range racers {
		for c.out.Scan() {
			var got claim
			require.NoError(t, json.Unmarshal(c.out.Bytes(), &got))
			claims++
			if got.Won {
				assert.Empty(t, winner[got.Key], "%q was given to two", got.Key)
				winner[got.Key] = got.By
			}
			if told[got.Key] == nil {
				told[got.Key] = map[string]int{}
			}
			told[got.Key][got.Owner]++
		}
		require.NoError(t, c.Wait())
	}
	assert.Equal(t, processes*raceRacers*raceKeys, claims)
	assert.Len(t, winner, raceKeys)
	for key, owners := range told {
		assert.Equal(t, map[string]int{winner[key]: processes * raceRacers}, owners, "all were told the same of %q", key)
	}
	assert.Len(t, records(t, j, toolguard.RecordQuery{}), raceKeys, "who gets nothing leaves no record")
}

// Processes that write are killed at any moment. What was acknowledged is there;
// what was not is there as a whole or not at all. `make crash` kills a thousand.
func TestNoAcknowledgedWriteIsLost(t *testing.T) {
	t.Parallel()
	const atOnce = 2
	schema := newSchema(t, dsn(t))
	j := openIn(t, dsn(t), schema)
	all, killed := map[string]toolguard.State{}, 0
	for killed < *kills && !t.Failed() {
		var writers []*child
		for range atOnce {
			writers = append(writers, begin(t, "write", dsn(t), schema))
		}
		fresh := map[string]toolguard.State{}
		for _, c := range writers {
			c.killAfter(t, time.Duration(rand.IntN(60))*time.Millisecond, fresh)
			killed++
		}
		areThere(t, j, fresh)
		maps.Copy(all, fresh)
	}
	areThere(t, j, all)
	areWhole(t, j)
	require.NotEmpty(t, all)
	t.Logf("%d processes killed, %d keys acknowledged, none lost", killed, len(all))
}

// killAfter kills the process some time after it has said the first thing, and
// notes what it has said.
func (c *child) killAfter(t *testing.T, after time.Duration, said map[string]toolguard.State) {
	t.Helper()
	first := true
	for c.out.Scan() {
		if first {
			defer time.AfterFunc(after, func() { _ = c.Process.Kill() }).Stop()
			first = false
		}
		var a ack
		if json.Unmarshal(c.out.Bytes(), &a) == nil { // the last line may be torn
			said[a.Key] = max(said[a.Key], a.State)
		}
	}
	require.ErrorContains(t, c.Wait(), "killed", "it has ended by itself")
}

// areThere reads what was acknowledged, all there is at a time.
func areThere(t *testing.T, j toolguard.Journal, acknowledged map[string]toolguard.State) {
	t.Helper()
	for key, state := range acknowledged {
		found := scan(t, j, toolguard.Query{Key: key})
		if assert.Len(t, found, 1, "the acknowledged key %q", key) {
			assert.GreaterOrEqual(t, found[0].State, state, "the acknowledged state of %q", key)
		}
	}
}

// areWhole looks for an entry whose last change has no record, and for a record of
// a change that the entry does not have.
func areWhole(t *testing.T, j toolguard.Journal) {
	t.Helper()
	audited := map[string]toolguard.State{}
	for after := uint64(0); ; {
		page := records(t, j, toolguard.RecordQuery{After: after})
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			audited[r.Key] = r.To
		}
		after = page[len(page)-1].Seq
	}
	stored := map[string]toolguard.State{}
	for skip := 0; ; skip += 1000 {
		page := scan(t, j, toolguard.Query{Skip: skip, Limit: 1000})
		for _, e := range page {
			stored[e.Key] = e.State
		}
		if len(page) < 1000 {
			break
		}
	}
	assert.Equal(t, stored, audited)
}
