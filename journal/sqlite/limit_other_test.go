//go:build !linux

package sqlite_test

import "errors"

func limitFiles(uint64) error { return errors.New("only on Linux") }
