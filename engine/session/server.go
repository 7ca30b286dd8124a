package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/storage"
	"loopbroker/engine/wire"
)

// Options configures a Server.
type Options struct {
	Catalog *catalog.Server
	Store   *storage.Store
	Logger  zerolog.Logger
	// Version is the text that @@VERSION shows.
	Version string
	// Now is the server's clock. Defaults to time.Now.
	Now func() time.Time
}

// Server opens sessions on one catalog and one store.
type Server struct {
	cat     *catalog.Server
	store   *storage.Store
	log     zerolog.Logger
	version string
	now     func() time.Time
	base    context.Context // ends with the server
	started time.Time

	programs *programCache
	links    linkPool

	mu        sync.Mutex // guards what follows
	sessions  map[int32]*Session
	nextID    int32
	addresses []string // host:port that this server listens on
	closed    bool

	loopbackCalls atomic.Int64
}

var _ wire.Backend = (*Server)(nil)

// firstSession is the id before that of the first client: lower ones belong to
// the system's own tasks.
const firstSession = 50

// New returns a server without sessions.
func New(ctx context.Context, o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{
		cat: o.Catalog, store: o.Store, version: o.Version, now: o.Now, base: ctx, started: o.Now(),
		log:      o.Logger.With().Str("component", "session").Logger(),
		programs: newProgramCache(), sessions: map[int32]*Session{}, nextID: firstSession,
	}
	if err := s.bindFilters(ctx); err != nil { // the tables in question stay readable and refuse changes
		s.log.Error().Err(err).Msg("filtered index is not usable")
	}
	return s
}

// ListensOn tells the server one of its own addresses, host:port. A linked
// server whose data source is one of them is a loopback.
func (s *Server) ListensOn(addr net.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addresses = append(s.addresses, addr.String())
}

// LoopbackCalls counts the remote procedure calls that came back to this server.
func (s *Server) LoopbackCalls() int64 { return s.loopbackCalls.Load() }

// Close ends the idle loopback sessions. Sessions of clients end with their
// connections.
func (s *Server) Close() { s.links.close() }

// Login implements wire.Backend.
func (s *Server) Login(_ context.Context, req wire.LoginRequest) (wire.Session, error) {
	login, ok := s.cat.Login(req.User)
	if !ok || login.Disabled || !login.Verify(req.Password) {
		return nil, sqlerr.New(18456, req.User)
	}
	return s.open(login, req)
}

// open makes a session for a login whose identity is proved.
func (s *Server) open(login *catalog.Login, req wire.LoginRequest) (*Session, error) {
	name := req.Database
	if name == "" {
		name = login.Database
	}
	db, user, err := s.enter(login, name)
	if err != nil && req.Database == "" { // the login's own that is gone or closed to it
		err = sqlerr.New(4064)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, sqlerr.New(18456, req.User)
	}
	id := s.freeID()
	x := newSession(s, id, login, db, user, req)
	s.sessions[id] = x
	return x, nil
}

// freeID returns the lowest free session id. The caller holds mu.
func (s *Server) freeID() int32 {
	for id := int32(firstSession + 1); ; id++ {
		if _, used := s.sessions[id]; !used {
			return id
		}
	}
}

// enter returns the database and the login's user in it; error 4060.
func (s *Server) enter(login *catalog.Login, name string) (*catalog.Database, *catalog.Principal, error) {
	if name == "" {
		name = "master"
	}
	db, ok := s.cat.Database(name)
	if !ok {
		return nil, nil, sqlerr.New(4060, name)
	}
	user, ok := db.UserOf(login)
	if !ok {
		return nil, nil, sqlerr.New(4060, name)
	}
	return db, user, nil
}

// forget removes a session that has ended.
func (s *Server) forget(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

// Sessions returns the open sessions by id.
func (s *Server) Sessions() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Info, 0, len(s.sessions))
	for _, x := range s.sessions {
		out = append(out, x.info.snapshot(x))
	}
	slices.SortFunc(out, func(a, b Info) int { return int(a.ID - b.ID) })
	return out
}

// errKilled is the cause with which a request ends that another session killed.
var errKilled = errors.New("killed")

// loggedIn reports whether a session of a login is open. Idle sessions of the
// loopback do not count: nobody uses them.
func (s *Server) loggedIn(l *catalog.Login) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if !x.loopback && catalog.Fold(x.originalLogin.Name) == catalog.Fold(l.Name) {
			return true
		}
	}
	return false
}

// maxSession is the highest id a session can have.
const maxSession = 32767

// kill ends another session; error 6101, 6104, 6106 and 6107.
func (s *Server) kill(id, by int32) error {
	switch {
	case id < 1 || id > maxSession:
		return sqlerr.New(6101, id)
	case id == by:
		return sqlerr.New(6104)
	case id <= firstSession:
		return sqlerr.New(6107) // the system's own
	}
	s.mu.Lock()
	x, ok := s.sessions[id]
	s.mu.Unlock()
	if !ok || x.killFunc == nil {
		return sqlerr.New(6106, id)
	}
	x.killFunc(fmt.Errorf("%w by session %d", errKilled, by))
	return nil
}

// isSelf reports whether a data source names this server: by @@SERVERNAME, by
// one of the addresses it listens on, or as (local) or a bare dot.
func (s *Server) isSelf(source string) bool {
	source = strings.TrimSpace(strings.ToLower(source))
	source = strings.TrimPrefix(source, "tcp:")
	source = strings.ReplaceAll(source, ",", ":")
	switch source {
	case "", ".", "(local)", "localhost", strings.ToLower(s.cat.Name):
		return true
	}
	host, port, err := net.SplitHostPort(source)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.addresses {
		h, p, err := net.SplitHostPort(a)
		if err == nil && p == port && sameHost(host, h) {
			return true
		}
	}
	return false
}

// sameHost reports whether a client's word for a host means an address that
// this server listens on. Every loopback address is the same host.
func sameHost(name, listening string) bool {
	if name == listening {
		return true
	}
	l := net.ParseIP(listening)
	if l == nil || !l.IsLoopback() && !l.IsUnspecified() {
		return false
	}
	n := net.ParseIP(name)
	return name == "localhost" || name == "." || n != nil && n.IsLoopback()
}
