package loopback

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"loopbroker"
	"loopbroker/tsql"
)

// Options say how to make the link. User and Password are required.
type Options struct {
	// User and Password are the SQL login that the link uses. It needs EXECUTE on
	// sp_api_broker_request_linked_server, by the role api_broker_loopback, and
	// nothing else.
	User, Password string

	// Server is the name of the linked server.
	//
	// Defaults to what the settings say, tsql.DefaultLinkServer at first.
	Server string

	// LocalLogin is the login that may use the link. Provision again for the next
	// one.
	//
	// Defaults to the login of the connection.
	LocalLogin string

	// DataSource is where the link leads, such as "tcp:127.0.0.1,1433".
	//
	// Defaults to the port that the connection came through, on the loopback
	// address, or else to the server's name.
	DataSource string

	// Encrypt is "yes", "no" or "strict".
	//
	// Defaults to "yes".
	Encrypt string

	// CheckCertificate makes the link check the server's certificate. It is this
	// very server's own, so there is little to learn from it.
	CheckCertificate bool

	// Recreate drops the link first, with the mappings of all logins.
	Recreate bool
}

// WithDefaults returns a copy of o with the defaults that are not the database's.
func (o Options) WithDefaults() Options {
	o.Encrypt = cmp.Or(o.Encrypt, "yes")
	return o
}

// Validate reports everything wrong with o at once, without the password. It
// expects defaults to have been applied.
func (o Options) Validate() error {
	var errs []error
	if o.User == "" {
		errs = append(errs, errors.New("need User"))
	}
	if o.Password == "" {
		errs = append(errs, errors.New("need Password"))
	}
	for _, n := range []struct{ name, value string }{{"User", o.User}, {"Password", o.Password}, {"Server", o.Server}, {"LocalLogin", o.LocalLogin}} {
		if len([]rune(n.value)) > 128 {
			errs = append(errs, fmt.Errorf("need %s of at most 128 characters", n.name))
		}
	}
	if !slices.Contains([]string{"yes", "no", "strict"}, o.Encrypt) {
		errs = append(errs, fmt.Errorf("need Encrypt of yes, no or strict, got %q", o.Encrypt))
	}
	return errors.Join(errs...)
}

// Provision makes or corrects the link, maps the login and proves it with a call
// from inside a transaction. The connection must be allowed to make linked servers.
// It returns loopbroker.ErrInvalid for arguments that cannot be, and
// loopbroker.ErrNoLoopback if there are no linked servers or the proof fails. The
// password travels as a parameter and is in no error.
func Provision(ctx context.Context, db *sql.DB, schema tsql.Schema, opts Options) error {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return fmt.Errorf("loopback options: %w: %w", loopbroker.ErrInvalid, err)
	}
	args := []any{
		sql.Named("user", opts.User), sql.Named("pass", opts.Password), sql.Named("encrypt", opts.Encrypt),
		sql.Named("trust_certificate", !opts.CheckCertificate), sql.Named("recreate", opts.Recreate),
	}
	for name, value := range map[string]string{"server": opts.Server, "local_login": opts.LocalLogin, "data_source": opts.DataSource} {
		if value != "" {
			args = append(args, sql.Named(name, value))
		}
	}
	if _, err := db.ExecContext(ctx, schema.Object(tsql.ProcSetup), args...); err != nil {
		return fmt.Errorf("provision loopback: %w", tsql.WrapError(err))
	}
	return nil
}
