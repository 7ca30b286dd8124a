package tsql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// tableShape is a table as the catalog has it.
type tableShape struct {
	Columns []Column
	Indexes []catalogIndex
}

// column returns a column by name, without regard to case.
func (t tableShape) column(name string) (Column, bool) {
	return Shape{Columns: t.Columns}.column(name)
}

// fillable reports whether an insert that does not name the column succeeds.
func (c Column) fillable() bool {
	return c.Nullable || c.Default || c.Identity || c.Type == "timestamp"
}

// catalogIndex is an index as the catalog has it.
type catalogIndex struct {
	Index
	Disabled, Filtered bool
}

// sequence is a sequence as the catalog has it.
type sequence struct {
	Type             string
	Start, Increment int64
	Cycling          bool
}

// module is a module as the catalog has it.
type module struct {
	Definition                  string
	AnsiNulls, QuotedIdentifier bool
}

// matches reports whether the module needs no deployment.
func (m module) matches(o Object, schema Schema) bool {
	return m.AnsiNulls && m.QuotedIdentifier && m.sameText(o, schema)
}

// sameText compares a module's definition with its file. SQL Server keeps the
// batch as it was sent, but without the words OR ALTER; blanks at the ends and
// between words are not compared, because clients change them.
func (m module) sameText(o Object, schema Schema) bool {
	batches, err := Split(schema.Render(o.Text))
	if err != nil || len(batches) == 0 {
		return false
	}
	return normalise(m.Definition) == normalise(batches[len(batches)-1].Text)
}

var (
	reOrAlter = regexp.MustCompile(`(?i)\bCREATE\s+(?:OR\s+ALTER\s+)?(VIEW|PROCEDURE)\b`)
	reBlanks  = regexp.MustCompile(`\s+`)
)

// normalise returns a module's text without what may differ.
func normalise(text string) string {
	text = strings.TrimSpace(reBlanks.ReplaceAllString(text, " "))
	return reOrAlter.ReplaceAllString(text, "CREATE $1")
}

// readRows runs a catalog statement for a schema and calls scan for each row.
func readRows(ctx context.Context, db querier, schema Schema, name Statement, scan func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, name.Text(), sql.Named("schema", schema.Name()))
	if err != nil {
		return fmt.Errorf("statements/%s.sql: %w", name, err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has what matters
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("statements/%s.sql: %w", name, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("statements/%s.sql: %w", name, err)
	}
	return nil
}

// readObjects returns the kinds of a schema's objects by lower-case name.
func readObjects(ctx context.Context, db querier, schema Schema) (map[string]Kind, error) {
	out := map[string]Kind{}
	err := readRows(ctx, db, schema, StatementCatalogObjects, func(rows *sql.Rows) error {
		var name, kind string
		err := rows.Scan(&name, &kind)
		out[strings.ToLower(name)] = Kind(strings.TrimSpace(kind))
		return err
	})
	return out, err
}

// readTables returns a schema's tables by lower-case name.
func readTables(ctx context.Context, db querier, schema Schema) (map[string]tableShape, error) {
	out := map[string]tableShape{}
	err := readRows(ctx, db, schema, StatementCatalogColumns, func(rows *sql.Rows) error {
		var (
			table, defaultText string
			c                  Column
		)
		err := rows.Scan(&table, &c.Name, &c.Type, &c.Length, &c.Scale, &c.Nullable, &c.Identity, &c.Collation, &defaultText)
		c.Default = defaultText != ""
		c.Length = declaredLength(c)
		t := out[strings.ToLower(table)]
		t.Columns = append(t.Columns, c)
		out[strings.ToLower(table)] = t
		return err
	})
	if err != nil {
		return nil, err
	}
	err = readRows(ctx, db, schema, StatementCatalogIndexes, func(rows *sql.Rows) error {
		var (
			table, column string
			kind          int
			i             catalogIndex
		)
		err := rows.Scan(&table, &i.Name, &kind, &i.Unique, &i.Primary, &i.Disabled, &i.Filtered, &column)
		i.Clustered = kind == 1
		t := out[strings.ToLower(table)]
		if n := len(t.Indexes); n > 0 && t.Indexes[n-1].Name == i.Name {
			t.Indexes[n-1].Columns = append(t.Indexes[n-1].Columns, column)
		} else {
			i.Columns = []string{column}
			t.Indexes = append(t.Indexes, i)
		}
		out[strings.ToLower(table)] = t
		return err
	})
	return out, err
}

// declaredLength turns max_length, which is in bytes, into the length of a
// declaration.
func declaredLength(c Column) int {
	switch c.Type {
	case "nvarchar", "nchar":
		if c.Length > 0 {
			return c.Length / 2
		}
		return c.Length
	case "varchar", "char", "varbinary", "binary":
		return c.Length
	default:
		return 0
	}
}

// readModules returns a schema's modules by lower-case name.
func readModules(ctx context.Context, db querier, schema Schema) (map[string]module, error) {
	out := map[string]module{}
	err := readRows(ctx, db, schema, StatementCatalogModules, func(rows *sql.Rows) error {
		var (
			name string
			m    module
		)
		err := rows.Scan(&name, &m.Definition, &m.AnsiNulls, &m.QuotedIdentifier)
		out[strings.ToLower(name)] = m
		return err
	})
	return out, err
}

// readSequences returns a schema's sequences by lower-case name.
func readSequences(ctx context.Context, db querier, schema Schema) (map[string]sequence, error) {
	out := map[string]sequence{}
	err := readRows(ctx, db, schema, StatementCatalogSeq, func(rows *sql.Rows) error {
		var (
			name string
			s    sequence
		)
		err := rows.Scan(&name, &s.Type, &s.Start, &s.Increment, &s.Cycling)
		out[strings.ToLower(name)] = s
		return err
	})
	return out, err
}
