package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"

	"loopbroker"
	"loopbroker/loopback"
	"loopbroker/tsql"
)

// provision makes the loopback of this broker, with a password that nobody else
// ever knows, and maps the logins to it that may send from inside transactions.
func (b *broker) provision(ctx context.Context, logins ...string) error {
	link := linkAccount(rand.Text() + "a1!")
	if err := link.ensure(ctx, b.db); err != nil {
		return err
	}
	o := loopback.Options{User: link.login, Password: link.password}
	var err error
	if o.DataSource, err = dataSource(ctx, b.db, b.schema); err != nil {
		return err
	}
	if err := loopback.Provision(ctx, b.db, b.schema, o); err != nil {
		return err
	}
	for _, login := range logins {
		o.LocalLogin = login
		if err := loopback.Provision(ctx, b.db, b.schema, o); err != nil {
			return err
		}
	}
	return nil
}

// dataSource returns where the linked server leads that is there already, or ""
// for the default of a new one. A link that leads elsewhere than here fails its
// proof.
func dataSource(ctx context.Context, db *sql.DB, schema tsql.Schema) (string, error) {
	link, err := loopback.ReadLink(ctx, db, schema)
	if err != nil && !errors.Is(err, loopbroker.ErrNoLoopback) {
		return "", err
	}
	return link.DataSource, nil
}
