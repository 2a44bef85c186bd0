package toolguard

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What every known number, name and phrase means, in one file that can be read: a
// change of a row is a change of behaviour, and shows. Write it anew with
// TOOLGUARDTEST_UPDATE=1.
func TestClassificationTables(t *testing.T) {
	t.Parallel()
	const file = "testdata/classification.txt"
	var b strings.Builder
	row := func(table string, key any, code Code) { fmt.Fprintf(&b, "%s\t%v\t%s\n", table, key, code) }
	for status := 300; status < 600; status++ {
		row("http", status, httpCode(status))
	}
	for n, r := range rpcCodes {
		row("rpc", fmt.Sprint(n, " ", r.name), r.code)
	}
	for _, name := range slices.Sorted(maps.Keys(apiCodes)) {
		row("api", name, apiCodes[name])
	}
	for _, state := range slices.Sorted(maps.Keys(sqlStates)) {
		row("sqlstate", state, sqlStates[state])
	}
	for _, n := range slices.Sorted(maps.Keys(mySQLCodes)) {
		row("mysql", n, mySQLCodes[n])
	}
	for _, r := range errnos {
		row("errno", r.detail, r.code)
	}
	for _, p := range append(slices.Clone(phrases), slices.SortedFunc(maps.Values(wholeTexts), func(a, b phrase) int { return strings.Compare(a.text, b.text) })...) {
		row("text", fmt.Sprintf("%s typed=%t stopped=%t", p.text, p.typed, p.stopped), p.code)
	}
	var known []string
	for err, f := range sentinels {
		known = append(known, fmt.Sprintf("%v rank=%d definite=%t dial=%t eof=%t stopped=%t\t%s", err, f.rank, f.definite, f.dial, f.eof, f.stopped, f.code))
	}
	slices.Sort(known)
	for _, k := range known {
		fmt.Fprintf(&b, "sentinel\t%s\n", k)
	}
	for code := range Codes() {
		row("inner", code, innerCode(code))
	}
	if os.Getenv("TOOLGUARDTEST_UPDATE") == "1" {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}
