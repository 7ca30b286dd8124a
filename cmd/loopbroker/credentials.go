package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"loopbroker"
	"loopbroker/internal/operator"
)

// credentialsCommand looks after the names of credentials.
type credentialsCommand struct {
	List   credentialsList   `cmd:"" default:"withargs" help:"Show the names and what they are bound to."`
	Bind   credentialsBind   `cmd:"" help:"Bind a name to an endpoint."`
	Remove credentialsRemove `cmd:"" help:"Remove a name and the permissions for it."`
}

// credentialsList shows the names.
type credentialsList struct{ operated }

// Run implements the command.
func (c *credentialsList) Run(app *app) error {
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		rows, err := o.Credentials(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(app.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tENDPOINT\tKIND\tFIELD")
		for _, r := range rows {
			endpoint := r.Endpoint
			if !r.Bound {
				endpoint += " (no such endpoint)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, endpoint, r.Kind, r.Field)
		}
		return w.Flush()
	})
}

// credentialsBind binds a name.
type credentialsBind struct {
	operated
	Name     string `arg:"" help:"Name that callers give as @credential: letters, digits, dots, underscores, hyphens."`
	Endpoint string `arg:"" help:"Name of the endpoint it may be sent to."`
	Kind     string `default:"bearer" enum:"bearer,basic,header,query,certificate" help:"Where the secret goes: ${enum}."`
	Field    string `placeholder:"NAME" help:"Name of the header or query parameter."`
	To       string `placeholder:"ROLE" help:"Database role that may use it. Without it nobody may yet but admins."`
}

// Help is shown by --help.
func (credentialsBind) Help() string {
	return `The secret itself is never in SQL. Each worker has it, in the environment variable
LOOPBROKER_CREDENTIAL_NAME (the name in upper case, with _ for . and -) or in a file of that
name in its --credentials directory, which it reads again when the file changes.

Example:
  loopbroker credentials bind pay-token pay --to payments`
}

// Run implements the command.
func (c *credentialsBind) Run(app *app) error {
	bound := loopbroker.Credential{Name: c.Name, Endpoint: c.Endpoint, Kind: loopbroker.CredentialKind(c.Kind), Field: c.Field}
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		if err := o.BindCredential(ctx, bound, c.To); err != nil {
			return err
		}
		_, err := fmt.Fprintf(app.stdout, "%s may be sent to %s as %s\n", c.Name, c.Endpoint, c.Kind)
		return err
	})
}

// credentialsRemove removes a name.
type credentialsRemove struct {
	operated
	Name string `arg:"" help:"Name of the credential."`
}

// Run implements the command.
func (c *credentialsRemove) Run(app *app) error {
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		if err := o.RemoveCredential(ctx, c.Name); err != nil {
			return err
		}
		_, err := fmt.Fprintf(app.stdout, "%s is gone\n", c.Name)
		return err
	})
}
