package main

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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

const (
	asRacer         = "racer"
	racers          = 4  // processes
	callsOfOneRacer = 12 // two rounds stay below what one turn may have
)

// raced plays a process of TestProcessesClaimOneKey, if the arguments say so.
func raced(args []string) (bool, error) {
	if len(args) != 3 || args[0] != playCommand || args[1] != asRacer {
		return false, nil
	}
	return true, playAs[racerRole](args[2])
}

// racerRole is an agent that makes many identical calls at once, as often as it is
// told to by a line.
type racerRole struct{ agentRole }

func (r racerRole) play() error {
	j, err := r.Journal.open()
	if err != nil {
		return err
	}
	defer j.Close()
	box, err := r.toolbox(j, killer{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := r.callAtOnce(box); err != nil {
			return err
		}
	}
	return nil
}

func (r racerRole) callAtOnce(box *toolguard.Toolbox) error {
	args, err := json.Marshal(refundIn{Order: r.Order, Cents: cents})
	if err != nil {
		return err
	}
	var answers [callsOfOneRacer]toolguard.Envelope
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			ctx := toolguard.WithScope(context.Background(), r.scope())
			answers[i] = box.Do(ctx, toolguard.Call{Tool: r.Tool, ID: newCallID(), Args: args})
		})
	}
	wg.Wait()
	for _, env := range answers {
		report(env)
	}
	return nil
}

// Of all goroutines of all processes that ask for one refund, one makes it. The
// others wait for it, read what became of it, or are told that it is under way.
// Whoever asks again reads what became of it.
func TestProcessesClaimOneKey(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]func(*testing.T) func(string) store{"sqlite": inSQLite, "postgres": inPostgres} {
		for _, tool := range kinds {
			t.Run(name+"/"+tool, func(t *testing.T) {
				t.Parallel()
				p := newPlayer(t, stores(t))
				role := racerRole{agentRole{Bank: p.bank, Journal: p.journal(tool), Tool: tool, Order: "race-" + tool}}
				all := startRacers(t, role)
				first, second := all.call(t), all.call(t)
				all.stop(t)
				made, err := statement(t.Context(), p.bank, role.Order)
				require.NoError(t, err)
				require.Len(t, made, 1)
				checkFirst(t, first, made[0].ID)
				for _, a := range second {
					assert.True(t, a.OK, a.Reads)
					assert.Contains(t, a.Reads, made[0].ID)
				}
				found, err := entries(t.Context(), role.Journal, role.Order)
				require.NoError(t, err)
				require.Len(t, found, 1)
				assert.Equal(t, toolguard.StateSucceeded, found[0].State)
				assert.Equal(t, uint64(1), found[0].Token, "how often it was claimed")
			})
		}
	}
}

func checkFirst(t *testing.T, told []answer, id string) {
	t.Helper()
	succeeded := 0
	for _, a := range told {
		if a.OK {
			succeeded++
			assert.Contains(t, a.Reads, id)
			continue
		}
		assert.Contains(t, []toolguard.Code{toolguard.CodeInProgress, toolguard.CodeLoopDetected}, a.Code, a.Reads)
		assert.Equal(t, toolguard.OutcomeUnknown, a.Outcome, a.Reads)
	}
	assert.Positive(t, succeeded)
	t.Logf("%d of %d calls read of the refund, the others that it is under way", succeeded, len(told))
}

// racing are processes that wait for a line.
type racing struct {
	ins  []io.WriteCloser
	outs []*bufio.Scanner
	all  []*exec.Cmd
}

func startRacers(t *testing.T, role racerRole) *racing {
	t.Helper()
	r := new(racing)
	for range racers {
		cmd, err := start(t.Context(), asRacer, role)
		require.NoError(t, err)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		r.ins, r.outs, r.all = append(r.ins, in), append(r.outs, bufio.NewScanner(out)), append(r.all, cmd)
	}
	for _, out := range r.outs {
		require.True(t, out.Scan(), "a process does not begin")
	}
	return r
}

// call lets all processes call at once, and returns what they are told.
func (r *racing) call(t *testing.T) (told []answer) {
	t.Helper()
	for _, in := range r.ins {
		_, err := io.WriteString(in, "go\n")
		require.NoError(t, err)
	}
	for _, out := range r.outs {
		for range callsOfOneRacer {
			require.True(t, out.Scan(), "a process has ended")
			var a answer
			require.NoError(t, json.Unmarshal(out.Bytes(), &a))
			told = append(told, a)
		}
	}
	return told
}

func (r *racing) stop(t *testing.T) {
	t.Helper()
	for i, in := range r.ins {
		require.NoError(t, in.Close())
		require.NoError(t, r.all[i].Wait())
	}
}
