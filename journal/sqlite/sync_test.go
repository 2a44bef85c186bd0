package sqlite_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/internal/storetest"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// traced runs this test binary in a role under strace.
func traced(t *testing.T, role, file string, args ...string) (output string, trace string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("needs strace")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(strace, append(append([]string{"-f", "-o", log}, args...), self)...)
	cmd.Env = storetest.Environment(role, file)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "ptrace") {
		t.Skipf("strace may not look at a process here: %s", out)
	}
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	return string(out), string(text)
}

// settled is a call that is claimed and settled, and says nothing.
func settled(j *sqlite.Journal, key string) error {
	return storetest.ClaimAndSettle(nobody, j, key)
}

// sequentially makes calls one after the other, together by 64 writers.
func sequentially(j *sqlite.Journal) error { return calls(j, 1, 200) }
func concurrently(j *sqlite.Journal) error { return calls(j, 64, 1600) }

func calls(j *sqlite.Journal, writers, n int) error {
	errs := make([]error, writers)
	var all sync.WaitGroup
	before := sqlite.Commits(j)
	for w := range writers {
		all.Go(func() {
			for i := w; i < n && errs[w] == nil; i += writers {
				errs[w] = settled(j, strconv.Itoa(i))
			}
		})
	}
	all.Wait()
	say(map[string]int64{"commits": sqlite.Commits(j) - before})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	synced    = regexp.MustCompile(`f(?:data)?sync\(`)
	committed = regexp.MustCompile(`"commits":(\d+)`)
)

// What is acknowledged was synced: one writer syncs at least twice in each call.
// Many share.
func TestCommitsAreSynced(t *testing.T) {
	t.Parallel()
	for role, n := range map[string]int{"sequentially": 200, "concurrently": 1600} {
		said, trace := traced(t, role, filepath.Join(t.TempDir(), "j.db"), "-e", "trace=fsync,fdatasync")
		commits, err := strconv.Atoi(committed.FindStringSubmatch(said)[1])
		require.NoError(t, err)
		syncs := len(synced.FindAllString(trace, -1))
		t.Logf("%s: %d calls, %d commits, %d syncs: %.3f a call", role, n, commits, syncs, float64(syncs)/float64(n))
		assert.GreaterOrEqual(t, syncs, commits, role)
		if role == "sequentially" {
			assert.Equal(t, 2*n, commits)
		} else {
			assert.Less(t, syncs, n, "64 writers share")
		}
	}
}

// A sync that really fails: the journal says so, writes no more, and reads.
func TestASyncThatReallyFails(t *testing.T) {
	t.Parallel()
	said, _ := traced(t, "poisoned", filepath.Join(t.TempDir(), "j.db"), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when=12")
	assert.Contains(t, said, "disk I/O error")
	assert.Contains(t, said, "this write may be there or not")
	assert.Contains(t, said, `"later":true`)
	assert.Contains(t, said, `"lost":0`)
}

// A disk without room, for a while: what failed says so, what was acknowledged is
// there, and it goes on when there is room.
func TestADiskThatReallyIsFull(t *testing.T) {
	t.Parallel()
	said, _ := traced(t, "full", filepath.Join(t.TempDir(), "j.db"), "-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC:when=200..210")
	assert.Contains(t, said, "database or disk is full")
	assert.NotContains(t, said, sqlite.ErrPoisoned.Error())
	assert.Contains(t, said, `"lost":0`)
}

// throughAFullDisk makes calls, of which some fail.
func throughAFullDisk(j *sqlite.Journal) error {
	acknowledged, failed := 0, 0
	for i := 0; i < 1000 && (failed == 0 || acknowledged < 10+i/2); i++ {
		if err := settled(j, strconv.Itoa(i)); err != nil {
			say(err.Error())
			failed++
			continue
		}
		acknowledged++
	}
	found, err := j.Scan(nobody, toolguard.Query{States: []toolguard.State{toolguard.StateSucceeded}, Limit: 2000})
	say(map[string]int{"failed": failed, "lost": acknowledged - len(found)})
	for range 1000 { // strace counts each thread's writes for itself
		if err == nil {
			_, err = j.Prune(nobody, 0)
		}
		if err == nil || errors.Is(err, sqlite.ErrPoisoned) {
			break
		}
		_, err = j.Scan(nobody, toolguard.Query{Limit: 1})
	}
	return err
}

// untilPoisoned writes until a sync fails.
func untilPoisoned(j *sqlite.Journal) error {
	acknowledged := 0
	for {
		err := settled(j, strconv.Itoa(acknowledged))
		if err != nil {
			say(err.Error())
			break
		}
		acknowledged++
	}
	err := settled(j, "later")
	found, _ := j.Scan(nobody, toolguard.Query{States: []toolguard.State{toolguard.StateSucceeded}, Limit: 1000})
	say(map[string]any{"later": err != nil && strings.Contains(err.Error(), sqlite.ErrPoisoned.Error()), "lost": acknowledged - len(found)})
	return nil
}

// A file that may not grow, as with a quota or a file system's limit: what was written
// until then is there, and what fails says so.
func TestAFileThatMayNotGrow(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs RLIMIT_FSIZE, and a write beyond it to fail")
	}
	path := newPath(t)
	c := storetest.Begin(t, "too large", path)
	var said struct {
		Error              string
		Acknowledged, Lost int
	}
	require.True(t, c.Hear(&said))
	c.Wait(t)
	assert.Regexp(t, "toolguard/sqlite: .*(disk I/O error|database or disk is full)", said.Error)
	assert.NotZero(t, said.Acknowledged)
	assert.Zero(t, said.Lost)
	found := scan(t, openAt(t, path), toolguard.Query{States: []toolguard.State{toolguard.StateSucceeded}, Limit: 1 << 20})
	assert.GreaterOrEqual(t, len(found), said.Acknowledged, "where the file may grow again, all is there")
}

// untilTooLarge writes until the file may grow no more.
func untilTooLarge(j *sqlite.Journal) error {
	if err := limitFiles(512 << 10); err != nil {
		return err
	}
	acknowledged := 0
	err := error(nil)
	for ; err == nil; acknowledged++ {
		err = settled(j, strconv.Itoa(acknowledged))
	}
	acknowledged--
	found, readErr := j.Scan(nobody, toolguard.Query{States: []toolguard.State{toolguard.StateSucceeded}, Limit: 1 << 20})
	say(map[string]any{"Error": err.Error(), "Acknowledged": acknowledged, "Lost": acknowledged - len(found)})
	return readErr
}
