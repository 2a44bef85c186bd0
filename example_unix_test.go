//go:build unix

package toolguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/toolguard-go/toolguard"
)

type ReportIn struct {
	Script string `json:"script"`
}

// A tool that runs a program stops the program's children too, and never waits
// for a pipe that one of them holds open.
func ExampleFunc_childProcess() {
	// snippet: child
	report := func(ctx context.Context, in ReportIn) (string, error) {
		dir, err := os.MkdirTemp("", "report-")
		if err != nil {
			return "", toolguard.NotStarted(err)
		}
		defer os.RemoveAll(dir) // runs when the attempt ends, abandoned or not

		cmd := exec.CommandContext(ctx, "sh", "-c", in.Script)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a process group of its own
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = 500 * time.Millisecond // below TimeoutPolicy.Grace
		out, err := cmd.Output()
		return string(out), err
	}
	// end snippet
	guard, err := toolguard.New(toolguard.Func(toolguard.Info{Name: "report", Effect: toolguard.ReadOnly}, report),
		&toolguard.Options{Timeout: toolguard.TimeoutPolicy{Attempt: 50 * time.Millisecond}, Retry: toolguard.RetryPolicy{Off: true}})
	if err != nil {
		log.Fatal(err)
	}
	env := guard.Do(context.Background(), toolguard.Call{Args: json.RawMessage(`{"script":"sleep 60 & sleep 60"}`)})
	fmt.Println(env.Error.Code, guard.Stats().Abandoned)

	// Output: attempt_timeout 0
}
