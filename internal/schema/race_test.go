//go:build race

package schema_test

// honestItems is a tenth of the usual: the race detector slows validation
// tenfold, the budget of time stays as it is.
const honestItems = 2_000
