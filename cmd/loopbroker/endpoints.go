package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"loopbroker"
	"loopbroker/internal/operator"
	"loopbroker/tsql"
)

// operated is the broker that an operator's command works on.
type operated struct {
	target
	Schema string `default:"dbo" help:"Schema of the broker's objects."`
}

// operate runs work on the broker.
func (t operated) operate(app *app, work func(ctx context.Context, o *operator.Operator) error) error {
	schema, err := tsql.NewSchema(t.Schema)
	if err != nil {
		return err
	}
	return t.connectExisting(app, func(ctx context.Context, db *sql.DB) error { return work(ctx, operator.New(db, schema)) })
}

// allow puts endpoints on the allow-list, for every caller.
func allow(ctx context.Context, o *operator.Operator, urls []string) error {
	for _, u := range urls {
		e, err := operator.ParseEndpoint(u)
		if err != nil {
			return err
		}
		if err := o.AllowEndpoint(ctx, e, operator.Everybody); err != nil {
			return err
		}
	}
	return nil
}

// endpointsCommand looks after the allow-list.
type endpointsCommand struct {
	List   endpointsList   `cmd:"" default:"withargs" help:"Show the allow-list."`
	Allow  endpointsAllow  `cmd:"" help:"Make or replace a row of the allow-list."`
	Remove endpointsRemove `cmd:"" help:"Remove a row of the allow-list and the permissions for it."`
	Reset  endpointsReset  `cmd:"" help:"Close the circuit breaker of an endpoint's host in every worker."`
}

// endpointsList shows the rows.
type endpointsList struct{ operated }

// Run implements the command.
func (c *endpointsList) Run(app *app) error {
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		rows, err := o.Endpoints(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(app.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tCALLS\tMETHODS\tPRIVATE\tCONCURRENCY\tPER SECOND\tBREAKER\tPERMISSIONS")
		for _, e := range rows {
			state := ""
			if e.Disabled {
				state = " (off)"
			}
			fmt.Fprintf(w, "%s%s\t%s\t%s\t%t\t%s\t%s\t%s\t%d\n", e.Name, state, calls(e.Endpoint), orAll(strings.Join(e.Methods, ",")),
				e.AllowPrivateAddress, orNone(e.MaxConcurrency), orNone(e.MaxPerSecond), breakerText(e.Endpoint), e.Permissions)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return hostStates(ctx, app, o)
	})
}

// hostStates shows what workers say about the hosts they call.
func hostStates(ctx context.Context, app *app, o *operator.Operator) error {
	states, err := o.HostStates(ctx)
	if err != nil || len(states) == 0 {
		return err
	}
	w := tabwriter.NewWriter(app.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nHOST\tBREAKER\tFAILURES\tIN FLIGHT\tOPEN FOR\tWORKER\tSAID")
	for _, h := range states {
		open := "-"
		if h.OpenMS > 0 {
			open = ageText(h.OpenMS)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s ago\n", h.Host, h.State, h.Failures, h.InFlight, open, h.Worker, ageText(h.AgeMS))
	}
	return w.Flush()
}

// calls writes what a row allows as a URL.
func calls(e loopbroker.Endpoint) string {
	host := e.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s://%s:%d%s", e.Scheme, host, e.Port, e.PathPrefix)
}

// orAll, orNone and breakerText write settings that may be absent.
func orAll(s string) string {
	if s == "" {
		return "all"
	}
	return s
}

func orNone(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func breakerText(e loopbroker.Endpoint) string {
	if e.BreakerFailures == 0 {
		return "-"
	}
	return fmt.Sprintf("%d failures, %s", e.BreakerFailures, e.BreakerOpen)
}

// endpointsAllow makes or replaces a row.
type endpointsAllow struct {
	operated
	URL            string        `arg:"" name:"url" help:"Scheme, host, port and path prefix, such as https://api.example/v1."`
	Name           string        `placeholder:"NAME" help:"Name of the row. Without it, the URL is its name."`
	To             string        `default:"public" placeholder:"ROLE" help:"Database role that may use it; public is every caller, an empty one nobody yet."`
	Methods        []string      `help:"Methods that may be used; all without it."`
	Private        bool          `help:"The host may have a private or loopback address. It may anyway if the URL names one."`
	MaxConcurrency int           `placeholder:"N" help:"Requests under way at once, in all workers together."`
	MaxPerSecond   int           `placeholder:"N" help:"Requests that may begin in a second, in all workers together."`
	Burst          int           `placeholder:"N" help:"Of them at once after a quiet time."`
	Failures       int           `default:"10" placeholder:"N" help:"So many failures open the circuit breaker; 0 for no breaker."`
	OpenFor        time.Duration `default:"30s" help:"How long the breaker stays open."`
	MaxRedirects   int           `placeholder:"N" help:"Redirects that one attempt follows."`
	Proxy          string        `placeholder:"URL" help:"HTTP proxy that leads there."`
	Certificate    string        `placeholder:"NAME" help:"Credential that holds the client certificate."`
	Off            bool          `help:"Make the row without putting it in force."`
}

// Help is shown by --help.
func (endpointsAllow) Help() string {
	return `Workers pick a change up within seconds. What no row allows is not called: the
caller gets error 54070 before anything is stored.

Examples:
  loopbroker endpoints allow https://api.example/v1 --max-per-second 20
  loopbroker endpoints allow https://pay.example --name pay --to payments`
}

// Run implements the command.
func (c *endpointsAllow) Run(app *app) error {
	e, err := operator.ParseEndpoint(c.URL)
	if err != nil {
		return err
	}
	if c.Name != "" {
		e.Name = c.Name
	}
	for _, m := range c.Methods {
		e.Methods = append(e.Methods, strings.ToUpper(strings.TrimSpace(m)))
	}
	e.AllowPrivateAddress = e.AllowPrivateAddress || c.Private
	e.MaxConcurrency, e.MaxPerSecond, e.Burst = c.MaxConcurrency, c.MaxPerSecond, c.Burst
	e.BreakerFailures, e.BreakerOpen = c.Failures, c.OpenFor
	e.MaxRedirects, e.Proxy, e.ClientCertificate, e.Disabled = c.MaxRedirects, c.Proxy, c.Certificate, c.Off
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		if err := o.AllowEndpoint(ctx, e, c.To); err != nil {
			return err
		}
		who := "nobody may use it yet: add a row to api_broker_permission"
		if c.To != "" {
			who = "for " + c.To
		}
		_, err := fmt.Fprintf(app.stdout, "%s allows %s, %s\n", e.Name, calls(e), who)
		return err
	})
}

// endpointsRemove removes a row.
type endpointsRemove struct {
	operated
	Name string `arg:"" help:"Name of the row."`
}

// Run implements the command.
func (c *endpointsRemove) Run(app *app) error {
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		if err := o.RemoveEndpoint(ctx, c.Name); err != nil {
			return err
		}
		_, err := fmt.Fprintf(app.stdout, "%s is gone\n", c.Name)
		return err
	})
}

// endpointsReset closes a breaker.
type endpointsReset struct {
	operated
	Name string `arg:"" help:"Name of the row."`
}

// Run implements the command.
func (c *endpointsReset) Run(app *app) error {
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		if err := o.ResetHost(ctx, c.Name); err != nil {
			return err
		}
		_, err := fmt.Fprintf(app.stdout, "workers close the breaker of %s within seconds\n", c.Name)
		return err
	})
}
