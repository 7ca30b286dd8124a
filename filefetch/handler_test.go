package filefetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loopbroker"
	"loopbroker/filefetch"
)

// tree makes a root with a file outside it, and returns a handler.
func tree(t *testing.T) *filefetch.Handler {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	for name, text := range map[string]string{
		"root/a.txt":       "Grüße\n",
		"root/sub/b.json":  `{"x":1}`,
		"root/bom.csv":     "\xEF\xBB\xBFa;b",
		"root/utf16.txt":   "\xFF\xFEh\x00i\x00",
		"root/latin.txt":   "Gr\xFC\xDFe",
		"root/pixel.png":   "\x89PNG\r\n\x1a\n\x00\x01",
		"root/noextension": "plain text",
		"root/nul.txt":     "a\x00b",
		"root/empty.txt":   "",
		"root/large.txt":   strings.Repeat("x", 1001),
		"root/full.txt":    strings.Repeat("x", 1000),
		"secret.txt":       "secret",
	} {
		file := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"inside": "sub/b.json", "outside": "../secret.txt", "absolute": filepath.Join(base, "secret.txt"),
		"up": "..", "loop": "loop", "null": "/dev/null",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := filefetch.New(filefetch.Options{Roots: map[string]string{"r": root, "proc": "/proc/self", "dev": "/dev"}, MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func TestReads(t *testing.T) {
	t.Parallel()
	h := tree(t)
	for _, tt := range []struct {
		in, kind, text, bytes string
	}{
		{`{"root":"r","path":"a.txt"}`, "text/plain; charset=utf-8", "Grüße\n", ""},
		{`{"root":"r","path":"a.txt","binary":true}`, "text/plain; charset=utf-8", "", "Grüße\n"},
		{`{"root":"r","path":"sub/b.json"}`, "application/json; charset=utf-8", `{"x":1}`, ""},
		{`{"root":"r","path":"inside"}`, "text/plain; charset=utf-8", `{"x":1}`, ""},
		{`{"root":"r","path":"bom.csv"}`, "text/csv; charset=utf-8", "a;b", ""},
		{`{"root":"r","path":"utf16.txt"}`, "text/plain; charset=utf-16le", "hi", ""},
		{`{"root":"r","path":"latin.txt"}`, "text/plain", "", "Gr\xFC\xDFe"},
		{`{"root":"r","path":"pixel.png"}`, "image/png", "", "\x89PNG\r\n\x1a\n\x00\x01"},
		{`{"root":"r","path":"noextension"}`, "text/plain; charset=utf-8", "plain text", ""},
		{`{"root":"r","path":"nul.txt"}`, "text/plain; charset=utf-8", "", "a\x00b"},
		{`{"root":"r","path":"empty.txt","binary":true}`, "text/plain; charset=utf-8", "", ""},
		{`{"root":"r","path":"full.txt"}`, "text/plain; charset=utf-8", strings.Repeat("x", 1000), ""},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			reply, err := h.Handle(t.Context(), loopbroker.Job{JSON: tt.in})
			if err != nil {
				t.Fatal(err)
			}
			var out struct {
				Size int64
				Body *string
			}
			if err := json.Unmarshal([]byte(reply.JSON), &out); err != nil {
				t.Fatal(err)
			}
			if reply.ContentType != tt.kind || string(reply.Body) != tt.bytes || (out.Body == nil) != (reply.Body != nil) {
				t.Errorf("got %q, %q, %s, want %q, %q", reply.ContentType, reply.Body, reply.JSON, tt.kind, tt.bytes)
			}
			if out.Body != nil && *out.Body != tt.text {
				t.Errorf("got %q, want %q", *out.Body, tt.text)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	h := tree(t)
	for _, tt := range []struct {
		name, in string
		want     loopbroker.ErrorClass
	}{
		{"no JSON", `x`, loopbroker.ErrorClassBadRequest},
		{"two documents", `{"root":"r","path":"a.txt"}{}`, loopbroker.ErrorClassBadRequest},
		{"a field that is none", `{"root":"r","path":"a.txt","mode":"w"}`, loopbroker.ErrorClassBadRequest},
		{"no path", `{"root":"r"}`, loopbroker.ErrorClassBadRequest},
		{"a NUL", `{"root":"r","path":"a\u0000.txt"}`, loopbroker.ErrorClassBadRequest},
		{"no root", `{"root":"other","path":"a.txt"}`, loopbroker.ErrorClassBadRequest},
		{"no file", `{"root":"r","path":"none.txt"}`, loopbroker.ErrorClassBadRequest},
		{"up", `{"root":"r","path":"../secret.txt"}`, loopbroker.ErrorClassNotAllowed},
		{"up, later", `{"root":"r","path":"sub/../../secret.txt"}`, loopbroker.ErrorClassNotAllowed},
		{"up by backslashes", `{"root":"r","path":"..\\secret.txt"}`, loopbroker.ErrorClassNotAllowed},
		{"absolute", `{"root":"r","path":"/etc/passwd"}`, loopbroker.ErrorClassNotAllowed},
		{"a drive", `{"root":"r","path":"C:\\x"}`, loopbroker.ErrorClassNotAllowed},
		{"the root itself", `{"root":"r","path":"."}`, loopbroker.ErrorClassNotAllowed},
		{"a folder", `{"root":"r","path":"sub"}`, loopbroker.ErrorClassNotAllowed},
		{"a link out", `{"root":"r","path":"outside"}`, loopbroker.ErrorClassNotAllowed},
		{"an absolute link out", `{"root":"r","path":"absolute"}`, loopbroker.ErrorClassNotAllowed},
		{"a folder's link out", `{"root":"r","path":"up/secret.txt"}`, loopbroker.ErrorClassNotAllowed},
		{"a link to itself", `{"root":"r","path":"loop"}`, loopbroker.ErrorClassNotAllowed},
		{"a link to a device", `{"root":"r","path":"null"}`, loopbroker.ErrorClassNotAllowed},
		{"a device", `{"root":"dev","path":"zero"}`, loopbroker.ErrorClassNotAllowed},
		{"a pipe", `{"root":"r","path":"pipe"}`, loopbroker.ErrorClassNotAllowed},
		{"the system's way out", `{"root":"proc","path":"root/etc/passwd"}`, loopbroker.ErrorClassNotAllowed},
		{"over the cap", `{"root":"r","path":"large.txt"}`, loopbroker.ErrorClassTooLargeReply},
		{"over the cap, without a size", `{"root":"proc","path":"smaps"}`, loopbroker.ErrorClassTooLargeReply},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reply, err := h.Handle(t.Context(), loopbroker.Job{JSON: tt.in})
			var f *loopbroker.Fault
			if !errors.As(err, &f) || f.Class != tt.want || f.Retryable {
				t.Fatalf("got %+v, %v, want %s", reply, err, tt.want)
			}
			if f.Message == "" || strings.Contains(f.Message, os.TempDir()) {
				t.Errorf("the message is empty or shows where the root is: %q", f.Message)
			}
		})
	}
}

func TestStopsWithItsContext(t *testing.T) {
	t.Parallel()
	h := tree(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Handle(ctx, loopbroker.Job{JSON: `{"root":"r","path":"a.txt"}`})
	if f := loopbroker.AsFault(err); f == nil || f.Class != loopbroker.ErrorClassInterrupted || !f.Retryable {
		t.Errorf("got %v", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]filefetch.Options{
		"no roots":         {},
		"a root unnamed":   {Roots: map[string]string{"": "/"}},
		"no folder":        {Roots: map[string]string{"r": ""}},
		"a negative cap":   {Roots: map[string]string{"r": "/"}, MaxBytes: -1},
		"a missing folder": {Roots: map[string]string{"r": filepath.Join(t.TempDir(), "none")}},
	} {
		if h, err := filefetch.New(opts); err == nil {
			h.Close()
			t.Errorf("%s: no error", name)
		} else if name != "a missing folder" && !errors.Is(err, loopbroker.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
