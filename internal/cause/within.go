package cause

import (
	"context"
	"time"

	"github.com/toolguard-go/toolguard/internal/isolate"
)

// Patience is how long an error may take to answer.
const Patience = 250 * time.Millisecond

// Within runs f on a goroutine of its own and reports whether it ended properly
// within [Patience]. After false f may still run: read nothing it writes. Where
// too many errors on the account hang, f is not run.
func Within(account *isolate.Account, f func()) bool {
	return account.Run(context.Background(), Patience, func(context.Context) error {
		f()
		return nil
	}) == nil
}
