package toolguardtest

import "github.com/toolguard-go/toolguard"

// claimingJournal is in memory and says otherwise.
type claimingJournal struct {
	*toolguard.MemoryJournal
	claims toolguard.Durability
}

// Durability implements [toolguard.Journal].
func (j claimingJournal) Durability() toolguard.Durability { return j.claims }

// JournalFor returns a journal in memory for a guard of the tool with this info. It
// says that it is as durable as Info.Durability demands, or [toolguard.New] would
// refuse the tool; it is not, and nothing of it survives the test. It works in fake
// time. Make a new one for each subject.
func JournalFor(info toolguard.Info) toolguard.Journal {
	return claimingJournal{toolguard.NewMemoryJournal(), info.Durability}
}
