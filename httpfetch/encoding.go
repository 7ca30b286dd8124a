package httpfetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxEncodings is how many encodings an answer's body may have, one in the other.
const maxEncodings = 2

// Errors of a body.
var (
	// errReplyTooLarge means that the body is over the cap, before or after an
	// encoding is taken off.
	errReplyTooLarge = errors.New("reply body over the cap")

	// errEncoding means that all of the body came and that it is not encoded as it
	// says.
	errEncoding = errors.New("reply body not encoded as it says")
)

// wireReader reads what the connection brings, and remembers how that ended: a body
// that was cut off by its sender is a defect of the target, one that was cut off by
// the connection is not.
type wireReader struct {
	body       io.Reader
	left       int64 // bytes that may still come
	progressed func()
	err        error // what ended the body, but for its end
}

// Read implements io.Reader.
func (r *wireReader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if n > 0 {
		r.progressed()
	}
	if r.left -= int64(n); r.left < 0 {
		err = errReplyTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// capReader fails when more than left bytes come: what is in the middle of two
// encodings can be a bomb, too.
type capReader struct {
	reader io.Reader
	left   int64
}

// Read implements io.Reader.
func (r *capReader) Read(p []byte) (int, error) {
	n, err := r.reader.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, errReplyTooLarge
	}
	return n, err
}

// readBody reads an answer's body, at most limit bytes of it, and takes off the
// encodings if decode says so; it then takes the headers off that speak of them.
// progressed is called after each piece that the connection brings.
func readBody(response *http.Response, limit int64, decode bool, progressed func()) ([]byte, error) {
	length := response.ContentLength
	var encodings []string
	if decode {
		encodings = contentEncodings(response.Header)
	}
	raw := limit
	if len(encodings) > 0 {
		raw += limit/100 + 1<<10 // what cannot be compressed grows a little
	}
	if length > raw {
		return nil, errReplyTooLarge
	}
	wire := &wireReader{body: response.Body, left: raw, progressed: progressed}
	if len(encodings) == 0 {
		return readAll(wire, length)
	}
	if len(encodings) > maxEncodings {
		return nil, errEncoding
	}
	data, err := readEncoded(wire, encodings, limit)
	if err != nil {
		return nil, err
	}
	response.Header.Del("Content-Encoding")
	response.Header.Del("Content-Length")
	return data, nil
}

// readEncoded takes the encodings off, the last one first, and reads what is left.
func readEncoded(wire *wireReader, encodings []string, limit int64) ([]byte, error) {
	buffered := bufio.NewReader(wire)
	if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
		return nil, nil // a body that is not there is not encoded
	}
	var reader io.Reader = buffered
	for i := len(encodings) - 1; i >= 0; i-- {
		next, err := decoder(encodings[i], reader)
		if err != nil {
			return nil, decodeError(wire, err)
		}
		reader = &capReader{reader: next, left: limit}
	}
	data, err := readAll(reader, -1)
	if err != nil {
		return nil, decodeError(wire, err)
	}
	return data, nil
}

// decodeError tells a body that broke off from one that is wrong.
func decodeError(wire *wireReader, err error) error {
	switch {
	case wire.err != nil:
		return wire.err
	case errors.Is(err, errReplyTooLarge):
		return err
	default:
		return fmt.Errorf("%w: %w", errEncoding, err)
	}
}

// contentEncodings lists the encodings of the body in the order in which they were
// put on, or none if one of them is not known: the body is then kept as it came.
func contentEncodings(header http.Header) []string {
	var list []string
	for token := range strings.SplitSeq(strings.Join(header["Content-Encoding"], ","), ",") {
		switch token = strings.ToLower(strings.TrimSpace(token)); token {
		case "", "identity":
		case "gzip", "x-gzip", "deflate":
			list = append(list, token)
		default:
			return nil
		}
	}
	return list
}

// decoder takes one encoding off. "deflate" should be a zlib stream and is often a
// bare one (RFC 9110, section 8.4.1.2).
func decoder(encoding string, r io.Reader) (io.Reader, error) {
	if encoding != "deflate" {
		return gzip.NewReader(r)
	}
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(2)
	if err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}

// readAll reads to the end. The length is what was announced, or -1.
func readAll(r io.Reader, length int64) ([]byte, error) {
	var buf bytes.Buffer
	if length > 0 {
		buf.Grow(int(length) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(r); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
