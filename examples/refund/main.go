// Refund asks for one refund while everything dies around it.
//
//	go run ./examples/refund [-v]
//
// It starts a bank, a payment service with a ledger behind it, as a process of its
// own. Agents, each a process too, ask it for a refund and are killed with SIGKILL
// at chosen points; a supervisor starts them again. Every scene is played twice:
// without toolguard, where a failed call is tried again and a restarted agent does
// its work again, as frameworks do it; and with toolguard and a journal in SQLite.
// What counts is the bank's ledger. The model is scripted and stubborn: whatever it
// reads, it calls again, with a new call ID each time.
//
// Read the files in this order: tools.go and agent.go are what you would write
// yourself, person.go is how people decide; bank.go is the service, plain.go the
// agent without toolguard; kill.go is where processes die, scene.go what is played.
// The rest plays it.
//
// The exit code is 1 if anything did not go as it should.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const usage = `Refund kills an agent at every point around one refund, starts it again, and shows
how many refunds are in the bank's ledger then: without toolguard, and with it.

	go run ./examples/refund [flags]

`

func main() {
	// Every process of this example is this program: see process.go.
	if ok, err := played(os.Args[1:]); ok {
		exit(err)
	}
	verbose := flag.Bool("v", false, "print what the model reads in each scene, and the ledger")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	_, err := show(context.Background(), os.Stdout, *verbose)
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// show plays everything and prints it. The error is what did not go as it should.
func show(ctx context.Context, out io.Writer, verbose bool) ([]*pair, error) {
	began := time.Now()
	folder, err := os.MkdirTemp("", "refund")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	url, closeBank, err := openBank(folder)
	if err != nil {
		return nil, err
	}
	w := printer{out}
	w.intro()
	p := &player{bank: url, journal: func(order string) store {
		return store{File: filepath.Join(folder, order+".db")}
	}}
	played := p.playAll(ctx, append([]scene{everydayStory}, scenes...)...)
	if err := closeBank(); err != nil {
		return nil, err
	}
	w.story(played[:len(kinds)])
	w.table(played[len(kinds):])
	if verbose {
		w.details(played[len(kinds):])
	}
	w.sum(played, time.Since(began))
	return played, wrong(played)
}

// pair is a scene with one kind of tool, without toolguard and with it.
type pair struct {
	scene            scene
	tool             string
	unguarded, guard result
	err              error
}

// scenesAtOnce is how many scenes are played at the same time: they mostly wait.
const scenesAtOnce = 16

// playAll plays scenes with all kinds of tools they suit.
func (p *player) playAll(ctx context.Context, all ...scene) []*pair {
	var pairs []*pair
	var wg sync.WaitGroup
	slots := make(chan struct{}, scenesAtOnce)
	for _, s := range all {
		for _, tool := range kinds {
			if !s.suits(tool) {
				continue
			}
			x := &pair{scene: s, tool: tool}
			pairs = append(pairs, x)
			number := len(pairs)
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				x.play(ctx, p, fmt.Sprintf("%s-%d", s.name(), number))
			})
		}
	}
	wg.Wait()
	return pairs
}

func (x *pair) play(ctx context.Context, p *player, order string) {
	var errs [2]error
	x.unguarded, errs[0] = p.unguarded(ctx, x.scene, x.tool, "plain-"+order)
	x.guard, errs[1] = p.guarded(ctx, x.scene, x.tool, "guard-"+order)
	x.err = errors.Join(errs[0], errs[1])
	if x.err == nil {
		x.err = x.guard.check()
	}
}

// wrong is what did not go as it should.
func wrong(pairs []*pair) error {
	var errs []error
	for _, x := range pairs {
		if x.err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", x.scene.title, x.tool, x.err))
		}
	}
	return errors.Join(errs...)
}
