package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNoTinyDisk says that this system lets nobody mount a file system of his own.
var ErrNoTinyDisk = errors.New("pgtest: no file system can be mounted here: that needs Linux, unshare, and user namespaces")

// StartWithTinyDisk is [Start] of a server that sees an empty file system of a size
// like "16m" at the path it returns: for a tablespace that can really be full. Nobody
// but the server sees it, and it is gone with the server.
func StartWithTinyDisk(ctx context.Context, size string, settings ...string) (s *Server, path string, err error) {
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, "", err
	}
	s = &Server{Dir: dir, tiny: size}
	if err := s.own(); err != nil {
		return nil, "", err
	}
	probe := s.command("true")
	probe.Path = "true"
	s.onTinyDisk(probe)
	if out, err := probe.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("%w: %w\n%s", ErrNoTinyDisk, err, out)
	}
	path = s.tinyDir()
	s, err = start(ctx, s, settings...)
	return s, path, err
}

func (s *Server) tinyDir() string { return filepath.Join(s.Dir, "tiny") }

// mounting is a shell's script that runs a program, with its arguments, where the file
// system is mounted: as the root of a name space for the mount, then as somebody else
// again, because the server does not run as root.
func (s *Server) mounting(program string) string {
	return fmt.Sprintf(`exec unshare -rm sh -c 'mkdir -p "$0" && mount -t tmpfs -o size=%s none "$0" && exec unshare --user --map-user=1000 "%s" "$@"' %q "$@"`,
		s.tiny, program, s.tinyDir())
}

// onTinyDisk has the server's command see the file system.
func (s *Server) onTinyDisk(cmd *exec.Cmd) {
	cmd.Args = append([]string{"sh", "-c", s.mounting(cmd.Path), "sh"}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
}
