package storetest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/toolguard-go/toolguard"
)

const (
	claimer = "claimer"

	processes = 3
	claimers  = 8 // goroutines of each
	raceKeys  = 40
)

// claimed is what one claim came to.
type claimed struct {
	Key, By, Owner string
	Won            bool
}

// claimWhenTold has several goroutines claim the same keys at once.
func claimWhenTold(j Journal) error {
	Say(claimed{})
	if err := ToBeTold(); err != nil {
		return err
	}
	errs := make(chan error, claimers)
	var all sync.WaitGroup
	for g := range claimers {
		all.Go(func() {
			by := fmt.Sprintf("%d/%d", os.Getpid(), g)
			for k := range raceKeys {
				e := Entry(fmt.Sprint("key ", k), toolguard.StatePending)
				e.Owner = by
				now, ok, err := j.Write(context.Background(), toolguard.Version{}, e, toolguard.Record{Key: e.Key, Actor: by})
				if err != nil {
					errs <- err
					return
				}
				Say(claimed{e.Key, by, now.Owner, ok})
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// Race lets processes claim the same keys in a store: of all their goroutines one gets
// each, and the others are shown whose it is. j is a journal in that store.
func Race(t *testing.T, store string, j toolguard.Journal) {
	var all []*Child
	for range processes {
		all = append(all, Begin(t, claimer, store))
	}
	for _, c := range all {
		if !c.Hear(&claimed{}) {
			t.Fatal("a process cannot open the store")
		}
	}
	for _, c := range all {
		c.Go(t)
	}
	winner, shown, answers := map[string]string{}, map[string]map[string]int{}, 0
	for _, c := range all {
		for got := (claimed{}); c.Hear(&got); got = (claimed{}) {
			answers++
			if got.Won && winner[got.Key] != "" {
				t.Errorf("%s and %s have both claimed %q", winner[got.Key], got.By, got.Key)
			}
			if got.Won {
				winner[got.Key] = got.By
			}
			if shown[got.Key] == nil {
				shown[got.Key] = map[string]int{}
			}
			shown[got.Key][got.Owner]++
		}
		c.Wait(t)
	}
	if want := processes * claimers * raceKeys; answers != want || len(winner) != raceKeys {
		t.Errorf("%d answers to %d claims, %d winners of %d keys", answers, want, len(winner), raceKeys)
	}
	for key, owners := range shown {
		if owners[winner[key]] != processes*claimers {
			t.Errorf("%q is %s's, and those who claimed it were shown %v", key, winner[key], owners)
		}
	}
	if left := len(Records(t, j, toolguard.RecordQuery{})); left != raceKeys {
		t.Errorf("%d records, want %d: who gets nothing leaves none", left, raceKeys)
	}
}
