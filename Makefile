# Everything here also works as the plain go command it names.

.PHONY: test bench crash

test:
	go test work

# A table of ratios, all rows from one run; see docs/performance.md.
bench:
	go run ./bench/table

# A thousand processes killed while they write; what was acknowledged is read again.
crash:
	go test ./journal/sqlite -run TestNoAcknowledgedWriteIsLost -count=1 -timeout 30m -v -args -kills 1000
