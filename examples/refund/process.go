package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// The bank, the agents and the people are processes of their own. Each is this
// same program, started with a role and what it is told.
const (
	playCommand = "play"
	asBank      = "bank"
	asAgent     = "agent"
	asPerson    = "person"
)

type role interface{ play() error }

// played plays the role that the arguments name. It reports false if they name none.
func played(args []string) (bool, error) {
	if len(args) != 3 || args[0] != playCommand {
		return false, nil
	}
	switch args[1] {
	case asBank:
		return true, playAs[bankRole](args[2])
	case asAgent:
		return true, playAs[agentRole](args[2])
	case asPerson:
		return true, playAs[personRole](args[2])
	default:
		return true, fmt.Errorf("no role %q", args[1])
	}
}

func playAs[R role](told string) error {
	var r R
	if err := json.Unmarshal([]byte(told), &r); err != nil {
		return err
	}
	return r.play()
}

// processLimit is how long a process may take. None comes near.
const processLimit = 60 * time.Second

// start begins a process in a role.
func start(ctx context.Context, name string, r role) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	told, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, self, playCommand, name, string(told)), nil
}

// play plays a role to its end and returns the answers it tells of. killed says
// that the process was.
func play(ctx context.Context, name string, r role) (told []answer, killed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, processLimit)
	defer cancel()
	cmd, err := start(ctx, name, r)
	if err != nil {
		return nil, false, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		killed = errors.As(err, &exit) && exit.ExitCode() == -1 && ctx.Err() == nil
		if !killed {
			return nil, false, fmt.Errorf("the process of the %s: %w\n%s", name, err, &stderr)
		}
	}
	for line := range strings.Lines(string(out)) {
		var a answer
		if json.Unmarshal([]byte(line), &a) == nil { // the last one may be cut
			told = append(told, a)
		}
	}
	return told, killed, nil
}

// openBank starts the bank's process and returns its URL. It ends with this one,
// or when closed.
func openBank(folder string) (url string, closed func() error, err error) {
	cmd, err := start(context.Background(), asBank, bankRole{Folder: folder})
	if err != nil {
		return "", nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", nil, errors.Join(err, in.Close(), cmd.Wait())
	}
	return strings.TrimSpace(line), func() error { return errors.Join(in.Close(), cmd.Wait()) }, nil
}
