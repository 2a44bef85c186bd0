//go:build !race

package proxy

const hugeUnit = 1_000_000
