package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"loopbroker"
	"loopbroker/internal/operator"
	"loopbroker/tsql"
)

// requestsCommand looks after requests.
type requestsCommand struct {
	List    requestsList    `cmd:"" default:"withargs" help:"Show requests, the newest first."`
	Show    requestsShow    `cmd:"" help:"Show everything about one request."`
	Collect requestsCollect `cmd:"" help:"Print the reply of a request, and wait for it if asked to."`
	Cancel  requestsCancel  `cmd:"" help:"Call requests off."`
	Redrive requestsRedrive `cmd:"" help:"Put failed requests back, each as a new one."`
}

// rowFilter chooses rows by host, class and age.
type rowFilter struct {
	Host      string        `placeholder:"HOST" help:"Only those to this host; without a port, to all of its ports."`
	Class     string        `placeholder:"CLASS" help:"Only those with this error class."`
	OlderThan time.Duration `placeholder:"AGE" help:"Only those that are older."`
	NewerThan time.Duration `placeholder:"AGE" help:"Only those that are newer."`
}

// filter checks and returns it.
func (f rowFilter) filter(limit, most int) (operator.Filter, error) {
	switch {
	case f.OlderThan < 0 || f.NewerThan < 0:
		return operator.Filter{}, usageError{errors.New("an age is not negative")}
	case limit < 1 || limit > most:
		return operator.Filter{}, usageError{fmt.Errorf("need --limit of 1 to %d, got %d", most, limit)}
	case f.Class != "" && !slices.Contains(loopbroker.ErrorClasses(), loopbroker.ErrorClass(f.Class)):
		return operator.Filter{}, usageError{fmt.Errorf("there is no error class %q: one of %v", f.Class, loopbroker.ErrorClasses())}
	}
	return operator.Filter{Host: f.Host, Class: f.Class, OlderThan: f.OlderThan, NewerThan: f.NewerThan, Limit: limit}, nil
}

// The most rows of a list, and of one redrive.
const (
	maxListed  = 100000
	maxRedrive = 1000
)

// requestsList shows requests.
type requestsList struct {
	operated
	rowFilter
	State string `placeholder:"STATE" enum:",queued,running,completed,failed,expired,cancelled" default:"" help:"Only those in this state."`
	Type  string `placeholder:"TYPE" help:"Only those of this job type."`
	Limit int    `default:"50" help:"The most to show."`
	JSON  bool   `name:"json" help:"Print one line of JSON for each."`
}

// Run implements the command.
func (c *requestsList) Run(app *app) error {
	f, err := c.filter(c.Limit, maxListed)
	if err != nil {
		return err
	}
	f.State, f.Type = c.State, c.Type
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		rows, err := o.Requests(ctx, f)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(app.stdout, rows)
		}
		w := tabwriter.NewWriter(app.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tAGE\tTYPE\tSTATE\tRESULT\tATTEMPTS\tBY\tCALL")
		for _, r := range rows {
			result := r.ErrorClass
			if result == "" && r.HTTPStatus != 0 {
				result = fmt.Sprint(r.HTTPStatus)
			}
			call := r.URL
			if r.Method != "" {
				call = r.Method + " " + call
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d/%d\t%s\t%s\n", r.ID, ageText(r.AgeMS), r.Type, r.State, result, r.Attempts, r.MaxAttempts, r.RequestedBy, call)
		}
		return w.Flush()
	})
}

