//go:build unix

package toolguard_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
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
	pipe, name := openPipe()
	defer os.Remove(name)
	defer pipe.Close()
	leave, _ := exec.LookPath("setsid") // where there is none nobody leaves the group
	for _, script := range []string{
		"exec 3>" + name + "; sleep 60 & sleep 60",
		leave + " sleep 5 & sleep 60", // who has left it holds the output
	} {
		env := guard.Do(context.Background(), toolguard.Call{Args: fmt.Appendf(nil, `{"script":%q}`, script)})
		fmt.Println(env.Error.Code, guard.Stats().Abandoned)
	}
	_, err = io.Copy(io.Discard, pipe) // until the last of the group has let go of it
	fmt.Println("the group outlives it:", err != nil)

	// Output:
	// attempt_timeout 0
	// attempt_timeout 0
	// the group outlives it: false
}

// openPipe returns the end to read of a named pipe. It is at its end once no process
// has the other one, which is waited for for 10 s.
func openPipe() (pipe *os.File, name string) {
	name = filepath.Join(os.TempDir(), fmt.Sprintf("toolguard-pipe-%d", os.Getpid()))
	if err := exec.Command("mkfifo", name).Run(); err != nil {
		log.Fatal(err)
	}
	pipe, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		log.Fatal(err)
	}
	if err := pipe.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		log.Fatal(err)
	}
	return pipe, name
}
