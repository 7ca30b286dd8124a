package httpfetch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"loopbroker"
)

// maxContentType is the width of the reply's content_type column.
const maxContentType = 400

// output is the JSON of an HTTP reply.
type output struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    *string           `json:"body,omitempty"`
}

// newReply returns the reply for an answer, whose body is kept as bytes if it is no
// text, if it is still encoded or if binary asks for it. Secrets are taken out: of
// the bytes, and of the text again, which may have been in another charset.
func newReply(a answer, binary bool, hidden *redactor, timings loopbroker.Timings) (loopbroker.Reply, error) {
	a.header, a.body = hidden.headers(a.header), hidden.bytes(a.body)
	binary = binary || (a.header.Get("Content-Encoding") != "" && len(a.body) > 0)
	contentType := a.header.Get("Content-Type")
	out := output{Status: a.status, Headers: make(map[string]string, len(a.header))}
	for name, values := range a.header {
		out.Headers[name] = headerText(strings.Join(values, ", "))
	}
	r := loopbroker.Reply{
		HTTPStatus:  a.status,
		ContentType: headerText(contentType[:min(len(contentType), maxContentType)]),
		Timings:     timings,
	}
	if text, ok := decodeText(contentType, a.body); ok && !binary {
		text = hidden.text(text)
		out.Body = &text
	} else {
		r.Body = append([]byte{}, a.body...) // never nil: there are bytes, if only none
	}

	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return loopbroker.Reply{}, &loopbroker.Fault{Class: loopbroker.ErrorClassInternal, Message: "the reply cannot be encoded", Err: fmt.Errorf("encode reply: %w", err)}
	}
	r.JSON = strings.TrimSuffix(buf.String(), "\n")
	return r, nil
}

// headerText returns a header value as valid UTF-8. Bytes that are none are taken
// as Latin-1, which is what such servers mean.
func headerText(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	runes := make([]rune, 0, len(value))
	for i := range len(value) {
		runes = append(runes, rune(value[i]))
	}
	return string(runes)
}

// decodeText returns the body as a text. It reports false for a body that is not
// one, or that the named charset cannot decode without loss: such a body stays
// bytes. So does a text with a NUL, which few readers of nvarchar survive.
func decodeText(contentType string, body []byte) (string, bool) {
	if len(body) == 0 {
		return "", true
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil && contentType != "" {
		kind, params = strings.ToLower(strings.TrimSpace(strings.SplitN(contentType, ";", 2)[0])), nil
	}
	label := params["charset"]
	if !textual(kind) && label == "" {
		return "", false
	}
	label, body = markedCharset(label, body)

	text := ""
	switch strings.ToLower(label) {
	case "", "utf-8", "utf8", "us-ascii":
		if !utf8.Valid(body) {
			return "", false
		}
		text = string(body)
	default:
		enc, err := htmlindex.Get(label)
		if err != nil {
			return "", false
		}
		decoded, err := enc.NewDecoder().Bytes(body)
		if err != nil || bytes.ContainsRune(decoded, utf8.RuneError) {
			return "", false
		}
		text = string(decoded)
	}
	return text, !strings.ContainsRune(text, 0)
}

// markedCharset returns the charset of a byte order mark, which wins over the
// header (WHATWG Encoding, section 6), and the body without the mark.
func markedCharset(label string, body []byte) (string, []byte) {
	switch {
	case bytes.HasPrefix(body, []byte{0xEF, 0xBB, 0xBF}):
		return "utf-8", body[3:]
	case bytes.HasPrefix(body, []byte{0xFE, 0xFF}):
		return "utf-16be", body[2:]
	case bytes.HasPrefix(body, []byte{0xFF, 0xFE}):
		return "utf-16le", body[2:]
	default:
		return label, body
	}
}

// textual reports whether a media type holds text even without a charset. An
// absent type may: the bytes decide.
func textual(kind string) bool {
	if kind == "" || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript",
		"application/x-ndjson", "application/yaml", "application/x-yaml", "application/graphql",
		"application/x-www-form-urlencoded", "application/problem", "application/sql":
		return true
	default:
		return false
	}
}
