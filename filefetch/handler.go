package filefetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"loopbroker"
)

// Type is the job type that the handler serves.
const Type = "file"

// DefaultMaxBytes is the largest file that is read if nothing else is said.
const DefaultMaxBytes = 10 << 20

// Options configures a Handler.
type Options struct {
	// Roots are the folders that files may be read from, by the name that a job
	// gives. Required.
	Roots map[string]string

	// MaxBytes is the largest file that is read.
	//
	// Defaults to DefaultMaxBytes.
	MaxBytes int64
}

// WithDefaults returns the options with every zero field filled in.
func (o Options) WithDefaults() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	return o
}

// Validate returns an error that wraps loopbroker.ErrInvalid and names every fault,
// or nil.
func (o Options) Validate() error {
	var errs []error
	if len(o.Roots) == 0 {
		errs = append(errs, errors.New("need Roots"))
	}
	for name, dir := range o.Roots {
		if name == "" || dir == "" {
			errs = append(errs, fmt.Errorf("need a name and a folder for each of Roots, got %q: %q", name, dir))
		}
	}
	if o.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("need MaxBytes >= 0, got %d", o.MaxBytes))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", loopbroker.ErrInvalid, errors.Join(errs...))
}

// Handler carries out jobs of type Type. It holds its roots open, so that a root
// that is renamed stays the same folder; Close lets them go. All its methods are safe
// for concurrent use.
type Handler struct {
	opts  Options
	roots map[string]*os.Root
}

var _ loopbroker.Handler = (*Handler)(nil)

// New opens the roots and returns a handler, or an error that names every fault of
// the options.
func New(opts Options) (*Handler, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("filefetch options: %w", err)
	}
	h := &Handler{opts: opts, roots: make(map[string]*os.Root, len(opts.Roots))}
	for name, dir := range opts.Roots {
		root, err := os.OpenRoot(dir)
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("open root %q: %w", name, err)
		}
		h.roots[name] = root
	}
	return h, nil
}

// Close closes the roots.
func (h *Handler) Close() {
	for _, root := range h.roots {
		_ = root.Close() // only read from
	}
}

// input is a job's JSON.
type input struct {
	Root   string `json:"root"`
	Path   string `json:"path"`
	Binary bool   `json:"binary"`
}

// output is a reply's JSON.
type output struct {
	Size        int64     `json:"size"`
	Modified    time.Time `json:"modified"`
	ContentType string    `json:"content_type"`
	Body        *string   `json:"body,omitempty"`
}

// Handle reads one file. The error is a *loopbroker.Fault; see the package comment
// for its classes.
func (h *Handler) Handle(ctx context.Context, job loopbroker.Job) (loopbroker.Reply, error) {
	started := time.Now()
	in, err := parse(job)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	root, ok := h.roots[in.Root]
	if !ok {
		return loopbroker.Reply{}, loopbroker.NewFault(loopbroker.ErrorClassBadRequest, "there is no root %q", in.Root)
	}
	info, data, err := h.read(ctx, root, in)
	if err != nil {
		return loopbroker.Reply{}, err
	}
	out := output{Size: info.Size(), Modified: info.ModTime().UTC(), ContentType: contentType(in.Path, data)}
	out.Size = int64(len(data))
	reply := loopbroker.Reply{ContentType: out.ContentType}
	if text, ok := decode(out.ContentType, data); ok && !in.Binary {
		out.Body = &text
	} else {
		reply.Body = append([]byte{}, data...) // never nil: there are bytes, if only none
	}
	encoded, err := json.Marshal(out)
	if err != nil {
		return loopbroker.Reply{}, &loopbroker.Fault{Class: loopbroker.ErrorClassInternal, Message: "the reply cannot be encoded", Err: err}
	}
	reply.JSON = string(encoded)
	reply.Timings.Total = time.Since(started)
	return reply, nil
}

// parse returns the job's input, or a fault.
func parse(job loopbroker.Job) (input, error) {
	var in input
	dec := json.NewDecoder(strings.NewReader(job.JSON))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil || dec.More() {
		return in, &loopbroker.Fault{Class: loopbroker.ErrorClassBadRequest,
			Message: `a file job takes {"root":"name","path":"a/b.txt","binary":false}`, Err: err}
	}
	if len(job.Body) > 0 {
		return in, loopbroker.NewFault(loopbroker.ErrorClassBadRequest, "a file job takes no body")
	}
	switch {
	case in.Path == "" || strings.ContainsRune(in.Path, 0):
		return in, loopbroker.NewFault(loopbroker.ErrorClassBadRequest, "need a path")
	case strings.Contains(in.Path, `\`) || path.IsAbs(in.Path) || !fs.ValidPath(in.Path):
		return in, loopbroker.NewFault(loopbroker.ErrorClassNotAllowed,
			"the path %q is not one below a root: it is relative, with slashes, and without empty, . and .. elements", in.Path)
	}
	return in, nil
}

// read returns a file below the root, or a fault.
func (h *Handler) read(ctx context.Context, root *os.Root, in input) (fs.FileInfo, []byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, interrupted(ctx)
	}
	// Without waiting: opening a pipe would, until somebody writes to it.
	f, err := root.OpenFile(in.Path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, openFault(in, err)
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, nil, openFault(in, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, loopbroker.NewFault(loopbroker.ErrorClassNotAllowed, "%q in root %q is not a regular file", in.Path, in.Root)
	}
	tooLarge := loopbroker.NewFault(loopbroker.ErrorClassTooLargeReply, "%q in root %q is over the cap of %d bytes", in.Path, in.Root, h.opts.MaxBytes)
	if info.Size() > h.opts.MaxBytes {
		return nil, nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(&reader{ctx: ctx, file: f}, h.opts.MaxBytes+1))
	switch {
	case ctx.Err() != nil:
		return nil, nil, interrupted(ctx)
	case err != nil:
		return nil, nil, &loopbroker.Fault{Class: loopbroker.ErrorClassHandlerFailed,
			Message: fmt.Sprintf("%q in root %q cannot be read", in.Path, in.Root), Retryable: true, Err: err}
	case int64(len(data)) > h.opts.MaxBytes: // it has grown, or is one of those that have no size
		return nil, nil, tooLarge
	}
	return info, data, nil
}

// reader reads a file until the context ends.
type reader struct {
	ctx  context.Context //nolint:containedctx // lives as long as one call of read
	file *os.File
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

// interrupted returns the fault of a job whose context ended.
func interrupted(ctx context.Context) error {
	class := loopbroker.ErrorClassInterrupted
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		class = loopbroker.ErrorClassTimeoutAttempt
	}
	return &loopbroker.Fault{Class: class, Message: "the file was not read to its end", Retryable: true, Err: context.Cause(ctx)}
}

// openFault says why a file could not be opened, in our words.
func openFault(in input, err error) error {
	f := &loopbroker.Fault{Class: loopbroker.ErrorClassNotAllowed, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Class, f.Message = loopbroker.ErrorClassBadRequest, fmt.Sprintf("there is no file %q in root %q", in.Path, in.Root)
	case errors.Is(err, fs.ErrPermission):
		f.Message = fmt.Sprintf("the worker may not read %q in root %q", in.Path, in.Root)
	default: // an escape by a link, a name that the system reserves, a socket
		f.Message = fmt.Sprintf("%q in root %q cannot be opened: it leads out of the root, or is no regular file", in.Path, in.Root)
	}
	return f
}
