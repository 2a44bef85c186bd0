//go:build race

package toolguard_test

const raceEnabled = true
