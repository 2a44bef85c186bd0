package policies_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolguard-go/toolguard"
	"github.com/toolguard-go/toolguard/policies"
)

const document = `{
  "version": 1,
  "defaults": {"timeout": {"attempt": "20s"}},
  "classes": {"payments": {"retry": {"off": true}, "concurrency": {"max": 4}}},
  "tools": {"refund": {"class": "payments", "timeout": {"attempt": "45s"}}}
}`

func Example() {
	set, err := policies.Load(strings.NewReader(document))
	if err != nil {
		fmt.Println(err)
		return
	}
	refund := toolguard.Text(toolguard.Info{Name: "refund"}, func(context.Context, string) (string, error) {
		return "refunded", nil
	})
	opts := set.For(refund.Info())
	opts.Observer = nil // the collaborators are yours to fill in
	guard, err := toolguard.New(refund, &opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := guard.Describe()
	fmt.Println("attempt", d.Timeout.Attempt, "at once", d.Concurrency.Max, "retries off:", d.Retry.Off)
	// Output: attempt 45s at once 4 retries off: true
}

func ExampleParse_errors() {
	_, err := policies.Parse([]byte(`{
	  "version": 1,
	  "defaults": {"timeout": {"atempt": "20s", "grace": 2}},
	  "tools": {"refund": {"rety": {"off": true}}}
	}`))
	fmt.Println(err)
	// Output:
	// policies: /defaults/timeout/atempt: unknown member, did you mean "attempt"?
	// policies: /defaults/timeout/grace: 2, want a duration as a string, such as "60s" or "200ms": a bare number has no unit
	// policies: /tools/refund/rety: unknown member, did you mean "retry"?
}

func ExampleSet_Check() {
	set, err := policies.Parse([]byte(`{"version": 1, "tools": {"refnud": {"retry": {"off": true}}}}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(set.Check("search", "refund"))
	// Output: policies: /tools/refnud: no such tool, did you mean "refund"?
}

func ExampleSet_HTTPClient() {
	client, err := policies.Default().HTTPClient("identity")
	fmt.Println(client.Timeout, err)
	// Output: 5s <nil>
}
