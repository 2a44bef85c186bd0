package postgres_test

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
	"github.com/toolguard-go/toolguard/journal/postgres"
)

// Tests of several processes run this test binary again, with a part to play in a
// schema. What a part has to say are lines, each a single write to a pipe.
const (
	partVariable   = "TOOLGUARD_TEST_PART"
	schemaVariable = "TOOLGUARD_TEST_SCHEMA"
)

var parts = map[string]func(context.Context, *postgres.Journal) error{"race": raceForKeys, "write": writeUntilKilled}

func TestMain(m *testing.M) {
	part := parts[os.Getenv(partVariable)]
	if part == nil {
		os.Exit(m.Run())
	}
	if err := play(context.Background(), part); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(ctx context.Context, part func(context.Context, *postgres.Journal) error) error {
	j, err := postgres.Open(ctx, os.Getenv(serverVariable), &postgres.Options{Schema: os.Getenv(schemaVariable), Connections: 8})
	if err != nil {
		return err
	}
	if err := part(ctx, j); err != nil {
		return err
	}
	return j.Close()
}

type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func begin(t *testing.T, part, dsn, schema string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := &child{Cmd: exec.Command(self)}
	c.Env = append(os.Environ(), partVariable+"="+part, serverVariable+"="+dsn, schemaVariable+"="+schema)
	c.Stderr = os.Stderr
	c.in, err = c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewScanner(out)
	require.NoError(t, c.Start())
	return c
}

var saying sync.Mutex

func say(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	saying.Lock()
	defer saying.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n'))
}

const (
	raceKeys   = 30
	raceRacers = 6
)

// claim is what one attempt to claim a key came to.
type claim struct {
	Key, By, Owner string
	Won            bool
}

// raceForKeys waits for the start, then claims every key several times at once.
func raceForKeys(ctx context.Context, j *postgres.Journal) error {
	say("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	errs := make(chan error, raceRacers)
	for g := range raceRacers {
		by := fmt.Sprintf("%d.%d", os.Getpid(), g)
		go func() {
			for k := range raceKeys {
				e := entry(fmt.Sprint("key ", k), toolguard.StatePending)
				e.Owner = by
				now, ok, err := j.Write(ctx, toolguard.Version{}, e, toolguard.Record{Key: e.Key, Actor: by})
				if err != nil {
					errs <- err
					return
				}
				say(claim{e.Key, by, now.Owner, ok})
			}
			errs <- nil
		}()
	}
	for range raceRacers {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// ack is a write that was acknowledged.
type ack struct {
	Key   string
	State toolguard.State
}

// writeUntilKilled claims and settles one key after the other.
func writeUntilKilled(ctx context.Context, j *postgres.Journal) error {
	errs := make(chan error)
	for g := range 6 {
		go func() {
			for i := 0; ; i++ {
				if err := callOnce(ctx, j, fmt.Sprintf("%d.%d.%d", os.Getpid(), g, i), func(a ack) { say(a) }); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

// callOnce claims a key and settles it, and tells what was acknowledged.
func callOnce(ctx context.Context, j toolguard.Journal, key string, tell func(ack)) error {
	e := entry(key, toolguard.StatePending)
	if err := must(j.Write(ctx, toolguard.Version{}, e, toolguard.Record{Key: key, To: e.State})); err != nil {
		return err
	}
	tell(ack{key, e.State})
	was := e.Version()
	e.State = toolguard.StateSucceeded
	if err := must(j.Write(ctx, was, e, toolguard.Record{Key: key, From: was.State, To: e.State})); err != nil {
		return err
	}
	tell(ack{key, e.State})
	return nil
}
