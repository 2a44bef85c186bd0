# Everything here also works as the plain go command it names.

.PHONY: test bench crash chance

test:
	go test work

# A table of ratios, all rows from one run; see docs/performance.md.
bench:
	go run ./bench/table

# For each journal, a thousand processes killed while they write; what was acknowledged is read again. Then
# agents and people killed around one refund, wherever chance has it. PostgreSQL needs a server in
# TOOLGUARD_TEST_POSTGRES: see .ci/postgres.
crash:
	go test ./journal/sqlite -run TestNoAcknowledgedWriteIsLost -count=1 -timeout 30m -v -args -kills 1000
	TOOLGUARD_TEST_MUST_RUN=1 go test ./journal/postgres -run TestNoAcknowledgedWriteIsLost -count=1 -timeout 30m -v -args -kills 1000
	TOOLGUARD_TEST_MUST_RUN=1 go test ./examples/refund -run TestScenesOfChance -count=1 -timeout 30m -v -args -chances 300

# Twenty thousand programs that chance has made, each held against what really happened: a failure prints the program,
# and -seed plays it again.
chance:
	go test . -run TestProgramsOfChance -count=1 -timeout 30m -args -programs 20000
