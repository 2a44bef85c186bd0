//go:build !race

package schema_test

// honestItems is how long a list validation takes in its stride.
const honestItems = 20_000
