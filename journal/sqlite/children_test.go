package sqlite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/journal/sqlite"
)

// Tests of several processes run this test binary again, with a role to play on
// the file that is named. A role says what it does in lines on its output, each
// of which is a single write: it is there, or it is not.
const (
	roleVariable = "TOOLGUARD_TEST_ROLE"
	fileVariable = "TOOLGUARD_TEST_FILE"
)

var roles = map[string]func(j *sqlite.Journal) error{
	"claim": claimAll, "write": writeForever,
	"sequentially": sequentially, "concurrently": concurrently, "poisoned": untilPoisoned, "full": throughAFullDisk,
}

// nobody says when a child should stop waiting.
var nobody = context.Background()

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVariable)]; role != nil {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func play(role func(*sqlite.Journal) error) error {
	j, err := sqlite.Open(os.Getenv(fileVariable), nil)
	if err != nil {
		return err
	}
	if err := role(j); err != nil {
		return err
	}
	return j.Close()
}

var sayMu sync.Mutex

func say(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	sayMu.Lock()
	defer sayMu.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// child is a process in a role.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func begin(t *testing.T, role, file string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, fileVariable+"="+file)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return &child{cmd: cmd, in: in, out: bufio.NewScanner(out)}
}

// claimed is what one claim came to.
type claimed struct {
	Key, By, Owner string
	Won            bool
}

const (
	raceKeys    = 40
	raceClaimer = 8
)

// claimAll has several goroutines claim the same keys, as soon as it is told to.
func claimAll(j *sqlite.Journal) error {
	say("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, raceClaimer)
	for g := range raceClaimer {
		wg.Go(func() {
			by := fmt.Sprintf("%d/%d", os.Getpid(), g)
			for k := range raceKeys {
				e := entry(fmt.Sprint("key ", k), toolguard.StatePending)
				e.Owner = by
				now, ok, err := j.Write(nobody, toolguard.Version{}, e, toolguard.Record{Key: e.Key, Actor: by})
				if err != nil {
					errs <- err
					return
				}
				say(claimed{e.Key, by, now.Owner, ok})
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// step is a write that was acknowledged.
type step struct {
	Key   string
	State toolguard.State
}

const writers = 8

// writeForever claims and settles one key after the other.
func writeForever(j *sqlite.Journal) error {
	errs := make(chan error)
	for g := range writers {
		go func() {
			for i := 0; ; i++ {
				if err := callOnce(j, fmt.Sprintf("%d/%d/%d", os.Getpid(), g, i)); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

func callOnce(j *sqlite.Journal, key string) error {
	e := entry(key, toolguard.StatePending)
	if err := must(j.Write(nobody, toolguard.Version{}, e, toolguard.Record{Key: key, To: e.State})); err != nil {
		return err
	}
	say(step{key, e.State})
	was := e.Version()
	e.State = toolguard.StateSucceeded
	if err := must(j.Write(nobody, was, e, toolguard.Record{Key: key, From: was.State, To: e.State})); err != nil {
		return err
	}
	say(step{key, e.State})
	return nil
}
