//go:build race

package proxy

// The race detector makes reading a text many times slower.
const hugeUnit = 100_000
