package storetest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/toolguard-go/toolguard"
)

// Upgrade is what a process of a newer version does: it opens the store anew when it
// is told to, reads what is there, and writes.
func Upgrade(_ Journal, open func(store string) (Journal, error)) error {
	Say(true)
	if err := ToBeTold(); err != nil {
		return err
	}
	j, err := open(os.Getenv(storeVariable))
	if err != nil {
		return err
	}
	found, err := j.Scan(context.Background(), toolguard.Query{Limit: 1000})
	if err != nil {
		return err
	}
	own := Entry(fmt.Sprint("of process ", os.Getpid()), toolguard.StatePending)
	if _, ok, err := j.Write(context.Background(), toolguard.Version{}, own); !ok || err != nil {
		return fmt.Errorf("write: %t, %w", ok, err)
	}
	Say(len(found))
	return j.Close()
}

const (
	olderEntries   = 20
	newerProcesses = 4
)

// Upgraded fills a store, lets several processes of a newer version open it at once,
// and expects that they find all of it, and that this version opens it no more.
func Upgraded(t *testing.T, store string, open func() (Journal, error)) {
	t.Helper()
	j, err := open()
	if err != nil {
		t.Fatal(err)
	}
	for i := range olderEntries {
		e := Entry(fmt.Sprint("older ", i), toolguard.StateParked)
		Write(t, j, toolguard.Version{}, e, toolguard.Record{Key: e.Key})
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var children []*Child
	for range newerProcesses {
		c := Begin(t, "newer version", store)
		var ready bool
		if !c.Hear(&ready) {
			t.Fatal("a newer process does not begin")
		}
		children = append(children, c)
	}
	for _, c := range children {
		c.Go(t)
	}
	for _, c := range children {
		var n int
		if !c.Hear(&n) || n < olderEntries {
			t.Errorf("a newer process finds %d entries, want %d or more", n, olderEntries)
		}
		c.Wait(t)
	}
	if j, err := open(); err == nil {
		t.Errorf("this version opens what a newer one has brought up to date: %v", j.Close())
	}
}
