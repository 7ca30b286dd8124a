package httpfetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"

	"loopbroker"
)

// input is the JSON of an HTTP job.
type input struct {
	URL            string  `json:"url"`
	Method         string  `json:"method"`
	Headers        headers `json:"headers"`
	Body           *string `json:"body"`
	IdempotencyKey string  `json:"idempotency_key"`

	// Credential is the name of the credential to send.
	Credential string `json:"credential"`

	// Binary asks for the answer's body as bytes whatever its content type.
	Binary bool `json:"binary"`
}

// headers are the caller's header fields in their order.
type headers []headerField

type headerField struct{ name, value string }

// Faults that a decoder can only return as an error.
var (
	errHeadersShape  = errors.New("headers are not a flat JSON object of strings, numbers and booleans")
	errHeaderTwice   = errors.New("a header is named twice")
	errTrailingInput = errors.New("there is text after the JSON object")
)

// UnmarshalJSON reads a flat object. Numbers keep their text.
func (h *headers) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		if err == nil && tok == nil {
			return nil // null is absent
		}
		return errHeadersShape
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return errHeadersShape
		}
		value, err := dec.Token()
		if err != nil {
			return errHeadersShape
		}
		f := headerField{name: key.(string)} // within an object, a token before a value is its name
		switch v := value.(type) {
		case string:
			f.value = v
		case json.Number:
			f.value = v.String()
		case bool:
			f.value = fmt.Sprint(v)
		default:
			return errHeadersShape
		}
		canonical := http.CanonicalHeaderKey(f.name)
		if seen[canonical] {
			return errHeaderTwice
		}
		seen[canonical] = true
		*h = append(*h, f)
	}
	return nil
}

// methods are those a job may use. CONNECT and TRACE are not for asking targets.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// reserved are the header fields that the worker or its transport sets. One that
// a caller could set would let it lie about the message or reach another host.
// Those that some frameworks take for the method would get past an endpoint's list
// of methods.
var reserved = []string{
	"Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive",
	"Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
}

// fetch is a job that is ready to be sent, any number of times.
type fetch struct {
	target *target
	method string
	header http.Header
	body   []byte

	// repeatable reports whether doing it twice is the same as doing it once, by
	// the method or by a key.
	repeatable bool

	// credential is the name of the credential to send, or empty.
	credential string

	// binary reports whether the answer's body is wanted as bytes.
	binary bool
}

// newFetch checks the job and returns what to send. The error is a
// *loopbroker.Fault that is never retryable.
func newFetch(opts *Options, job loopbroker.Job) (*fetch, error) {
	in, err := decodeInput(job.JSON)
	if err != nil {
		return nil, err
	}
	t, err := parseTarget(in.URL)
	if err != nil {
		return nil, err
	}
	f := &fetch{target: t, method: strings.ToUpper(in.Method), credential: in.Credential, binary: in.Binary}
	if f.method == "" {
		f.method = http.MethodGet
	}
	if !slices.Contains(methods, f.method) {
		return nil, badRequest(31605, "the method %q is not one of %s", in.Method, strings.Join(methods, ", "))
	}
	if f.header, err = f.buildHeader(opts, in); err != nil {
		return nil, err
	}
	if f.body, err = f.buildBody(in, job.Body); err != nil {
		return nil, err
	}
	if n := int64(len(f.body)); n > opts.MaxRequestBytes {
		return nil, loopbroker.NewFault(loopbroker.ErrorClassTooLargeRequest,
			"the body has %d bytes and may have %d", n, opts.MaxRequestBytes)
	}
	return f, nil
}

// badRequest returns a fault with the number that sp_invoke_external_rest_endpoint
// has for the cause.
func badRequest(msError int, format string, args ...any) error {
	f := loopbroker.NewFault(loopbroker.ErrorClassBadRequest, format, args...)
	f.MSError = msError
	return f
}

