package tsql

import (
	"fmt"
	"slices"
	"strings"
)

// verifyTable compares one table: columns, then the primary key by its columns,
// then indexes. A column of our own queue table that a hand-made one has
// otherwise, and that the claim copes with, is not compared.
func verifyTable(want Shape, got tableShape, schema Schema) Findings {
	object := schema.Object(want.Table)
	var out Findings
	for _, w := range want.Columns {
		g, ok := got.column(w.Name)
		if !ok {
			out = append(out, Finding{Object: object, Problem: fmt.Sprintf("column %s is missing", w.Name),
				Repair: fmt.Sprintf("ALTER TABLE %s ADD [%s] %s.", object, w.Name, w.declaration())})
			continue
		}
		if problem := differs(want.Table, w, g); problem != "" {
			out = append(out, Finding{Object: object, Problem: fmt.Sprintf("column %s %s", w.Name, problem),
				Repair: fmt.Sprintf("ALTER TABLE %s ALTER COLUMN [%s] %s.", object, w.Name, w.declaration())})
		}
	}
	for _, g := range got.Columns {
		if _, ok := want.column(g.Name); !ok && !g.fillable() {
			out = append(out, Finding{Object: object,
				Problem: fmt.Sprintf("column %s is not ours, takes no NULL and has no default", g.Name),
				Repair:  "Give it a default, or let it take NULL."})
		}
	}
	return append(out, verifyIndexes(want, got, object)...)
}

// operatorOwned says which table a migration may have made by hand, with the
// published shape, and so without our clustered index.
func operatorOwned(table string) bool { return table == TableTransportMessages }

// differs says how a column differs from what it has to be, or nothing. Widths of
// text are minimums; a smaller scale is another clock, so scales are exact.
func differs(table string, want, got Column) string {
	queueName := operatorOwned(table) && want.Name == "queue"
	switch {
	case !queueName && !strings.EqualFold(got.Type, want.Type):
		return fmt.Sprintf("is %s, not %s", got.Type, want.Type)
	case queueName && !strings.HasSuffix(strings.ToLower(got.Type), "varchar"):
		return fmt.Sprintf("is %s, which cannot be matched exactly", got.Type)
	case shorter(got.Length, want.Length):
		return fmt.Sprintf("is shorter than %s", want.declaration())
	case got.Scale != want.Scale:
		return fmt.Sprintf("has a scale of %d, not %d", got.Scale, want.Scale)
	case got.Nullable && !want.Nullable:
		return "takes NULL"
	case !got.Nullable && want.Nullable:
		return "takes no NULL"
	case got.Identity != want.Identity:
		return fmt.Sprintf("is an identity: %t, not %t", got.Identity, want.Identity)
	case want.Default && !got.Default:
		return "has no default"
	case !queueName && want.Collation != "" && !strings.EqualFold(got.Collation, want.Collation):
		return fmt.Sprintf("has the collation %s, not %s", got.Collation, want.Collation)
	default:
		return ""
	}
}

// shorter reports whether a length is less than a wanted one; -1 is max.
func shorter(got, want int) bool {
	switch {
	case want == 0 || got == -1:
		return false
	case want == -1:
		return true
	default:
		return got < want
	}
}

// declaration returns the column as DDL.
func (c Column) declaration() string {
	var b strings.Builder
	b.WriteString(c.Type)
	switch {
	case c.Length == -1:
		b.WriteString("(max)")
	case c.Length > 0:
		fmt.Fprintf(&b, "(%d)", c.Length)
	case c.Type == "datetime2":
		fmt.Fprintf(&b, "(%d)", c.Scale)
	}
	if c.Collation != "" {
		b.WriteString(" COLLATE " + c.Collation)
	}
	if c.Nullable {
		b.WriteString(" NULL")
	} else {
		b.WriteString(" NOT NULL")
	}
	return b.String()
}

// verifyIndexes compares the primary key by its columns, and asks for one enabled
// index without a filter for each of ours, by key columns. Names do not matter.
func verifyIndexes(want Shape, got tableShape, object string) Findings {
	var out Findings
	for _, w := range want.Indexes {
		fits := slices.ContainsFunc(got.Indexes, func(g catalogIndex) bool {
			return !g.Disabled && !g.Filtered && (!w.Primary || g.Primary) && equalNames(g.Columns, w.Columns)
		})
		if fits {
			continue
		}
		columns := strings.Join(w.Columns, ", ")
		switch {
		case w.Primary:
			out = append(out, Finding{Object: object, Problem: fmt.Sprintf("its primary key is not (%s)", columns),
				Repair: fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s), after dropping another one.", object, columns)})
		default:
			kind := "NONCLUSTERED"
			if w.Clustered && !slices.ContainsFunc(got.Indexes, func(g catalogIndex) bool { return g.Clustered }) {
				kind = "CLUSTERED"
			}
			out = append(out, Finding{Object: object, Warning: operatorOwned(want.Table),
				Problem: fmt.Sprintf("has no enabled index without a filter on (%s)", columns),
				Repair:  fmt.Sprintf("CREATE %s INDEX %s ON %s (%s).", kind, w.Name, object, columns)})
		}
	}
	return out
}

// equalNames compares two lists of columns without regard to case.
func equalNames(a, b []string) bool { return slices.EqualFunc(a, b, strings.EqualFold) }
