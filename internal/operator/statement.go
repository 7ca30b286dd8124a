package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"loopbroker/tsql"
)

// ErrNotFound means that there is no row of that name.
var ErrNotFound = errors.New("not found")

// query runs a statement and calls scan for each row.
func (o *Operator) query(ctx context.Context, name tsql.Statement, scan func(*sql.Rows) error, args ...any) error {
	fail := func(err error) error { return fmt.Errorf("statements/%s.sql: %w", name, tsql.WrapError(err)) }
	rows, err := o.db.QueryContext(ctx, o.schema.Statement(name), args...)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has what matters
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fail(err)
		}
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	return nil
}

// remove runs a statement that removes what has a name and says how many it were.
func (o *Operator) remove(ctx context.Context, statement tsql.Statement, what, name string) error {
	removed := 0
	err := o.query(ctx, statement, func(rows *sql.Rows) error { return rows.Scan(&removed) }, sql.Named("name", name))
	if err != nil {
		return err
	}
	if removed == 0 {
		return fmt.Errorf("%s %q: %w", what, name, ErrNotFound)
	}
	return nil
}

func nullString(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

func nullInt(n int) sql.NullInt64 { return sql.NullInt64{Int64: int64(n), Valid: n != 0} }
