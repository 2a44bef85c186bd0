# Everything here also works as the plain go command it names.

.PHONY: test bench

test:
	go test work

# A table of ratios, all rows from one run; see docs/performance.md.
bench:
	go run ./bench/table
