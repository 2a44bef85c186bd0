module github.com/toolguard-go/toolguard/bench

go 1.26.0

require (
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1
	github.com/stretchr/testify v1.12.1
	github.com/toolguard-go/toolguard v0.0.0
	golang.org/x/sync v0.25.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
)

replace github.com/toolguard-go/toolguard => ../
