package toolguard

import (
	"cmp"
	"fmt"
)

// setDefault replaces a zero value by its documented default.
func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// badOption is the one shape of a constructor error: the field, its value, and
// what would have been right.
func badOption(field string, value any, want string) error {
	return fmt.Errorf("toolguard: Options.%s is %v, want %s", field, value, want)
}

func notNegative[T cmp.Ordered](field string, v T) error {
	var zero T
	if v < zero {
		return badOption(field, v, "zero or more")
	}
	return nil
}
