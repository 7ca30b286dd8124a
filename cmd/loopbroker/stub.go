package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// stub is an HTTP service on a loopback address that stands for the outside
// world: a tax authority, a renderer. It counts what reaches it.
type stub struct {
	url    string // http://127.0.0.1:port
	server *http.Server

	mu      sync.Mutex
	count   map[string]int // by path
	release chan struct{}  // closed: /slow answers
}

// anyPort is a loopback address whose port the system chooses.
const anyPort = "127.0.0.1:0"

// startStub listens on an address and serves it.
func startStub(ctx context.Context, addr string) (*stub, error) {
	s := &stub{count: map[string]int{}, release: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", s.hello)
	mux.HandleFunc("POST /render", s.render)
	mux.HandleFunc("GET /slow", s.slow)
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("/status/{code}", s.status)
	url, server, err := serveHTTP(ctx, addr, mux)
	s.url, s.server = url, server
	return s, err
}

// serveHTTP serves a handler on an address until the server is closed.
func serveHTTP(ctx context.Context, addr string, h http.Handler) (string, *http.Server, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("start the stub service: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(ln) }() // ends with Close, which is its only error
	return "http://" + ln.Addr().String(), server, nil
}

// close ends the service and the requests that it holds.
func (s *stub) close() { _ = s.server.Close() }

// seen returns how many requests reached a path.
func (s *stub) seen(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[path]
}

func (s *stub) note(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[r.URL.Path]++
	return s.count[r.URL.Path]
}

func (s *stub) hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "hello no. %d", s.note(r))
}

func (s *stub) render(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"rendered_bytes":%d}`, len(body))
}

// slow answers after ?ms=n, or without that when the demonstration lets it.
func (s *stub) slow(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	release := s.release
	var after <-chan time.Time
	if text := r.FormValue("ms"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 0 || ms > maxSlow {
			http.Error(w, fmt.Sprintf("ms must be from 0 to %d", maxSlow), http.StatusBadRequest)
			return
		}
		release, after = nil, time.After(time.Duration(ms)*time.Millisecond)
	}
	select {
	case <-release:
	case <-after:
	case <-r.Context().Done():
		return
	}
	_, _ = io.WriteString(w, "better late than never")
}

// maxSlow is the longest that /slow takes, in milliseconds.
const maxSlow = 600_000

// status answers with the status that the path asks for.
func (s *stub) status(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	code, err := strconv.Atoi(r.PathValue("code"))
	if err != nil || code < 200 || code > 599 {
		http.Error(w, "the status must be from 200 to 599", http.StatusBadRequest)
		return
	}
	w.WriteHeader(code)
	_, _ = io.WriteString(w, http.StatusText(code))
}

// stubCommand runs the stub service by itself.
type stubCommand struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address of the HTTP service. Port 0 lets the system choose one."`
}

// Help is shown by --help.
func (stubCommand) Help() string {
	return `A service to try requests on, with nothing behind it:

  GET  /hello          text, numbered
  GET  /ok             "ok"
  GET  /slow?ms=2000   an answer after two seconds
  POST /render         201 and a line of JSON
  *    /status/503     any status

A worker calls it only with --allow-network for its address.`
}

// Run implements the command.
func (c *stubCommand) Run(app *app) error {
	s, err := startStub(app.ctx, c.Listen)
	if err != nil {
		return err
	}
	defer s.close()
	if _, err := fmt.Fprintln(app.stdout, "listening on", s.url); err != nil {
		return err
	}
	<-app.ctx.Done()
	return nil
}
