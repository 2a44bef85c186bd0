// Package storetest is what the tests of the journals in journal/sqlite and
// journal/postgres have in common beyond what toolguardtest.TestJournal asks of any
// journal: processes that race and are killed, histories of what many callers did
// at once, text and numbers that a database may not like. Histories, and the model
// they are held against, serve the journal in memory, too.
package storetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolguard-go/toolguard"
)

// Tests of several processes run the test binary again, with a role to play on the
// store that is named. A role says what it does in lines on its output, each of which
// is a single write: it is there, or it is not.
const (
	roleVariable  = "TOOLGUARD_TEST_ROLE"
	storeVariable = "TOOLGUARD_TEST_STORE"
)

// Journal is one that has to be closed.
type Journal interface {
	toolguard.Journal
	io.Closer
}

// Role is what a process does with the store it was started for.
type Role func(j Journal) error

// Main plays the role this process was started for, or runs the tests. open opens the
// journal in a store by its name; more are roles beside those of this package.
func Main(m *testing.M, open func(store string) (Journal, error), more map[string]Role) {
	name := os.Getenv(roleVariable)
	role := more[name]
	switch name {
	case "":
		os.Exit(m.Run())
	case claimer:
		role = claimWhenTold
	case writer:
		role = writeForever
	}
	if err := play(role, open); err != nil {
		fmt.Fprintf(os.Stderr, "role %q: %v\n", name, err)
		os.Exit(1)
	}
}

func play(role Role, open func(store string) (Journal, error)) error {
	if role == nil {
		return fmt.Errorf("nobody knows it")
	}
	j, err := open(os.Getenv(storeVariable))
	if err != nil {
		return err
	}
	if err := role(j); err != nil {
		return err
	}
	return j.Close()
}

// Environment has a process play a role on a store.
func Environment(role, store string) []string {
	return append(os.Environ(), roleVariable+"="+role, storeVariable+"="+store)
}

var saying sync.Mutex

// Say tells the parent something, as a line of JSON.
func Say(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	saying.Lock()
	defer saying.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n')) // the parent may be gone
}

// Child is a process in a role.
type Child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// Begin starts a process in a role. It ends with the test at the latest.
func Begin(t testing.TB, role, store string) *Child {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := &Child{cmd: exec.Command(self)}
	c.cmd.Env = Environment(role, store)
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	must(t, err)
	out, err := c.cmd.StdoutPipe()
	must(t, err)
	c.out = bufio.NewScanner(out)
	must(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); _ = c.cmd.Wait() }) // mostly it has ended
	return c
}

// Hear reads what the process says next. It is false when there is nothing more.
func (c *Child) Hear(v any) bool {
	return c.out.Scan() && json.Unmarshal(c.out.Bytes(), v) == nil // the last line may be torn
}

// Go lets a process go on that waits to be told.
func (c *Child) Go(t testing.TB) {
	t.Helper()
	_, err := io.WriteString(c.in, "go\n")
	must(t, err)
}

// Wait waits for the end of a process that ends by itself.
func (c *Child) Wait(t testing.TB) {
	t.Helper()
	must(t, c.cmd.Wait())
}

// ToBeTold waits for the parent's Go.
func ToBeTold() error {
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// kill ends the process after a while and returns the lines it has said till then.
// The while begins with its first line, or if opening is set with the process: then
// it may die while it opens the store.
func (c *Child) kill(t testing.TB, after time.Duration, opening bool) (said []ack) {
	t.Helper()
	var timer *time.Timer
	begin := func() { timer = time.AfterFunc(after, func() { _ = c.cmd.Process.Kill() }) }
	if opening {
		begin()
	}
	for a := (ack{}); c.Hear(&a); a = (ack{}) {
		said = append(said, a)
		if timer == nil {
			begin()
		}
	}
	if timer != nil {
		defer timer.Stop()
	}
	if err := c.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("a process has ended by itself: %v", err)
	}
	return said
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
