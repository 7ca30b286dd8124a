package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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

// startStub listens on a port that the system chooses.
func startStub(ctx context.Context) (*stub, error) {
	s := &stub{count: map[string]int{}, release: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", s.hello)
	mux.HandleFunc("POST /render", s.render)
	mux.HandleFunc("GET /slow", s.slow)
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	url, server, err := serveLoopback(ctx, mux)
	s.url, s.server = url, server
	return s, err
}

// serveLoopback serves a handler on a loopback port until the server is closed.
func serveLoopback(ctx context.Context, h http.Handler) (string, *http.Server, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
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

// slow answers when the demonstration lets it.
func (s *stub) slow(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	select {
	case <-s.release:
		_, _ = io.WriteString(w, "better late than never")
	case <-r.Context().Done():
	}
}
