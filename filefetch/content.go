package filefetch

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// kinds are the media types by extension. They are ours, because the system's table
// differs from machine to machine.
var kinds = map[string]string{
	".csv": "text/csv", ".css": "text/css", ".gif": "image/gif", ".htm": "text/html", ".html": "text/html", ".jpeg": "image/jpeg",
	".jpg": "image/jpeg", ".js": "text/javascript", ".json": "application/json", ".log": "text/plain", ".md": "text/markdown",
	".pdf": "application/pdf", ".png": "image/png", ".svg": "image/svg+xml", ".txt": "text/plain", ".webp": "image/webp",
	".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml", ".zip": "application/zip",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// contentType returns the media type by extension, or else by content. A text has
// its charset.
func contentType(name string, data []byte) string {
	kind, ok := kinds[strings.ToLower(path.Ext(name))]
	if !ok {
		return http.DetectContentType(data)
	}
	if !textual(kind) {
		return kind
	}
	charset := "utf-8"
	switch {
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		charset = "utf-16be"
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		charset = "utf-16le"
	case !utf8.Valid(data):
		return kind // nobody says which
	}
	return kind + "; charset=" + charset
}

// textual reports whether a media type is one of text.
func textual(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+json") ||
		kind == "application/json" || kind == "application/xml" || kind == "application/yaml"
}

// decode returns the data as a text, without a byte order mark. It reports false for
// data that is none, or whose charset is unknown or cannot be decoded without loss.
func decode(contentType string, data []byte) (string, bool) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !textual(kind) {
		return "", false
	}
	text := ""
	switch label := strings.ToLower(params["charset"]); label {
	case "utf-8":
		if !utf8.Valid(data) {
			return "", false
		}
		text = string(data)
	case "":
		return "", false
	default:
		enc, err := htmlindex.Get(label)
		if err != nil {
			return "", false
		}
		decoded, err := enc.NewDecoder().Bytes(data)
		if err != nil || bytes.ContainsRune(decoded, utf8.RuneError) {
			return "", false
		}
		text = string(decoded)
	}
	text = strings.TrimPrefix(text, "\uFEFF")
	return text, !strings.ContainsRune(text, 0)
}