// ageText writes an age with its largest unit or two.
func ageText(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return d.String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// printJSON prints each row as a line.
func printJSON[T any](w io.Writer, rows []T) error {
	enc := json.NewEncoder(w)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// requestsShow shows one request.
type requestsShow struct {
	operated
	ID   int64 `arg:"" help:"Id of the request."`
	JSON bool  `name:"json" help:"Print JSON."`
}

// shown is a request as requests show prints it.
type shown struct {
	ID           int64      `json:"id"`
	Type         string     `json:"type"`
	State        string     `json:"state"`
	Lane         string     `json:"lane"`
	RequestedBy  string     `json:"requested_by"`
	CreatedAt    time.Time  `json:"created_at"`
	ExpiresAt    time.Time  `json:"expires_at"`
	CompletedAt  *time.Time `json:"completed_at,omitempty"`
	Attempts     int        `json:"attempts"`
	MaxAttempts  int        `json:"max_attempts"`
	Worker       string     `json:"worker,omitempty"`
	HTTPStatus   int        `json:"http_status,omitempty"`
	ErrorClass   string     `json:"error_class,omitempty"`
	ErrorMessage string     `json:"error_message,omitempty"`
	MSError      int        `json:"ms_error,omitempty"`
	ContentType  string     `json:"content_type,omitempty"`
	QueueMS      int64      `json:"queue_ms"`
	DNSMS        int64      `json:"dns_ms"`
	ConnectMS    int64      `json:"connect_ms"`
	TLSMS        int64      `json:"tls_ms"`
	FirstByteMS  int64      `json:"first_byte_ms"`
	TotalMS      int64      `json:"total_ms"`
	Output       string     `json:"output,omitempty"`
	BodyBytes    int        `json:"body_bytes,omitempty"`
}

// Run implements the command.
func (c *requestsShow) Run(app *app) error {
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		r, err := o.Request(ctx, c.ID)
		if err != nil {
			return err
		}
		t := r.Reply.Timings
		s := shown{
			ID: r.ID, Type: r.Type, State: r.State.String(), Lane: string(r.Lane), RequestedBy: r.RequestedBy, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
			Attempts: r.Attempts, MaxAttempts: r.MaxAttempts, Worker: r.Reply.Worker, HTTPStatus: r.Reply.HTTPStatus,
			ErrorClass: string(r.Reply.ErrorClass), ErrorMessage: r.Reply.ErrorMessage, MSError: r.Reply.MSError, ContentType: r.Reply.ContentType,
			QueueMS: t.Queue.Milliseconds(), DNSMS: t.DNS.Milliseconds(), ConnectMS: t.Connect.Milliseconds(), TLSMS: t.TLS.Milliseconds(),
			FirstByteMS: t.FirstByte.Milliseconds(), TotalMS: t.Total.Milliseconds(), Output: r.Reply.JSON, BodyBytes: len(r.Reply.Body),
		}
		if !r.Completed.IsZero() {
			s.CompletedAt = &r.Completed
		}
		if c.JSON {
			return json.NewEncoder(app.stdout).Encode(s)
		}
		return s.print(app.stdout)
	})
}

// print prints a line for each thing that is known.
func (s shown) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" && value != "0" {
			fmt.Fprintf(w, "%s\t%s\n", name, value)
		}
	}
	line("id", fmt.Sprint(s.ID))
	line("type", s.Type)
	line("state", s.State)
	line("lane", s.Lane)
	line("requested by", s.RequestedBy)
	line("created", s.CreatedAt.Format(time.RFC3339Nano))
	line("expires", s.ExpiresAt.Format(time.RFC3339Nano))
	if s.CompletedAt != nil {
		line("completed", s.CompletedAt.Format(time.RFC3339Nano))
	}
	line("attempts", fmt.Sprintf("%d of %d", s.Attempts, s.MaxAttempts))
	line("worker", s.Worker)
	line("HTTP status", fmt.Sprint(s.HTTPStatus))
	line("error class", s.ErrorClass)
	line("error", s.ErrorMessage)
	line("error of Microsoft's", fmt.Sprint(s.MSError))
	if s.CompletedAt != nil {
		line("milliseconds", fmt.Sprintf("queue %d, dns %d, connect %d, tls %d, first byte %d, total %d", s.QueueMS, s.DNSMS, s.ConnectMS, s.TLSMS, s.FirstByteMS, s.TotalMS))
	}
	line("content type", s.ContentType)
	line("body", s.Output)
	if s.BodyBytes > 0 {
		line("bytes", fmt.Sprint(s.BodyBytes))
	}
	return w.Flush()
}

