package main

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"
)

// version is set by a release build; otherwise the build's own information is
// used.
var version = ""

func versionCommand(_ context.Context, flags *flag.FlagSet, args []string, c *console) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.out, "toolguard", versionText())
	return err
}

func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version + " " + info.GoVersion
}
