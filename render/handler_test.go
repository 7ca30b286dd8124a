package render_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loopbroker"
	"loopbroker/render"
)

// handler returns a handler, skipping where a browser is needed and there is none.
func handler(t *testing.T, opts render.Options, browser bool) *render.Handler {
	t.Helper()
	if browser && opts.WithDefaults().Browser == "" {
		t.Skip("Chromium is not installed")
	}
	opts.NoSandbox = os.Getuid() == 0
	h, err := render.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// job returns a job of a template.
func job(t *testing.T, format, template string, data any) loopbroker.Job {
	t.Helper()
	text, err := json.Marshal(map[string]any{"template": template, "data": data, "format": format})
	if err != nil {
		t.Fatal(err)
	}
	return loopbroker.Job{JSON: string(text), AttemptTimeout: time.Minute}
}

func body(t *testing.T, r loopbroker.Reply) string {
	t.Helper()
	var out struct{ Body string }
	if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
		t.Fatal(err)
	}
	return out.Body
}

func TestHTML(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "list.html"), []byte("<ul>{{range .}}<li>{{.}}</li>{{end}}</ul>"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := handler(t, render.Options{Templates: dir}, false)
	for _, tt := range []struct {
		name, template, want string
		data                 any
	}{
		{"escapes by context", `<a title="{{.x}}" onclick="f({{.x}})">{{.x}}</a>`, `<a title="&#34;&lt;b&gt;" onclick="f(&#34;\&#34;\u003cb\u003e&#34;)">&#34;&lt;b&gt;</a>`, map[string]any{"x": `"<b>`}},
		{"a loop in a script", `<script>let a = [{{range $i, $x := .}}{{if $i}},{{end}}{{$x}}{{end}}]</script>`, `<script>let a = [ 1 , 2 ]</script>`, []int{1, 2}},
		{"a large number", `<b>{{.n}}</b>`, `<b>12345678</b>`, map[string]any{"n": 12345678}},
		{"by name", `list.html`, `<ul><li>a</li><li>&lt;</li></ul>`, []string{"a", "<"}},
		{"a template in it", `{{define "x"}}<i>{{.}}</i>{{end}}{{template "x" .}}`, `<i>1</i>`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := h.Handle(t.Context(), job(t, "html", tt.template, tt.data))
			if err != nil {
				t.Fatal(err)
			}
			if got := body(t, r); got != tt.want || r.ContentType != "text/html; charset=utf-8" {
				t.Errorf("got %s (%s), want %s", got, r.ContentType, tt.want)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.html")); err != nil {
		t.Fatal(err)
	}
	h := handler(t, render.Options{Templates: dir, MaxBytes: 1000}, false)
	for _, tt := range []struct {
		name, in string
		want     loopbroker.ErrorClass
	}{
		{"no JSON", `x`, loopbroker.ErrorClassBadRequest},
		{"a field that is none", `{"template":"<p>","url":"http://x"}`, loopbroker.ErrorClassBadRequest},
		{"no template", `{"format":"html"}`, loopbroker.ErrorClassBadRequest},
		{"a format", `{"template":"<p>","format":"docx"}`, loopbroker.ErrorClassBadRequest},
		{"no such name", `{"template":"none.html","format":"html"}`, loopbroker.ErrorClassBadRequest},
		{"a name above", `{"template":"../x.html","format":"html"}`, loopbroker.ErrorClassNotAllowed},
		{"an absolute name", `{"template":"/etc/passwd","format":"html"}`, loopbroker.ErrorClassNotAllowed},
		{"a link out", `{"template":"link.html","format":"html"}`, loopbroker.ErrorClassNotAllowed},
		{"a template that does not parse", `{"template":"<p>{{","format":"html"}`, loopbroker.ErrorClassBadRequest},
		{"a function that is none", `{"template":"<p>{{env}}","format":"html"}`, loopbroker.ErrorClassBadRequest},
		{"too much", `{"template":"<p>{{range 1000}}xx{{end}}","format":"html"}`, loopbroker.ErrorClassTooLargeReply},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := h.Handle(t.Context(), loopbroker.Job{JSON: tt.in, AttemptTimeout: time.Minute})
			var f *loopbroker.Fault
			if !errors.As(err, &f) || f.Class != tt.want || f.Retryable || f.Message == "" {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestEndlessTemplates has templates that would run for ever without writing.
func TestEndlessTemplates(t *testing.T) {
	t.Parallel()
	h := handler(t, render.Options{}, false)
	for name, template := range map[string]string{
		"a loop":    `<p>{{range 1000000000000000}}{{end}}`,
		"recursion": `{{define "x"}}{{template "x"}}{{template "x"}}{{end}}<p>{{template "x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job(t, "html", template, nil)
			j.AttemptTimeout = 50 * time.Millisecond
			_, err := h.Handle(t.Context(), j)
			f := loopbroker.AsFault(err)
			if f == nil || f.Class != loopbroker.ErrorClassTimeoutAttempt && (name != "recursion" || f.Class != loopbroker.ErrorClassBadRequest) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWithoutABrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	h := handler(t, render.Options{}, false)
	for _, format := range []string{"pdf", "png"} {
		_, err := h.Handle(t.Context(), job(t, format, "<p>", nil))
		f := loopbroker.AsFault(err)
		if f == nil || f.Class != loopbroker.ErrorClassHandlerFailed || f.Retryable || !strings.Contains(f.Message, "install Chromium") {
			t.Errorf("%s: got %v", format, err)
		}
	}
	if _, err := h.Handle(t.Context(), job(t, "html", "<p>", nil)); err != nil {
		t.Errorf("html: %v", err)
	}
}

func TestPDF(t *testing.T) {
	t.Parallel()
	h := handler(t, render.Options{}, true)
	r, err := h.Handle(t.Context(), job(t, "pdf", "<h1>{{.title}}</h1>", map[string]any{"title": "Grüße"}))
	if err != nil {
		t.Fatalf("%v: %v", err, errors.Unwrap(err))
	}
	if !bytes.HasPrefix(r.Body, []byte("%PDF-")) || r.ContentType != "application/pdf" || !strings.Contains(r.JSON, fmt.Sprintf(`"size":%d`, len(r.Body))) {
		t.Errorf("got %d bytes of %s, %s", len(r.Body), r.ContentType, r.JSON)
	}
}

// red counts the red points of a PNG.
func red(t *testing.T, data []byte) int {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			if c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA); c.R > 200 && c.G < 60 && c.B < 60 {
				n++
			}
		}
	}
	return n
}

// TestNothingIsFetched shows pages that reach for a server on this machine and for
// files, in every way that a page has. Nothing arrives, and nothing red is seen; what
// is in the page itself is.
func TestNothingIsFetched(t *testing.T) {
	t.Parallel()
	h := handler(t, render.Options{}, true)
	var hits atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if strings.HasSuffix(r.URL.Path, "css") {
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, "html { background: red !important }")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<body style="background: red">`)
	}))
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "red.html")
	if err := os.WriteFile(file, []byte(`<body style="background: red">`), 0o600); err != nil {
		t.Fatal(err)
	}
	const redDot = `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==`
	for _, tt := range []struct {
		name, page string
		want       bool // red
	}{
		{"what is in it", `<body style="background: red">`, true},
		{"a picture in it", `<img width=100 height=100 src="` + redDot + `">`, true},
		{"a picture", `<img width=100 height=100 src="URL/a.png">`, false},
		{"a style", `<link rel=stylesheet href="URL/a.css">`, false},
		{"a style in a style", `<style>@import url("URL/a.css"); body { background: url("URL/a.png") }</style>`, false},
		{"a frame", `<iframe width=500 height=500 src="URL/a"></iframe>`, false},
		{"an object", `<object width=500 height=500 data="URL/a"></object><embed width=500 height=500 src="URL/a">`, false},
		{"a refresh", `<meta http-equiv=refresh content="0;url=URL/a">`, false},
		{"hints", `<link rel=preconnect href="URL"><link rel=prefetch href="URL/a"><link rel=preload as=image href="URL/a"><link rel=dns-prefetch href="URL">`, false},
		{"a script", `<script>document.documentElement.style.background = "red"; fetch("URL/a"); location = "URL/a"; new WebSocket("URL".replace("http", "ws"))</script>`, false},
		{"a script in a picture", `<img src=x onerror="document.documentElement.style.background = 'red'">`, false},
		{"a frame with a page in it", `<iframe width=500 height=500 srcdoc="<img src='URL/a'><script>document.body.style.background='red'</script>"></iframe>`, false},
		{"a base", `<base href="URL/"><img width=100 height=100 src="a.png"><iframe src="a"></iframe>`, false},
		{"a form", `<form action="URL/a"><input autofocus></form>`, false},
	} {
		for kind, url := range map[string]string{"http": srv.URL, "file": "file://" + file + "?", "passwd": "file:///etc/passwd?"} {
			if kind == "passwd" && tt.name != "a frame" || kind == "file" && (tt.want || !strings.Contains("a picture, a style, a frame, an object, a refresh", tt.name)) {
				continue
			}
			t.Run(tt.name+" by "+kind, func(t *testing.T) {
				t.Parallel()
				// The page is data here, so that the template's own filter does not see it.
				page := strings.ReplaceAll(tt.page, "URL", url)
				r, err := h.Handle(t.Context(), job(t, "png", "{{/* */}}"+page, nil))
				if err != nil {
					t.Fatalf("%v: %v", err, errors.Unwrap(err))
				}
				if n := red(t, r.Body); (n > 0) != tt.want {
					t.Errorf("%d red points, want some: %t", n, tt.want)
				}
			})
		}
	}
	t.Cleanup(func() {
		if n := hits.Load(); n != 0 {
			t.Errorf("%d requests arrived, want none", n)
		}
	})
}

// TestOutputCap asks for more than is allowed.
func TestOutputCap(t *testing.T) {
	t.Parallel()
	h := handler(t, render.Options{MaxBytes: 2000}, true)
	_, err := h.Handle(t.Context(), job(t, "pdf", "<h1>x</h1>", nil))
	if f := loopbroker.AsFault(err); f == nil || f.Class != loopbroker.ErrorClassTooLargeReply || f.Retryable {
		t.Errorf("got %v", err)
	}
}

// TestTimeLimitKillsTheGroup stands a program that never answers, and its child, in
// for the browser: both are gone afterwards.
func TestTimeLimitKillsTheGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, note := filepath.Join(dir, "browser"), filepath.Join(dir, "alive")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nmkfifo "+note+"\n(exec 5>"+note+"; sleep 600) &\nsleep 600\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	h := handler(t, render.Options{Browser: program}, false)
	j := job(t, "pdf", "<p>", nil)
	j.AttemptTimeout = time.Second
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	read := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(note); err == nil {
				break
			}
			time.Sleep(time.Millisecond) // until the program has made it
		}
		_, err := os.ReadFile(note) // ends when the last writer does
		read <- err
	}()
	_, err := h.Handle(ctx, j)
	if f := loopbroker.AsFault(err); f == nil || f.Class != loopbroker.ErrorClassTimeoutAttempt || f.Retryable {
		t.Errorf("got %v", err)
	}
	select {
	case err := <-read:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("a child of the program is still alive")
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]render.Options{
		"a negative cap":   {MaxBytes: -1},
		"a negative time":  {Timeout: -1},
		"negative slots":   {Concurrent: -1},
		"a missing folder": {Templates: filepath.Join(t.TempDir(), "none")},
	} {
		if h, err := render.New(opts); err == nil {
			h.Close()
			t.Errorf("%s: no error", name)
		} else if name != "a missing folder" && !errors.Is(err, loopbroker.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
