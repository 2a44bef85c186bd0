// Command pgserver starts and stops a private PostgreSQL server for tests.
//
//	pgserver find        says where the system's server is
//	pgserver start DIR   makes one in DIR, starts it, prints its DSN, leaves it running
//	pgserver stop DIR    stops the one in DIR
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolguard-go/toolguard/journal/postgres/internal/pgtest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "find":
		dir, err := pgtest.Programs()
		if err == nil {
			fmt.Println(dir)
		}
		return err
	case len(args) == 2 && args[0] == "start":
		s, err := pgtest.Start(context.Background(), args[1])
		if err == nil {
			fmt.Println(s.DSN)
		}
		return err
	case len(args) == 2 && args[0] == "stop":
		return pgtest.Stop(args[1])
	}
	return fmt.Errorf("usage: pgserver find | start DIR | stop DIR")
}
