package toolguard

import (
	"errors"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDiagnosePlainIsCheap(t *testing.T) {
	err := errors.New("x")
	allocs := testing.AllocsPerRun(200, func() { classify(err) })
	assert.LessOrEqual(t, allocs, 3.0)
}

func BenchmarkDiagnosePlain(b *testing.B) {
	err := errors.New("the order could not be found in the archive")
	b.ReportAllocs()
	for b.Loop() {
		classify(err)
	}
}

func BenchmarkDiagnoseShort(b *testing.B) {
	err := errors.New("x")
	b.ReportAllocs()
	for b.Loop() {
		classify(err)
	}
}

func BenchmarkDiagnoseDial(b *testing.B) {
	err := &url.Error{Op: "Get", Err: dialErr}
	b.ReportAllocs()
	for b.Loop() {
		classify(err)
	}
}

func BenchmarkDiagnoseForeign(b *testing.B) {
	err := wrap5(&sdkError{StatusCode: 503})
	b.ReportAllocs()
	for b.Loop() {
		classify(err)
	}
}
