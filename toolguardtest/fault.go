package toolguardtest

import (
	"slices"
	"strings"

	"github.com/toolguard-go/toolguard"
)

// Fault is one way in which a tool goes wrong.
type Fault struct {
	// Name says what goes wrong: "http 429, retry-after in seconds".
	Name string
	// Step is what the tool does, in every run.
	Step Step
	// Code is what a guard with the default options makes of it; "" is a success.
	Code toolguard.Code
	// Acts says that the tool has its effect although it fails.
	Acts bool
	// Proves says that this proves, of a tool that makes a single request, that
	// nothing was done. With Acts the fault is not for such tools.
	Proves bool
	// Deaf says that the tool takes no notice of its context.
	Deaf bool
	// Secrets are parts of the cause that no model may read.
	Secrets []string
}

// Failure makes a fault of an error. make is called in each run, so that an error
// with state is new each time.
func Failure(name string, code toolguard.Code, make func() error) Fault {
	return Fault{
		Name: name, Code: code, Secrets: secrets,
		Step: func(*Run) (toolguard.Result, error) { return toolguard.Result{}, make() },
	}
}

// proof says that the fault proves something.
func (f Fault) proof() Fault {
	f.Proves = true
	return f
}

// AfterActing returns the same fault of a tool that has had its effect before.
func (f Fault) AfterActing() Fault {
	f.Name, f.Step, f.Acts = "acts, then "+f.Name, Commit(f.Step), true
	return f
}

// Faults returns the catalogue: errors as drivers, SDKs and net/http return them,
// answers that are hard to read, code that misbehaves, and the treacherous ones
// that act and then fail. The list grows; no test should count it.
func Faults() []Fault {
	all := slices.Concat(networkFaults(), httpFaults(), rpcFaults(), sqlFaults(), localFaults(), authorFaults(), hostileFaults(), runFaults(), resultFaults())
	for _, f := range all {
		if f.losesAnswer() {
			all = append(all, f.AfterActing())
		}
	}
	return all
}

// losesAnswer reports whether a tool may have acted before it fails like this.
// What an author says of the outcome is taken at its word, so those are out.
func (f *Fault) losesAnswer() bool {
	return f.Code != "" && f.Code != anyCode && !f.Acts && !strings.HasPrefix(f.Name, "author:")
}

// FaultNamed returns the fault of the catalogue with this name, for a test about
// one fault. It panics if there is none, with names that come close.
func FaultNamed(name string) Fault {
	var near []string
	for _, f := range Faults() {
		if f.Name == name {
			return f
		}
		if strings.Contains(f.Name, name) || strings.Contains(name, f.Name) {
			near = append(near, f.Name)
		}
	}
	panic("toolguardtest: no fault is named " + name + "; there are: " + strings.Join(near, "; "))
}

// What causes carry that no model may read. Secrets in plain text are of shapes that
// redaction knows: plain text is quoted, and nothing else could keep one out.
const (
	secretHost  = "ledger-7.corp.internal"
	secretAddr  = "10.0.0.5"
	secretPort  = "5432"
	secretToken = "sk-live-9f8e7d6c5b4a39281706f5e4d3c2b1a0"
	secretPath  = "/srv/billing/refund.go"
	secretQuery = "INSERT INTO refunds"
	secretPass  = "hunter2-hunter2"
	secretURL   = "https://" + secretHost + ":" + secretPort + "/v1/refunds?api_key=" + secretToken
	secretDSN   = "postgres://billing:" + secretPass + "@" + secretHost + ":" + secretPort + "/ledger"
)

var secrets = []string{secretHost, secretAddr, secretToken, secretPath, secretQuery, secretPass, "goroutine ", "0xc000", "runtime error"}