// requestsCollect prints a reply.
type requestsCollect struct {
	operated
	ID   int64         `arg:"" help:"Id of the request."`
	Wait time.Duration `default:"0s" help:"How long to wait for the reply."`
}

// Help is shown by --help.
func (requestsCollect) Help() string {
	return `Prints the body of the answer as it came, text or bytes; of a job that is no HTTP
request, its output. The exit code is 0 for an answer, whatever its HTTP status, and 1
for a request that failed, is unknown or has no answer yet.`
}

// Run implements the command.
func (c *requestsCollect) Run(app *app) error {
	if c.Wait < 0 {
		return usageError{errors.New("need --wait of at least 0")}
	}
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		r, err := o.Collect(ctx, c.ID, c.Wait)
		if err != nil {
			return err
		}
		if r.Code != tsql.CodeCompleted {
			err := r.Code.Err()
			if err == nil { // it failed for good
				return fmt.Errorf("request %d: %s", c.ID, r.Error)
			}
			return fmt.Errorf("request %d: %w", c.ID, err)
		}
		switch {
		case r.Body != nil:
			_, err = app.stdout.Write(r.Body)
		case r.Text != "" || r.Status != 0:
			err = printText(app.stdout, r.Text)
		default:
			err = printText(app.stdout, r.Output)
		}
		return err
	})
}

// printText prints a text that ends its last line.
func printText(w io.Writer, text string) error {
	if last, _ := utf8.DecodeLastRuneInString(text); text != "" && last != '\n' {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// requestsCancel calls requests off.
type requestsCancel struct {
	operated
	IDs []int64 `arg:"" name:"id" help:"Ids of the requests."`
}

// Run implements the command.
func (c *requestsCancel) Run(app *app) error {
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		var errs []error
		for _, id := range c.IDs {
			what, err := o.Cancel(ctx, id)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			said := map[operator.Cancelled]string{
				operator.CancelledNever:   "is cancelled and never runs",
				operator.CancelledRunning: "runs; its worker ends it at its next heartbeat",
				operator.CancelledTooLate: "has its reply already",
			}[what]
			if what == operator.CancelledTooLate {
				errs = append(errs, fmt.Errorf("request %d %s", id, said))
				continue
			}
			fmt.Fprintf(app.stdout, "request %d %s\n", id, said)
		}
		return errors.Join(errs...)
	})
}

// requestsRedrive puts failed requests back.
type requestsRedrive struct {
	operated
	rowFilter
	IDs   []int64 `arg:"" optional:"" name:"id" help:"Ids of the requests. Without them a filter says which."`
	Limit int     `default:"1000" help:"The most to put back by a filter, the oldest first."`
}

// Help is shown by --help.
func (requestsRedrive) Help() string {
	return `A redrive is a new request with the content, the owner and the limits of the old one,
which keeps its reply; its dead letter goes. A request is redriven once. With ids also
those that expired or were cancelled are put back, with a filter only those that
failed; the ages are then those of the failure.

Examples:
  loopbroker requests redrive 4711 4712
  loopbroker requests redrive --host api.example --class timeout_connect --newer-than 2h`
}

// Run implements the command.
func (c *requestsRedrive) Run(app *app) error {
	f, err := c.filter(c.Limit, maxRedrive)
	if err != nil {
		return err
	}
	if len(c.IDs) > 0 && c.rowFilter != (rowFilter{}) {
		return usageError{errors.New("ids and filters exclude each other")}
	}
	return c.operate(app, func(ctx context.Context, o *operator.Operator) error {
		count := 0
		var errs []error
		if len(c.IDs) == 0 {
			if count, err = o.RedriveAll(ctx, f); err != nil {
				return err
			}
		}
		for _, id := range c.IDs {
			if err := o.Redrive(ctx, id); err != nil {
				errs = append(errs, err)
				continue
			}
			count++
		}
		fmt.Fprintf(app.stdout, "%d put back\n", count)
		return errors.Join(errs...)
	})
}
