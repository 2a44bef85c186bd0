package main

import (
	"bytes"
	"fmt"
	"os"
)

const (
	openMark  = "<!-- table: go run ./bench/table -update docs/performance.md -->\n"
	closeMark = "<!-- end of table -->\n"
)

// update puts the table between the marks in the file.
func update(file string, table []byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	updated, err := replace(text, table)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, updated, 0o644)
}

func replace(text, table []byte) ([]byte, error) {
	before, rest, opened := bytes.Cut(text, []byte(openMark))
	_, after, closed := bytes.Cut(rest, []byte(closeMark))
	if !opened || !closed {
		return nil, fmt.Errorf("no %q followed by %q", openMark, closeMark)
	}
	return bytes.Join([][]byte{before, []byte(openMark), table, []byte(closeMark), after}, nil), nil
}
