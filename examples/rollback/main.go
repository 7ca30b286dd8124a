// Command rollback sends a request from inside a database/sql transaction, rolls
// the transaction back, and gets the answer all the same.
//
//	LOOPBROKER_DSN='sqlserver://…' go run ./examples/rollback http://127.0.0.1:8080/hello
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	_ "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/correlation"
	"loopbroker/loopback"
	"loopbroker/tsql"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: LOOPBROKER_DSN=… rollback URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("sqlserver", os.Getenv("LOOPBROKER_DSN"))
	if err == nil {
		err = run(ctx, db, os.Args[1], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rollback:", err)
		os.Exit(1)
	}
}

// run calls url from inside a transaction that it rolls back, and prints the reply.
func run(ctx context.Context, db *sql.DB, url string, out io.Writer) error {
	schema, err := tsql.NewSchema(tsql.DefaultSchema)
	if err != nil {
		return err
	}
	input, err := json.Marshal(map[string]string{"url": url, "method": "GET"})
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	id, err := loopback.NewSender(db, schema).SendTx(ctx, tx, loopbroker.Request{Type: loopbroker.TypeHTTP, JSON: string(input)})
	if err != nil {
		_ = tx.Rollback() // the first error is the one to tell
		return err
	}
	if err := tx.Rollback(); err != nil {
		return err
	}
	store, err := correlation.New(db, schema, correlation.Options{})
	if err != nil {
		return err
	}
	reply, err := store.Await(ctx, id)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "rolled back, and the request was %s with status %d\n", reply.State, reply.HTTPStatus)
	return err
}
