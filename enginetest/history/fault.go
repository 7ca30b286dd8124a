package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is something that must not happen.
type Fault struct {
	// Rule is what was broken, in a few words.
	Rule string
	// Text explains it.
	Text string
	// Statements are those of the transactions that have part in it, in the
	// order in which they were sent.
	Statements []string
}

// String is the whole explanation.
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", f.Rule, f.Text)
	for _, s := range f.Statements {
		fmt.Fprintf(&b, "    %s\n", s)
	}
	return b.String()
}

// newFault names the statements that have part in a fault, and of their
// transactions the beginning, savepoints and the end.
func newFault(rule, text string, statements ...*statement) Fault {
	f := Fault{Rule: rule, Text: text}
	part := map[*statement]bool{}
	txns := map[*transaction]bool{}
	var all []*statement
	for _, s := range statements {
		if s == nil {
			continue
		}
		part[s] = true
		if !txns[s.txn] {
			txns[s.txn] = true
			all = append(all, s.txn.statements...)
		}
	}
	all = slices.DeleteFunc(all, func(s *statement) bool {
		return !part[s] && (s.kind == query || s.kind == aggregate || s.kind == dml)
	})
	slices.SortFunc(all, func(a, b *statement) int { return cmp.Compare(a.sent, b.sent) })
	for _, s := range all {
		f.Statements = append(f.Statements, fmt.Sprintf("%4d-%-4d %s %s", s.sent, s.answered, s.name(), s.line()))
	}
	return f
}
