package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"loopbroker"
)

// Handler carries out jobs of type Type. All its methods are safe for concurrent
// use.
type Handler struct {
	opts      Options
	templates *os.Root // nil without a folder
	slots     chan struct{}
}

var _ loopbroker.Handler = (*Handler)(nil)

// New returns a handler, or an error that names every fault of the options. A
// missing browser is none: HTML needs none.
func New(opts Options) (*Handler, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("render options: %w", err)
	}
	h := &Handler{opts: opts, slots: make(chan struct{}, opts.Concurrent)}
	if opts.Templates != "" {
		root, err := os.OpenRoot(opts.Templates)
		if err != nil {
			return nil, fmt.Errorf("open the folder of templates: %w", err)
		}
		h.templates = root
	}
	return h, nil
}

// Close closes the folder of templates.
func (h *Handler) Close() {
	if h.templates != nil {
		_ = h.templates.Close() // only read from
	}
}

// input is a job's JSON.
type input struct {
	Template string `json:"template"`
	Data     any    `json:"data"`
	Format   string `json:"format"`
}

// output is a reply's JSON.
type output struct {
	Format      string  `json:"format"`
	Size        int     `json:"size"`
	ContentType string  `json:"content_type"`
	Body        *string `json:"body,omitempty"`
}

// contentTypes are the formats.
var contentTypes = map[string]string{"html": "text/html; charset=utf-8", "pdf": "application/pdf", "png": "image/png"}

// Handle makes one document. The error is a *loopbroker.Fault.
func (h *Handler) Handle(ctx context.Context, job loopbroker.Job) (loopbroker.Reply, error) {
	started := time.Now()
	limit := job.AttemptTimeout
	if limit <= 0 {
		limit = h.opts.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	in, err := newInput(job)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	if in.Format != "html" && h.opts.Browser == "" {
		return loopbroker.Reply{}, loopbroker.NewFault(loopbroker.ErrorClassHandlerFailed,
			"the worker has no browser for %s: install Chromium (apt-get install chromium), or name one in its options; html needs none", in.Format)
	}
	page, err := h.fill(ctx, in)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	out := output{Format: in.Format, ContentType: contentTypes[in.Format]}
	reply := loopbroker.Reply{ContentType: out.ContentType}
	if in.Format == "html" {
		text := string(page)
		out.Body, out.Size = &text, len(page)
	} else {
		reply.Body, err = h.shoot(ctx, page, in.Format)
		if err != nil {
			return loopbroker.Reply{}, h.fault(ctx, in.Format, err)
		}
		out.Size = len(reply.Body)
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		return loopbroker.Reply{}, &loopbroker.Fault{Class: loopbroker.ErrorClassInternal, Message: "the reply cannot be encoded", Err: err}
	}
	reply.JSON, reply.Timings.Total = string(encoded), time.Since(started)
	return reply, nil
}

// newInput returns the job's input, or a fault.
func newInput(job loopbroker.Job) (input, error) {
	in := input{Format: "pdf"}
	dec := json.NewDecoder(strings.NewReader(job.JSON))
	dec.DisallowUnknownFields()
	dec.UseNumber() // 12345678 stays that
	if err := dec.Decode(&in); err != nil || dec.More() || len(job.Body) > 0 {
		return in, &loopbroker.Fault{Class: loopbroker.ErrorClassBadRequest,
			Message: `a render job takes {"template":"<html>… or a name","data":{…},"format":"pdf"} and no body`, Err: err}
	}
	in.Data = numbers(in.Data)
	if in.Template == "" {
		return in, loopbroker.NewFault(loopbroker.ErrorClassBadRequest, "need a template")
	}
	if contentTypes[in.Format] == "" {
		return in, loopbroker.NewFault(loopbroker.ErrorClassBadRequest, "need a format of pdf, png or html, got %q", in.Format)
	}
	return in, nil
}

// numbers turns the numbers of a document into Go's, whole ones exactly: a template
// writes them as such in a script, too.
func numbers(data any) any {
	switch d := data.(type) {
	case map[string]any:
		for k, v := range d {
			d[k] = numbers(v)
		}
	case []any:
		for i, v := range d {
			d[i] = numbers(v)
		}
	case json.Number:
		if n, err := d.Int64(); err == nil {
			return n
		}
		if n, err := d.Float64(); err == nil {
			return n
		}
	}
	return data
}

// shoot lets a browser make the document, when there is a slot for it.
func (h *Handler) shoot(ctx context.Context, page []byte, format string) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b, err := start(ctx, h.opts)
	if err != nil {
		return nil, err
	}
	defer b.stop()
	return b.render(page, format)
}

// errTooLarge means that a result is over the cap.
var errTooLarge = errors.New("over the cap")

// fault says in our words why there is no document.
func (h *Handler) fault(ctx context.Context, format string, err error) error {
	switch {
	case errors.Is(err, errTooLarge):
		return loopbroker.NewFault(loopbroker.ErrorClassTooLargeReply, "the %s is over the cap of %d bytes", format, h.opts.MaxBytes)
	case ctx.Err() != nil:
		return ended(ctx)
	default:
		return &loopbroker.Fault{Class: loopbroker.ErrorClassHandlerFailed, Retryable: true, Err: err,
			Message: fmt.Sprintf("the browser did not make the %s", format)}
	}
}

// ended returns the fault of a job whose time is over, or that was called off.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &loopbroker.Fault{Class: loopbroker.ErrorClassTimeoutAttempt, Message: "the document was not ready in time", Err: ctx.Err()}
	}
	return &loopbroker.Fault{Class: loopbroker.ErrorClassInterrupted, Message: "the document was not made to its end", Retryable: true, Err: ctx.Err()}
}
