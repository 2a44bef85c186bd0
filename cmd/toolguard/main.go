// Command toolguard guards the tools of MCP servers, for any MCP client, and tells
// what a guard makes of a schema and of arguments. See docs/cli.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // what was asked for could not be done, or the answer is no
	exitUsage   = 2 // the command line or a file it names makes no sense
)

// console is what a command talks to. Logs go to err only: with proxy, out is the
// protocol.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// command is one of the program's.
type command struct {
	name, args, about string
	// run reads the flags and does it. Its error is shown, and ends with exitUsage
	// if it is a usageError, else with exitFailure.
	run func(ctx context.Context, flags *flag.FlagSet, args []string, c *console) error
}

func commands() []command {
	return []command{
		{"proxy", "[flags] -- <command of an MCP server>", "Stand in front of an MCP server and guard the calls of its tools.", proxyCommand},
		{"check", "[flags] <schema file> [<arguments file>]", "Show what a guard makes of a tool's schema and of arguments.", checkCommand},
		{"journal", "<list|show|decide|export|prune> -journal <file> [flags]", "Look at what calls have left in a journal, and decide about it.", journalCommand},
		{"report", "-store <store> [flags]", "Tell how often which tools fail, and whether it got worse.", reportCommand},
		{"trace", "-store <store> [flags] <call or key>", "Tell what happened to one call, and whether its effect took place.", traceCommand},
		{"version", "", "Print the version.", versionCommand},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], &console{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// usageError is about the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errNo ends a command whose answer, already printed, is no.
var errNo = errors.New("no")

func run(ctx context.Context, args []string, c *console) int {
	if len(args) == 0 {
		overview(c.err)
		return exitUsage
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		overview(c.out)
		return exitOK
	}
	for _, cmd := range commands() {
		if cmd.name == args[0] {
			return cmd.do(ctx, args[1:], c)
		}
	}
	fmt.Fprintf(c.err, "toolguard: there is no command %q\n\n", args[0])
	overview(c.err)
	return exitUsage
}

func (cmd *command) do(ctx context.Context, args []string, c *console) int {
	flags := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // it is shown here, where the exit code is chosen
	err := cmd.run(ctx, flags, args, c)
	var usage usageError
	var below exited
	switch {
	case errors.As(err, &below):
		return below.code
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		cmd.help(c.out, flags)
		return exitOK
	case errors.Is(err, errNo):
		return exitFailure
	case errors.As(err, &usage):
		fmt.Fprintf(c.err, "toolguard %s: %v\nRun toolguard %s -h for help.\n", cmd.name, err, cmd.name)
		return exitUsage
	default:
		fmt.Fprintf(c.err, "toolguard %s: %v\n", cmd.name, err)
		return exitFailure
	}
}

// parse reads the flags of a command.
func parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return usageError{err}
	}
	return err
}

func overview(w io.Writer) {
	fmt.Fprint(w, "toolguard guards the tool calls of LLM agents.\n\nusage: toolguard <command> [flags] [arguments]\n\n")
	for _, cmd := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", cmd.name, cmd.about)
	}
	fmt.Fprint(w, "\nRun toolguard <command> -h for the flags of a command.\n")
}

func (cmd *command) help(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "%s\n\nusage: toolguard %s %s\n", cmd.about, cmd.name, cmd.args)
	any := false
	flags.VisitAll(func(*flag.Flag) { any = true })
	if any {
		fmt.Fprint(w, "\nflags:\n")
		flags.SetOutput(w)
		flags.PrintDefaults()
	}
}
