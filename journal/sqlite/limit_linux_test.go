package sqlite_test

import (
	"os/signal"
	"syscall"
)

// limitFiles lets no file of this process grow beyond size.
func limitFiles(size uint64) error {
	signal.Ignore(syscall.SIGXFSZ) // so that a write fails instead
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size})
}
