package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/rs/zerolog"

	"loopbroker/engine/catalog"
	"loopbroker/engine/session"
	"loopbroker/engine/storage"
	"loopbroker/engine/wire"
)

// Version is the text of @@VERSION.
const Version = "loopbroker embedded engine - 16.0.1000.6 (X64)\n\tSQL Server-compatible, in Go"

// Durability says when a commit returns.
type Durability = storage.Durability

// The durabilities of Options.
const (
	// Full returns after the log record is on disk.
	Full = storage.Full
	// Relaxed returns after the record was handed to the operating system.
	Relaxed = storage.Relaxed
	// None keeps everything in memory.
	None = storage.InMemory
)

// Options configures a Server. The zero value is a server in memory.
type Options struct {
	// Dir is the data directory, made when it does not exist. Without one
	// nothing is written and Durability is None.
	Dir string

	// Durability is that of ordinary commits.
	//
	// Defaults to Full with a Dir.
	Durability Durability

	// CheckpointBytes is how much the log may grow before the tables are written
	// to a checkpoint: it bounds what recovery has to replay.
	//
	// Defaults to 64 MiB.
	CheckpointBytes int64

	// Name is @@SERVERNAME.
	//
	// Defaults to LOOPBROKER.
	Name string

	// Database is a database that is created when it does not exist, and where
	// Connector's connections begin.
	//
	// Defaults to loopbroker.
	Database string

	// Password is that of the login sa.
	//
	// Defaults to a random one that only Connector knows.
	Password string

	// TLSConfig holds the certificate of the TDS port.
	//
	// Defaults to a self-signed certificate made at the first encrypted login.
	TLSConfig *tls.Config

	// RequireEncryption refuses clients that do not encrypt.
	RequireEncryption bool

	// AllowRemote lets Listen take an address that is not a loopback address.
	AllowRemote bool

	// Logger receives the server's events.
	//
	// Defaults to no logging.
	Logger zerolog.Logger

	// Restore are backups that Open restores before anything else happens. Each
	// is verified from its beginning to its end before anything is changed, and
	// all databases come back at once: a crash leaves either all of them or none.
	// A database that exists and has objects is ErrNotEmpty.
	Restore []Restore

	// tune changes the options of the store, for tests.
	tune func(*storage.Options)
}

// Restore names a backup, and the database that it becomes.
type Restore = catalog.Restore

// ErrNotEmpty is returned by Open for a backup of a database that exists and has
// objects.
var ErrNotEmpty = catalog.ErrNotEmpty

// WithDefaults returns a copy of o with every zero field filled in.
func (o Options) WithDefaults() Options {
	if o.Dir == "" {
		o.Durability = None
	}
	if o.Name == "" {
		o.Name = "LOOPBROKER"
	}
	if o.Database == "" {
		o.Database = "loopbroker"
	}
	if o.Password == "" {
		o.Password = randomPassword()
	}
	return o
}

// Server is a running engine. It is safe for concurrent use.
type Server struct {
	opts     Options
	store    *storage.Store
	catalog  *catalog.Server
	sessions *session.Server
	wire     *wire.Server
	stop     context.CancelFunc

	serving   sync.WaitGroup
	mu        sync.Mutex // guards addresses
	addresses []net.Addr
}

// ErrNotLoopback is returned by Listen for an address that other machines can
// reach, unless Options.AllowRemote is set.
var ErrNotLoopback = errors.New("engine: listens on loopback addresses only")

// Open starts an engine. The context bounds the start; Close ends the server.
func Open(ctx context.Context, o Options) (*Server, error) {
	o = o.WithDefaults()
	so := storage.Options{
		Dir: o.Dir, Durability: o.Durability, CheckpointBytes: o.CheckpointBytes, OldView: oldViewWarning(o.Logger),
	}
	if o.tune != nil {
		o.tune(&so)
	}
	store, err := storage.Open(ctx, so)
	if err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	s, err := start(base, o, store)
	if err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("open engine: %w", err), store.Close(context.WithoutCancel(ctx)))
	}
	s.stop = stop
	return s, nil
}

