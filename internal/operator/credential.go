package operator

import (
	"context"
	"database/sql"
	"fmt"

	"loopbroker"
	"loopbroker/tsql"
)

// Credential is a bound name, and whether the endpoint it is bound to exists.
type Credential struct {
	loopbroker.Credential
	Bound bool
}

// BindCredential binds a name to an endpoint, and gives the principal the
// permission to use it, unless it is empty. The secret is not SQL's business.
func (o *Operator) BindCredential(ctx context.Context, c loopbroker.Credential, principal string) error {
	_, err := o.db.ExecContext(ctx, o.schema.Statement(tsql.StatementCredentialBind), sql.Named("name", c.Name),
		sql.Named("endpoint", c.Endpoint), sql.Named("kind", c.Kind.String()), sql.Named("field", nullString(c.Field)),
		sql.Named("principal", nullString(principal)))
	if err != nil {
		return fmt.Errorf("bind credential %s: %w", c.Name, err)
	}
	return nil
}

// Credentials returns the names that are bound.
func (o *Operator) Credentials(ctx context.Context) ([]Credential, error) {
	var out []Credential
	err := o.query(ctx, tsql.StatementCredentialList, func(rows *sql.Rows) error {
		var (
			c     Credential
			kind  string
			field sql.NullString
		)
		err := rows.Scan(&c.Name, &c.Endpoint, &kind, &field, &c.Bound)
		c.Kind, c.Field = loopbroker.CredentialKind(kind), field.String
		out = append(out, c)
		return err
	})
	return out, err
}

// RemoveCredential removes a name and the permissions for it. The error wraps
// ErrNotFound if there is none.
func (o *Operator) RemoveCredential(ctx context.Context, name string) error {
	return o.remove(ctx, tsql.StatementCredentialRemove, "credential", name)
}
