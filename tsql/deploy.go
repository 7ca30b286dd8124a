package tsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"loopbroker"
)

// Options say where the objects live.
type Options struct {
	// Schema is the schema of all objects.
	//
	// Defaults to DefaultSchema.
	Schema string

	// LinkServer is the name of the loopback linked server that a first deployment
	// writes into the settings. Later deployments leave the setting alone.
	//
	// Defaults to DefaultLinkServer.
	LinkServer string

	// pretend is what a test wants the server to be.
	pretend *server
}

// server returns what the server is.
func (o Options) server(ctx context.Context, db querier) (server, error) {
	if o.pretend != nil {
		return *o.pretend, nil
	}
	return readServer(ctx, db)
}

// WithDefaults returns the options with every zero field filled in.
func (o Options) WithDefaults() Options {
	if o.Schema == "" {
		o.Schema = DefaultSchema
	}
	if o.LinkServer == "" {
		o.LinkServer = DefaultLinkServer
	}
	return o
}

// Validate returns an error that wraps loopbroker.ErrInvalid and names every
// fault, or nil.
func (o Options) Validate() error {
	var errs []error
	if _, err := NewSchema(o.Schema); err != nil {
		errs = append(errs, err)
	}
	if !validIdentifier(o.LinkServer) {
		errs = append(errs, fmt.Errorf("%w: linked server %q: need letters, digits and underscores, not starting with a digit, at most %d characters",
			loopbroker.ErrInvalid, o.LinkServer, maxIdentifier))
	}
	return errors.Join(errs...)
}

// ddlResource names the lock under which a schema's objects are made. Other
// programs on the same tables take the same one.
func ddlResource(s Schema) string { return "asyncresponse:ddl:" + s.Name() }

// Deploy makes what is missing in the database of db and brings every module to
// this package's text, all in one transaction, and verifies the result. It is
// idempotent. Tables of an older version of this package are upgraded; others that
// exist are never changed: a wrong shape is an error that says what to change, a
// *VerifyError.
//
// Several deployments at once wait for each other, at most 60 s.
func Deploy(ctx context.Context, db *sql.DB, opts Options) error {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return err
	}
	schema, err := NewSchema(opts.Schema)
	if err != nil {
		return err
	}
	srv, err := opts.server(ctx, db)
	if err != nil {
		return fmt.Errorf("deploy: %w", err)
	}
	if err := srv.check(); err != nil {
		return fmt.Errorf("deploy: %w", err)
	}
	if err := deployObjects(ctx, db, schema, opts, srv); err != nil {
		return errors.Join(fmt.Errorf("deploy: %w", err), diagnose(ctx, db, schema))
	}
	findings, err := Verify(ctx, db, opts)
	if err != nil {
		return fmt.Errorf("verify after deployment: %w", err)
	}
	return findings.Err()
}

// deployObjects runs the whole deployment in one transaction.
func deployObjects(ctx context.Context, db *sql.DB, schema Schema, opts Options, srv server) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// The transaction may be gone already; the first error is the one to tell.
			_ = tx.Rollback()
		}
	}()

	if err := lockDDL(ctx, tx, schema); err != nil {
		return err
	}
	if err := ensureSchema(ctx, tx, schema); err != nil {
		return err
	}
	modules, err := readModules(ctx, tx, schema)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, schema.Statement(StatementPrincipals)); err != nil {
		return fmt.Errorf("make the roles (a member of db_owner can, or make them first): %w", err)
	}
	for _, u := range upgrades() {
		if err := runScript(ctx, tx, schema.Render(u.text)); err != nil {
			return fmt.Errorf("%s: %w", u.file, err)
		}
	}
	seeded := false
	for _, o := range Objects() {
		if o.Kind.Module() && !seeded {
			// The rows come after the tables and before the modules that read them.
			if err := seed(ctx, tx, schema, opts); err != nil {
				return err
			}
			seeded = true
		}
		if srv.leavesOut(o.Name, schema) {
			continue
		}
		if m, ok := modules[strings.ToLower(o.Name)]; ok && o.Kind.Module() && m.matches(o, schema) {
			continue
		}
		if err := runScript(ctx, tx, schema.Render(o.Text)); err != nil {
			return fmt.Errorf("%s: %w", o.File, err)
		}
	}
	if _, err := tx.ExecContext(ctx, srv.grants(schema)); err != nil {
		return fmt.Errorf("statements/%s.sql: %w", StatementGrants, err)
	}
	return tx.Commit()
}

// lockDDL takes the deployment lock until the transaction ends.
func lockDDL(ctx context.Context, tx *sql.Tx, schema Schema) error {
	var granted int
	row := tx.QueryRowContext(ctx, StatementLockDDL.Text(), sql.Named("resource", ddlResource(schema)))
	if err := row.Scan(&granted); err != nil {
		return fmt.Errorf("take the deployment lock: %w", err)
	}
	if granted < 0 {
		return fmt.Errorf("%w: the deployment lock %q was not granted within 60 s (result %d): another deployment is at work",
			loopbroker.ErrSchema, ddlResource(schema), granted)
	}
	return nil
}

// ensureSchema creates the schema if it does not exist.
func ensureSchema(ctx context.Context, tx *sql.Tx, schema Schema) error {
	var id sql.NullInt64
	row := tx.QueryRowContext(ctx, StatementSchemaID.Text(), sql.Named("schema", schema.Name()))
	if err := row.Scan(&id); err != nil {
		return fmt.Errorf("look for the schema: %w", err)
	}
	if id.Valid {
		return nil
	}
	if _, err := tx.ExecContext(ctx, schema.Statement(StatementCreateSchema)); err != nil {
		return fmt.Errorf("create schema %s: %w", schema, err)
	}
	return nil
}

// seed makes the rows that the procedures cannot do without.
func seed(ctx context.Context, tx *sql.Tx, schema Schema, opts Options) error {
	_, err := tx.ExecContext(ctx, schema.Statement(StatementSeed),
		sql.Named("schema_version", SchemaVersion),
		sql.Named("link_server", opts.LinkServer))
	if err != nil {
		return fmt.Errorf("statements/%s.sql: %w", StatementSeed, err)
	}
	return nil
}

// runScript runs every batch of a file.
func runScript(ctx context.Context, tx *sql.Tx, script string) error {
	batches, err := Split(script)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if _, err := tx.ExecContext(ctx, b.Text); err != nil {
			return fmt.Errorf("batch at line %d: %w", b.Line, err)
		}
	}
	return nil
}

// diagnose looks for names that are taken by something else, which is what a
// failed CREATE usually means. It returns nil when that is not it, or when it
// cannot tell: the error of the deployment stands for itself.
func diagnose(ctx context.Context, db *sql.DB, schema Schema) error {
	objects, err := readObjects(ctx, db, schema)
	if err != nil {
		return nil //nolint:nilerr // a diagnosis never replaces the error it explains
	}
	return verifyKinds(objects, schema).Err()
}