func start(base context.Context, o Options, store *storage.Store) (*Server, error) {
	if len(o.Restore) > 0 {
		if err := catalog.RestoreAll(base, store, o.Restore, o.Name, time.Now); err != nil {
			return nil, err
		}
	}
	cat, err := catalog.Open(base, store, o.Name, time.Now)
	if err != nil {
		return nil, err
	}
	if err := bootstrap(base, cat, o); err != nil {
		return nil, err
	}
	s := &Server{opts: o, store: store, catalog: cat}
	s.sessions = session.New(base, session.Options{Catalog: cat, Store: store, Logger: o.Logger, Version: Version})
	s.wire, err = wire.New(s.sessions, wire.Options{
		TLSConfig: o.TLSConfig, RequireEncryption: o.RequireEncryption, Logger: o.Logger, ServerName: o.Name,
		ProductVersion: [3]int{16, 0, 1000}, // as SERVERPROPERTY says
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// bootstrap makes the login sa and the first database.
func bootstrap(ctx context.Context, cat *catalog.Server, o Options) error {
	owner := cat.Store.NewOwner(0)
	defer owner.Close()
	tx := cat.Store.Begin(owner)
	ch := cat.Change(ctx, tx)
	login := &catalog.Login{Name: "sa", Database: "master", Roles: []string{"sysadmin"}}
	if old, ok := cat.Login("sa"); ok {
		c := *old
		login = &c
	}
	login.SetPassword(o.Password)
	err := ch.PutLogin(login)
	if _, ok := cat.Database(o.Database); err == nil && !ok {
		_, err = ch.CreateDatabase(o.Database, defaultCollation, "sa")
	}
	if err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit(ctx)
}

// Connector returns a connector over in-memory connections, logged in as sa in
// Options.Database. Use it with sql.OpenDB.
func (s *Server) Connector() *mssql.Connector {
	return s.ConnectorFor("sa", s.opts.Password, s.opts.Database)
}

// ConnectorFor is Connector for another login and database.
func (s *Server) ConnectorFor(user, password, database string) *mssql.Connector {
	c := mssql.NewConnectorConfig(msdsn.Config{
		Host: s.opts.Name, Port: 1433, User: user, Password: password, Database: database,
		Encryption: msdsn.EncryptionDisabled, Protocols: []string{"tcp"}, AppName: "loopbroker",
		Parameters: map[string]string{}, ProtocolParameters: map[string]any{}, PacketSize: 16 << 10,
	})
	c.Dialer = s.wire
	return c
}

// Listen opens a TDS port and serves it until Close. The address is one that
// net.Listen takes for tcp; a port of 0 lets the system choose one.
func (s *Server) Listen(ctx context.Context, addr string) (net.Addr, error) {
	var lc net.ListenConfig
	if err := s.checkAddress(addr); err != nil {
		return nil, err
	}
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.sessions.ListensOn(ln.Addr())
	s.mu.Lock()
	s.addresses = append(s.addresses, ln.Addr())
	s.mu.Unlock()
	serveCtx := context.WithoutCancel(ctx)
	s.serving.Go(func() {
		if err := s.wire.Serve(serveCtx, ln); err != nil && !errors.Is(err, wire.ErrServerClosed) {
			s.opts.Logger.Error().Err(err).Str("component", "engine").Msg("serving ended")
		}
	})
	return ln.Addr(), nil
}

// checkAddress refuses addresses that other machines can reach.
func (s *Server) checkAddress(addr string) error {
	if s.opts.AllowRemote {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%w: %s", ErrNotLoopback, addr)
	}
	return nil
}

// Password returns the password of the login sa.
func (s *Server) Password() string { return s.opts.Password }

// Database returns the name of the database that Connector uses.
func (s *Server) Database() string { return s.opts.Database }

// Replayed returns what had to be replayed of the log when the server was opened:
// what was committed since the last checkpoint.
func (s *Server) Replayed() storage.Replay { return s.store.Replayed() }

// LoopbackCalls counts the procedure calls that came back to this server
// through a linked server.
func (s *Server) LoopbackCalls() int64 { return s.sessions.LoopbackCalls() }

// Close stops the server: it takes no more connections, gives running requests
// until ctx ends, and leaves the data directory consistent.
func (s *Server) Close(ctx context.Context) error {
	err := s.wire.Shutdown(ctx)
	if err != nil && errors.Is(err, ctx.Err()) {
		err = nil // requests that were still running have been cut, as promised
	}
	s.sessions.Close()
	s.stop()
	s.serving.Wait()
	err = errors.Join(err, s.catalog.Close(context.WithoutCancel(ctx)))
	return errors.Join(err, s.store.Close(context.WithoutCancel(ctx)))
}
