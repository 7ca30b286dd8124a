package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"loopbroker/engine"
)

// serveCommand runs a development server.
type serveCommand struct {
	Listen       string   `default:"127.0.0.1:1433" placeholder:"ADDR" help:"Address of the TDS port. Port 0 lets the system choose one."`
	LoopbackOnly bool     `default:"true" negatable:"" help:"Refuse an address that other machines can reach (the default)."`
	Data         string   `placeholder:"DIR" help:"Data directory, made when it does not exist. Without it nothing is kept."`
	Durability   string   `default:"full" enum:"full,relaxed,none" help:"When a commit returns: full after it is on disk, relaxed after the system has it, none keeps everything in memory."`
	Restore      []string `placeholder:"FILE[=NAME]" sep:"none" help:"Restore a backup before anything else, as the database NAME or the one that was saved. May be given again. A database that exists and has objects is not replaced."`
	Database     string   `default:"loopbroker" help:"Database of the broker, made when it does not exist."`
	PasswordFile string   `placeholder:"FILE" help:"File that holds the password of sa. Without it $LOOPBROKER_SA_PASSWORD is used, and without that one is made up and shown once."`
	Allow        []string `placeholder:"URL" help:"Endpoint to put on the allow-list, for every caller: scheme, host, port and path prefix. Nothing else is called. May be given more than once."`
	NoWorker     bool     `help:"Run no worker in this process."`
	workerFlags
}

// Help is shown by --help.
func (serveCommand) Help() string {
	return `A server for development: the embedded engine on a TDS port, the broker deployed in
its database, the loopback linked server set up for sa, and a worker that calls
what is on the allow-list: --allow puts an endpoint there, and so does
loopbroker endpoints allow.

SIGTERM or SIGINT stops it: the worker finishes its jobs, sessions end, the data
directory is left consistent.

Examples:
  loopbroker serve
  loopbroker serve --data ./data --allow http://127.0.0.1:8080
  loopbroker serve --data ./new --restore loopbroker.bak --restore app.bak=app_copy
  LOOPBROKER_SA_PASSWORD=… loopbroker serve --listen 127.0.0.1:0 --durability none`
}

// saPasswordVariable names the environment's password of sa.
const saPasswordVariable = "LOOPBROKER_SA_PASSWORD"

// password returns the password of sa, and whether it was made up.
func (c *serveCommand) password() (password string, made bool, err error) {
	if c.PasswordFile != "" {
		b, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return "", false, usageError{err}
		}
		password = strings.TrimRight(string(b), "\r\n")
		if password == "" {
			return "", false, usageError{fmt.Errorf("--password-file %s is empty", c.PasswordFile)}
		}
		return password, false, nil
	}
	if password = os.Getenv(saPasswordVariable); password != "" {
		return password, false, nil
	}
	return rand.Text(), true, nil
}

// durabilities are the words of --durability.
var durabilities = map[string]engine.Durability{"full": engine.Full, "relaxed": engine.Relaxed, "none": engine.None}

// Run implements the command.
func (c *serveCommand) Run(app *app) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Data == "" {
		c.Durability = "none"
	} else if c.Durability == "none" {
		return usageError{errors.New("--durability none keeps everything in memory: leave --data out, or choose full or relaxed")}
	}
	password, made, err := c.password()
	if err != nil {
		return err
	}
	o := engine.Options{
		Dir: c.Data, Durability: durabilities[c.Durability], Database: c.Database, Password: password, AllowRemote: !c.LoopbackOnly,
		Restore: restores(c.Restore),
	}
	c.MaxPoll = min(c.MaxPoll, idlePoll)
	err = withBroker(app.ctx, o, c.workerFlags, newLogger(app.stderr, c.Verbose), func(ctx context.Context, b *broker) error {
		if err := b.allow(ctx, c.Allow...); err != nil {
			return err
		}
		if !c.NoWorker {
			if err := b.startWorker(ctx); err != nil {
				return err
			}
		}
		addr, err := b.srv.Listen(ctx, c.Listen)
		if errors.Is(err, engine.ErrNotLoopback) {
			return usageError{fmt.Errorf("%w; --no-loopback-only takes it", err)}
		}
		if err != nil {
			return err
		}
		if err := c.greet(app.stdout, addr, password, made); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			_, err := fmt.Fprintln(app.stdout, "stopping")
			return err
		case err := <-b.stopped: // never without a worker
			b.worker = nil
			return fmt.Errorf("the worker ended: %w", err)
		}
	})
	return ignoreStop(app.ctx, err)
}

// restores takes FILE=NAME apart. A name has no path in it, a file may have an
// equals sign.
func restores(args []string) []engine.Restore {
	list := make([]engine.Restore, 0, len(args))
	for _, arg := range args {
		r := engine.Restore{File: arg}
		if at := strings.LastIndexByte(arg, '='); at >= 0 && !strings.ContainsAny(arg[at:], `/\`) {
			r.File, r.Database = arg[:at], arg[at+1:]
		}
		list = append(list, r)
	}
	return list
}

// greet says how to connect. The password is shown only if nobody knows it yet.
func (c *serveCommand) greet(w io.Writer, addr net.Addr, password string, made bool) error {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return err
	}
	shown := "$" + saPasswordVariable
	if c.PasswordFile != "" {
		shown = "PASSWORD"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "listening on %s, database %s, login sa\n", addr, c.Database)
	if made {
		shown = password
		fmt.Fprintf(&text, "password of sa, shown this once: %s\n", password)
	}
	dsn := fmt.Sprintf("sqlserver://sa:%s@%s?database=%s&TrustServerCertificate=true", shown, net.JoinHostPort(host, port), url.QueryEscape(c.Database))
	fmt.Fprintf(&text, "\n  go      %s\n", dsn)
	fmt.Fprintf(&text, "  sqlcmd  sqlcmd -C -S tcp:%s,%s -U sa -P %q -d %s\n", host, port, shown, c.Database)
	fmt.Fprintf(&text, "  tsql    tsql -H %s -p %s -U sa -P %q -D %s\n\n", host, port, shown, c.Database)
	if c.NoWorker {
		fmt.Fprintf(&text, "no worker runs here; start one: LOOPBROKER_DSN=%q loopbroker worker\n", dsn)
	}
	text.WriteString("stop with Ctrl-C\n")
	_, err = io.WriteString(w, text.String())
	return err
}
