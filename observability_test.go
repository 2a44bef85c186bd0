package toolguard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolguard-go/toolguard"
)

// fieldRows are the rows of the table of fields in docs/observability.md.
func fieldRows(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("docs/observability.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "|---|---|---|---|---|\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		require.Len(t, cells, 5, line)
		rows[strings.Trim(strings.TrimSpace(cells[0]), "`")] = cells
	}
	return rows
}

// Every field of an event is in the table, under the name the log has for it.
func TestObservabilityHasEveryField(t *testing.T) {
	t.Parallel()
	rows := fieldRows(t)
	event := reflect.TypeFor[toolguard.Event]()
	for i := range event.NumField() {
		assert.Contains(t, rows, event.Field(i).Name, "a row of docs/observability.md")
	}
	assert.Len(t, rows, event.NumField())
	var want []string
	for _, cells := range rows {
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[2], -1) {
			want = append(want, m[1])
		}
	}
	assert.ElementsMatch(t, want, logged(t))
}

// logged are the attributes of an event in which everything is set.
func logged(t *testing.T) (names []string) {
	t.Helper()
	var e toolguard.Event
	fill(reflect.ValueOf(&e).Elem())
	e.Kind, e.OK, e.Err = toolguard.EventLate, false, &toolguard.PanicError{Value: errors.New("x"), Stack: []byte("main.f()\n\t/a/b.go:1 +0x1\n")}
	var b bytes.Buffer
	toolguard.LogObserver(slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))).Observe(t.Context(), e)
	var record map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &record))
	for name := range record {
		if name != slog.TimeKey && name != slog.LevelKey && name != slog.MessageKey {
			names = append(names, name)
		}
	}
	return names
}

// fill sets everything that can be set to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Array:
		fill(v.Index(0))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	}
}
