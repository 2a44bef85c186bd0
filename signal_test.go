package toolguard

import (
	"testing"
)

// Sent and waited for at once, a signal is closed once and arrives.
func TestASignalThatIsSentWhileItIsWaitedFor(t *testing.T) {
	t.Parallel()
	for range 20_000 {
		s, begin := new(signal), make(chan struct{})
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			<-begin
			s.send()
		}()
		close(begin)
		<-s.wait()
		<-sent
	}
}
