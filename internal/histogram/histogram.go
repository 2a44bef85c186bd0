// Package histogram counts durations by size in little memory.
package histogram

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"time"
)

// Durations has eight classes to every doubling, from 65 µs to an hour and more;
// the middle of a class is within a sixteenth of all that is in it. The zero value
// is empty. It is not safe for concurrent use.
type Durations [classesPerOctave * octaves]uint32

const (
	classesPerOctave = 8
	octaves          = 26
	lowest           = 16 // the octave of the shortest: 2^16 ns
)

// Add counts one duration. Shorter and longer ones than there are classes for
// count in the first and the last.
func (d *Durations) Add(took time.Duration) { d[Class(took)]++ }

// Merge adds all that other has counted.
func (d *Durations) Merge(other *Durations) {
	for i, n := range other {
		d[i] += n
	}
}

// Class returns the class of a duration: the octave, and the three bits below it.
func Class(took time.Duration) int {
	ns := uint64(max(took, 1<<lowest))
	octave := bits.Len64(ns) - 1
	return min((octave-lowest)*classesPerOctave+int(ns>>(octave-3)&7), classesPerOctave*octaves-1)
}

// Bound returns the shortest duration of a class.
func Bound(class int) time.Duration {
	octave, eighth := class/classesPerOctave, class%classesPerOctave
	return time.Duration(uint64(8+eighth) << (octave + lowest - 3))
}

func middle(class int) time.Duration { return (Bound(class) + Bound(class+1)) / 2 }

// Count returns how many were counted.
func (d *Durations) Count() (n uint64) {
	for _, c := range d {
		n += uint64(c)
	}
	return n
}

// At returns the duration that the share q of all are no longer than, from 0 to 1;
// zero if there are none.
func (d *Durations) At(q float64) time.Duration {
	total := d.Count()
	if total == 0 {
		return 0
	}
	rank := uint64(max(math.Ceil(q*float64(total)), 1)) - 1
	for class, n := range d {
		if uint64(n) > rank {
			return middle(class)
		}
		rank -= uint64(n)
	}
	return middle(len(d) - 1)
}

// AppendBinary appends the classes that are not empty, in a few bytes each.
func (d *Durations) AppendBinary(b []byte) ([]byte, error) {
	last := 0
	for class, n := range d {
		if n > 0 {
			b = binary.AppendUvarint(b, uint64(class-last))
			b = binary.AppendUvarint(b, uint64(n))
			last = class
		}
	}
	return b, nil
}

var errForm = errors.New("histogram: not in the form of AppendBinary")

// AddBinary adds what AppendBinary wrote.
func (d *Durations) AddBinary(b []byte) error {
	for class := uint64(0); len(b) > 0; {
		step, n := binary.Uvarint(b)
		if n <= 0 {
			return errForm
		}
		count, m := binary.Uvarint(b[n:])
		if m <= 0 || step >= uint64(len(d)) {
			return errForm
		}
		if class += step; class >= uint64(len(d)) {
			return errForm
		}
		d[class] += uint32(count)
		b = b[n+m:]
	}
	return nil
}
