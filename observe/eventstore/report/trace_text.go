package report

import (
	"io"
	"strings"
)

// WriteText writes the trace for a terminal.
func (t *Trace) WriteText(to io.Writer) error {
	w := &errWriter{to: to}
	w.printf("%s\n", strings.TrimSpace(shown(t.Tool, 60)+" "+shown(t.CallID, 80)))
	if t.Key != "" {
		w.printf("key %s\n", shown(t.Key, 200))
	}
	w.printf("\n")
	var rows [][]string
	for _, l := range t.Lines {
		rows = append(rows, []string{"  " + l.Time.UTC().Format("2006-01-02 15:04:05.000Z"), shown(l.Who, 30), shown(l.What, 400)})
	}
	w.table(rows, "lll")
	if r := t.last(); r != nil && r.OK {
		w.printf("\nDid it fail?                 %s\n", shown(strings.Replace(t.Layer, "Nowhere: t", "No, t", 1), 400))
	} else {
		w.printf("\nWhere did it fail?           %s\n", shown(t.Layer, 400))
	}
	w.printf("Why did it retry or stop?    %s\n", shown(t.Reason, 1000))
	w.printf("Did the effect happen?       %s\n", shown(t.Effect, 400))
	return w.err
}
