//go:build !unix

package proxy

import "os/exec"

// Elsewhere only the process itself can be ended.
func ownGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
