package storagebench

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"loopbroker/engine"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// rowTable is the table of the rows of 200 bytes: a bigint, which is the key, and
// a varchar of 192 bytes.
const rowTable storage.ObjectID = 1 << 40

const rowText = 192

// rowsDef defines the table.
func rowsDef() storage.TableDef {
	return storage.TableDef{ID: rowTable, Space: 1, Columns: 2, Indexes: []storage.IndexDef{
		{ID: 1, Unique: true, Clustered: true, Key: []storage.KeyColumn{{Ordinal: 0, Type: types.TypeBigInt}}},
	}}
}

// newRow makes a row with text of its own, as a client's value would be.
func newRow(key int64) types.Row {
	return types.Row{types.NewBigInt(key), types.NewVarChar(strings.Repeat(string(rune('a'+key%26)), rowText))}
}

// createRows creates the table.
func createRows(ctx context.Context, s *storage.Store) (*storage.Table, error) {
	tx := s.Begin(nil)
	t, err := tx.CreateTable(rowsDef())
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	return t, tx.Commit(ctx)
}

// insertRow commits one row.
func insertRow(ctx context.Context, s *storage.Store, o *storage.Owner, t *storage.Table, key int64) error {
	tx := s.Begin(o)
	if _, err := tx.Insert(ctx, t, newRow(key), storage.Forever); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit(ctx)
}

// The same table in T-SQL, and the statement that fills it with @n rows,
// numbered from 1.
const (
	createRowsSQL = "CREATE TABLE dbo.item (id bigint NOT NULL PRIMARY KEY CLUSTERED, body varchar(192) NOT NULL)"
	fillRowsSQL   = `SET NOCOUNT ON;
DECLARE @i bigint = 0;
BEGIN TRANSACTION;
WHILE @i < @n
BEGIN
    SET @i += 1;
    INSERT INTO dbo.item (id, body) VALUES (@i, REPLICATE(CHAR(97 + @i % 26), 192));
    IF @i % 1000 = 0
    BEGIN
        COMMIT TRANSACTION;
        BEGIN TRANSACTION;
    END;
END;
COMMIT TRANSACTION;`
)

// closeTime bounds the end of an engine.
const closeTime = time.Minute

// server is an engine and a client of it.
type server struct {
	srv *engine.Server
	db  *sql.DB
}

func openServer(ctx context.Context, o engine.Options) (*server, error) {
	srv, err := engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &server{srv: srv, db: sql.OpenDB(srv.Connector())}, nil
}

// close ends the engine, also when ctx is over.
func (s *server) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return errors.Join(s.db.Close(), s.srv.Close(ctx))
}

// sessions opens n sessions.
func (s *server) sessions(ctx context.Context, n int) ([]*sql.Conn, error) {
	conns := make([]*sql.Conn, n)
	for i := range conns {
		c, err := s.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		conns[i] = c
	}
	return conns, nil
}

// execAll runs statements one after the other.
func (s *server) execAll(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		if _, err := s.db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
