package main

import (
	"context"
	"crypto/rand"

	"loopbroker/loopback"
)

// provision makes the loopback of this broker, with a password that nobody else
// ever knows, and maps the logins to it that may send from inside transactions.
func (b *broker) provision(ctx context.Context, logins ...string) error {
	link := linkAccount(rand.Text() + "a1!")
	if err := link.ensure(ctx, b.db, b.schema); err != nil {
		return err
	}
	o := loopback.Options{User: link.login, Password: link.password}
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
