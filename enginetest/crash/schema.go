package crash

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

const (
	sessions = 6
	accounts = 8
	opening  = 1000 // what every account has at first
)

// schema makes the tables; it is one transaction.
const schema = `CREATE TABLE dbo.progress (session int NOT NULL CONSTRAINT progress_pk PRIMARY KEY, number bigint NOT NULL);
CREATE TABLE dbo.item (
	id bigint NOT NULL CONSTRAINT item_pk PRIMARY KEY,
	session int NOT NULL,
	number bigint NOT NULL,
	val int NOT NULL,
	note nvarchar(max) NULL,
	CONSTRAINT item_uq UNIQUE (val, id)
);
CREATE INDEX item_session ON dbo.item (session, val DESC) INCLUDE (number);
CREATE INDEX item_even ON dbo.item (number) WHERE val >= 500;
CREATE TABLE dbo.mirror (
	id bigint NOT NULL CONSTRAINT mirror_pk PRIMARY KEY NONCLUSTERED,
	session int NOT NULL,
	number bigint NOT NULL,
	val int NOT NULL
);
CREATE INDEX mirror_val ON dbo.mirror (val);
CREATE TABLE dbo.account (id int NOT NULL CONSTRAINT account_pk PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE dbo.moved (
	session int NOT NULL,
	account int NOT NULL CONSTRAINT moved_account_fk REFERENCES dbo.account (id),
	total bigint NOT NULL,
	CONSTRAINT moved_pk PRIMARY KEY (account, session)
);
CREATE TABLE dbo.ticket (
	no int IDENTITY(1, 1) NOT NULL CONSTRAINT ticket_pk PRIMARY KEY,
	session int NOT NULL,
	seq bigint NOT NULL,
	number bigint NOT NULL
);
CREATE INDEX ticket_session ON dbo.ticket (session, no);
CREATE SEQUENCE dbo.counter AS bigint START WITH 1 INCREMENT BY 1;`

// prepare makes the tables in a new directory.
func prepare(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, stmt := range strings.Split(schema, ";\n") {
		if _, err := tx.ExecContext(ctx, stmt); err != nil {
			return fmt.Errorf("%.60s: %w", stmt, err)
		}
	}
	for a := range accounts {
		if _, err := tx.ExecContext(ctx, "INSERT INTO dbo.account VALUES (@p1, @p2)", a, opening); err != nil {
			return err
		}
	}
	for s := range sessions {
		if _, err := tx.ExecContext(ctx, "INSERT INTO dbo.progress VALUES (@p1, 0)", s); err != nil {
			return err
		}
		for a := range accounts {
			if _, err := tx.ExecContext(ctx, "INSERT INTO dbo.moved VALUES (@p1, @p2, 0)", s, a); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// fixed are the tables that are always there, each with its key and its columns,
// and its session.
var fixed = []struct{ name, query string }{
	{"progress", "SELECT session, session, number FROM dbo.progress"},
	{"item", "SELECT session, id, number, val, note FROM dbo.item"},
	{"mirror", "SELECT session, id, number, val FROM dbo.mirror"},
	{"account", "SELECT -1, id, balance FROM dbo.account"},
	{"moved", "SELECT session, account, total FROM dbo.moved"},
	{"ticket", "SELECT session, no, seq, number FROM dbo.ticket"},
}

// Each session has a table of its own that comes and goes, and a procedure.
func sideTable(session int) string { return fmt.Sprintf("side_%d", session) }
func procedure(session int) string { return fmt.Sprintf("report_%d", session) }

// read reads all rows: those of each session, and under -1 what all share.
func read(ctx context.Context, db *sql.DB) (map[int]state, error) {
	all := map[int]state{-1: {}}
	for s := range sessions {
		all[s] = state{}
	}
	for _, t := range fixed {
		err := scan(ctx, db, t.query, func(v []any) {
			s := int(v[0].(int64))
			if all[s] == nil {
				all[s] = state{}
			}
			all[s][place{t.name, text(v[1])}] = text(v[2:]...)
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.name, err)
		}
	}
	for s := range sessions {
		if err := readSide(ctx, db, s, all[s]); err != nil {
			return nil, fmt.Errorf("read %s: %w", sideTable(s), err)
		}
	}
	return all, nil
}

// readSide reads a session's own table, its columns and indexes, and its
// procedure.
func readSide(ctx context.Context, db *sql.DB, session int, into state) error {
	name := sideTable(session)
	var columns, indexes []string
	for query, list := range map[string]*[]string{
		"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID(@p1) ORDER BY column_id":                     &columns,
		"SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID(@p1) AND name IS NOT NULL ORDER BY index_id": &indexes,
	} {
		err := scan(ctx, db, query, func(v []any) { *list = append(*list, text(v[0])) }, "dbo."+name)
		if err != nil {
			return err
		}
	}
	err := scan(ctx, db, "SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID(@p1)", func(v []any) {
		into[place{"procedure", procedure(session)}] = text(strings.Join(strings.Fields(v[0].(string)), " "))
	}, "dbo."+procedure(session))
	if err != nil || columns == nil {
		return err
	}
	into[place{"table", name}] = shape(columns, indexes)
	return scan(ctx, db, "SELECT * FROM dbo."+name, func(v []any) { into[place{name, text(v[0])}] = text(v[1:]...) })
}

// shape renders the definition of a session's own table.
func shape(columns, indexes []string) string {
	return strings.Join(columns, ",") + "/" + strings.Join(indexes, ",")
}

// scan runs a query and gives each row to take.
func scan(ctx context.Context, db *sql.DB, query string, take func([]any), args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		take(values)
	}
	return rows.Err()
}

// checkIndexes compares what a scan of each index gives with what a scan of the
// table gives, and returns what differs.
func checkIndexes(ctx context.Context, db *sql.DB) (faults []string, err error) {
	type index struct{ table, name, key, filter string }
	var all []index
	err = scan(ctx, db, `SELECT t.name, i.name, COALESCE(i.filter_definition, N''), c.name
FROM sys.indexes AS i JOIN sys.tables AS t ON t.object_id = i.object_id JOIN sys.columns AS c ON c.object_id = t.object_id AND c.column_id = 1
WHERE i.name IS NOT NULL`, func(v []any) {
		all = append(all, index{table: text(v[0]), name: text(v[1]), filter: v[2].(string), key: text(v[3])})
	})
	if err != nil {
		return nil, err
	}
	for _, ix := range all {
		where := ""
		if ix.filter != "" {
			where = " WHERE " + ix.filter
		}
		query := func(hint string) (got string, err error) {
			err = scan(ctx, db, fmt.Sprintf("SELECT COUNT_BIG(*), COALESCE(SUM(CONVERT(decimal(38), %s)), 0) FROM dbo.%s%s%s", ix.key, ix.table, hint, where),
				func(v []any) { got = text(v...) })
			return got, err
		}
		table, err := query(" WITH (INDEX(0))")
		if err != nil {
			return nil, fmt.Errorf("scan of %s: %w", ix.table, err)
		}
		byIndex, err := query(" WITH (INDEX(" + ix.name + "))")
		if err != nil {
			return nil, fmt.Errorf("scan of index %s: %w", ix.name, err)
		}
		if table != byIndex {
			faults = append(faults, fmt.Sprintf("index %s has %s (rows|sum of keys), its table %s has %s", ix.name, byIndex, ix.table, table))
		}
	}
	return faults, nil
}