// decodeInput reads the job's JSON. A member we do not know is refused: ignoring
// it would drop something the caller asked for.
func decodeInput(text string) (input, error) {
	var in input
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	if err == nil {
		if _, end := dec.Token(); !errors.Is(end, io.EOF) {
			err = errTrailingInput
		}
	}
	switch {
	case err == nil:
		return in, nil
	case errors.Is(err, errHeadersShape):
		return in, badRequest(31615, "%v", errHeadersShape)
	case errors.Is(err, errHeaderTwice):
		return in, badRequest(31616, "%v", errHeaderTwice)
	default:
		// The decoder's text may quote the input, so it is not passed on.
		return in, badRequest(0, "the job's JSON is not an object of url, method, headers, body, binary, credential and idempotency_key")
	}
}

// buildHeader returns the header to send, without the content type of a body.
func (f *fetch) buildHeader(opts *Options, in input) (http.Header, error) {
	h := http.Header{}
	size := 0
	for i, field := range in.Headers {
		name := http.CanonicalHeaderKey(field.name)
		switch {
		case !validHeaderName(field.name):
			return nil, badRequest(31618, "the name of header %d is not a token", i+1)
		case slices.Contains(reserved, name):
			return nil, badRequest(31616, "the header %s is set by the worker", name)
		case strings.IndexFunc(field.value, func(r rune) bool { return r > 0x7e }) >= 0:
			return nil, badRequest(31617, "the value of the header %s holds a character that is not ASCII", name)
		case !validHeaderValue(field.value):
			return nil, badRequest(31618, "the value of the header %s holds a control character", name)
		}
		size += len(field.name) + len(field.value)
		h[name] = []string{strings.Trim(field.value, " \t")}
	}
	if size > opts.MaxRequestHeaderBytes {
		f := loopbroker.NewFault(loopbroker.ErrorClassTooLargeRequest,
			"the headers have %d bytes and may have %d", size, opts.MaxRequestHeaderBytes)
		f.MSError = 31632
		return nil, f
	}
	if h["User-Agent"] == nil {
		h.Set("User-Agent", opts.UserAgent)
	}

	f.repeatable = idempotent(f.method)
	switch key := in.IdempotencyKey; {
	case key == "" && h.Get("Idempotency-Key") != "":
		f.repeatable = true // the caller's own key, which the target knows
	case key != "":
		if !validHeaderValue(key) {
			return nil, badRequest(31617, "the idempotency key is not printable ASCII")
		}
		if h["Idempotency-Key"] == nil {
			h.Set("Idempotency-Key", key)
		}
		f.repeatable = true
	}
	return h, nil
}

// buildBody returns the bytes to send and sets their content type. A text goes out
// in the charset that the caller's content type names.
func (f *fetch) buildBody(in input, binary []byte) ([]byte, error) {
	given := f.header.Get("Content-Type")
	switch {
	case in.Body != nil && binary != nil:
		return nil, badRequest(0, "there are two bodies, a text and a binary one")
	case binary != nil:
		if given == "" {
			f.header.Set("Content-Type", "application/octet-stream")
		}
		return binary, nil
	case in.Body == nil:
		return nil, nil
	}

	text := *in.Body
	if given == "" {
		kind := "text/plain"
		if json.Valid([]byte(text)) {
			kind = "application/json"
		}
		f.header.Set("Content-Type", kind+"; charset=utf-8")
		return []byte(text), nil
	}
	_, params, err := mime.ParseMediaType(given)
	if err != nil {
		return nil, badRequest(31618, "the header Content-Type is malformed")
	}
	label := params["charset"]
	if label == "" || strings.EqualFold(label, "utf-8") {
		return []byte(text), nil
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return nil, badRequest(31618, "the charset of the header Content-Type is not known")
	}
	out, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, badRequest(31618, "the body holds a character that the charset of the header Content-Type does not have")
	}
	return out, nil
}

// validHeaderName reports whether name is a token (RFC 9110, section 5.6.2).
func validHeaderName(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		c := name[i]
		alnum := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return true
}

// validHeaderValue reports whether value is printable ASCII with blanks and tabs.
func validHeaderValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c != '\t' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}
