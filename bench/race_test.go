//go:build race

package bench

import "testing"

func skipUnderRace(t *testing.T) { t.Skip("the race detector allocates, too") }
