package main

import (
	"context"
	"flag"
)

func checkCommand(context.Context, *flag.FlagSet, []string, *console) error { return errNo }
