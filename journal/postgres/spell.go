package postgres

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// spelled marks a byte that is spelled out. It is a sign one does not type.
const spelled = '␛'

// spell returns s as text that PostgreSQL can hold, no two the same: what is not
// UTF-8, NUL, and the mark itself are spelled out byte by byte.
func spell(s string) string {
	if utf8.ValidString(s) && !strings.ContainsRune(s, 0) && !strings.ContainsRune(s, spelled) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == 0 || r == spelled || r == utf8.RuneError && n == 1 {
			for i := range n {
				fmt.Fprintf(&b, "%c%02x", spelled, s[i])
			}
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// unspell is the reverse of spell.
func unspell(s string) string {
	plain, rest, found := strings.Cut(s, string(spelled))
	if !found {
		return s
	}
	var b strings.Builder
	b.WriteString(plain)
	for found {
		var one [1]byte
		if len(rest) >= 2 {
			_, _ = hex.Decode(one[:], []byte(rest[:2])) // spell wrote it
			rest = rest[2:]
		}
		b.WriteByte(one[0])
		plain, rest, found = strings.Cut(rest, string(spelled))
		b.WriteString(plain)
	}
	return b.String()
}

// eachString changes every string in a struct that v points to, those in structs
// within it and behind pointers included. Nothing behind a pointer is changed in
// place: it may be the caller's.
func eachString(v any, change func(string) string) { changeStrings(reflect.ValueOf(v).Elem(), change) }

func changeStrings(v reflect.Value, change func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); s != "" {
			v.SetString(change(s))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				changeStrings(f, change)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			changeStrings(own.Elem(), change)
			v.Set(own)
		}
	}
}
