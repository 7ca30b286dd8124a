//go:build !unix

package render

import "os/exec"

// ownGroup does nothing: there are no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup kills a command; its children end when their pipes do.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may be gone
}
