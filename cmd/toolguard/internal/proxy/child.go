package proxy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"time"
)

// child runs an MCP server as a process of its own and talks to it by lines.
type child struct {
	command []string
	stderr  io.Writer
	limit   int
	log     *slog.Logger
}

// patience is how long a server may take to end when its input is closed, and
// again when it is told to.
const patience = 2 * time.Second

// dial starts the process, in a group of its own so that what it starts itself
// ends with it.
func (c *child) dial(context.Context) (link, error) {
	cmd := exec.Command(c.command[0], c.command[1:]...)
	cmd.Stderr = c.stderr
	cmd.WaitDelay = patience
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the server does not start: %w", err)
	}
	c.log.Debug("server started", "pid", cmd.Process.Pid)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		state, err := cmd.Process.Wait() // not cmd.Wait, which closes the pipe before all of it is read
		killGroup(cmd)                   // what it leaves behind holds the pipe, and would be waited for
		c.log.Debug("server ended", "pid", cmd.Process.Pid, "state", state, "error", err)
	}()
	return newLines(out, in, c.limit, func() {
		end(cmd, in, ended)
		_ = cmd.Wait() // for what copies its stderr, if that is no file; the rest is over
	}), nil
}

// end ends the process and its group: by closing its input, by telling it, by
// force.
func end(cmd *exec.Cmd, in io.Closer, ended <-chan struct{}) {
	_ = in.Close()
	for _, next := range []func(*exec.Cmd){terminateGroup, killGroup} {
		select {
		case <-ended:
			return
		case <-time.After(patience):
			next(cmd)
		}
	}
	<-ended
}
