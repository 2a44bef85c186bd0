// Package pgtest runs private PostgreSQL servers for tests: each on a free port of
// the loopback, with a data directory of its own, as a user who is not root.
package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a private server. Its methods are not for concurrent use.
type Server struct {
	// Dir holds all that the server has.
	Dir string
	// DSN is what a client connects with.
	DSN string

	programs string
	port     int
	settings []string
	tiny     string // the size of a file system of its own; "" for none
}

// Programs returns the directory that has the newest server of the system.
func Programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(versionIn(b), versionIn(a)) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); isFile(filepath.Join(dir, "initdb")) {
			return dir, nil
		}
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(initdb), nil
	}
	return "", errors.New("pgtest: no PostgreSQL server is installed: on Debian and Ubuntu it is the package postgresql, and .ci/postgres install gets it")
}

func versionIn(path string) int {
	v, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return v
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Start makes a server in dir, or in a new directory if dir is "", and starts it
// with settings like "fsync=off". It is up when Start returns.
func Start(ctx context.Context, dir string, settings ...string) (*Server, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "pgtest")
	} else {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	return start(ctx, &Server{Dir: dir}, settings...)
}

func start(ctx context.Context, s *Server, settings ...string) (_ *Server, err error) {
	if s.programs, err = Programs(); err != nil {
		return nil, err
	}
	s.settings = settings
	if err := s.own(); err != nil {
		return nil, err
	}
	initdb := s.command("initdb", "-D", s.data(), "-U", "toolguard", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	s.DSN = fmt.Sprintf("postgres://toolguard@127.0.0.1:%d/postgres?sslmode=disable", s.port)
	return s, s.Restart(ctx)
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// account is whom the server runs as: a server refuses to run as root.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		if who, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, _ := strconv.ParseUint(who.Uid, 10, 32)
	gid, _ := strconv.ParseUint(who.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// own makes the directory, and gives it to the server's user.
func (s *Server) own() error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	who, err := account()
	if err != nil || who == nil {
		return err
	}
	return os.Chown(s.Dir, int(who.Uid), int(who.Gid))
}

// command runs a program of the server's in a session of its own, so that what
// stops a test does not stop the server.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, program), args...)
	who, _ := account() // own has looked
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: who}
	cmd.Dir = s.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	return cmd
}

// Restart starts the server again after Stop or Crash, on the same port.
func (s *Server) Restart(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
	own := []string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", "timezone=UTC"}
	for _, setting := range append(own, s.settings...) {
		args = append(args, "-c", setting)
	}
	cmd := s.command("postgres", args...)
	if s.tiny != "" {
		s.onTinyDisk(cmd)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	return s.waitUntilUp(ctx, ended)
}

const patience = 60 * time.Second

func (s *Server) waitUntilUp(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, s.DSN)
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
			return fmt.Errorf("pgtest: the server has ended:\n%s", text)
		case <-ctx.Done():
			return fmt.Errorf("pgtest: the server is not up after %v: %w", patience, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop lets the server write down what it has, and waits until it is gone.
func (s *Server) Stop() error { return Stop(s.Dir) }

// Crash ends the server as it is. What it has not written to its files is lost.
func (s *Server) Crash() error { return end(s.Dir, syscall.SIGQUIT) }

// Remove stops the server, if it runs, and deletes all that it had.
func (s *Server) Remove() error { return errors.Join(s.Stop(), os.RemoveAll(s.Dir)) }

// Stop ends the server in dir, which another process may have started.
func Stop(dir string) error { return end(dir, syscall.SIGINT) }

// end sends a signal to the server, by the id it has written down.
func end(dir string, signal syscall.Signal) error {
	file := filepath.Join(dir, "data", "postmaster.pid")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("pgtest: %s: %w", file, err)
	}
	if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	for deadline := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; {
		if time.Now().After(deadline) {
			return fmt.Errorf("pgtest: the server, process %d, does not end", pid)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}
