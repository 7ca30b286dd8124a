package session

import (
	"slices"
	"sync"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// Info is what others may see of a session: sys.dm_exec_sessions and its kin.
type Info struct {
	ID                    int32
	Login, OriginalLogin  string
	Host, Program, Client string
	Database              string
	DatabaseID            uint32
	UserID                int32
	ProcessID             uint32
	TDSVersion            uint32
	LoginTime             time.Time
	// LastRequest is when the last request began, LastEnd when one ended: zero
	// before the first.
	LastRequest, LastEnd  time.Time
	Running               bool
	Transactions          int
	Isolation             int
	LockTimeout           int64
	RowCount              int64
	LastError             int32
	Nesting               int32
	Encrypted, Loopback   bool
	NetAddress, LocalAddr string
	PacketSize            int
	Options               int64
	TransactionID         uint64
	// Wait is what the session waits for beside locks, WaitSince since when.
	Wait      string
	WaitSince time.Time
	LastWait  string

	opts        setOptions
	contextInfo []byte
	tran        tranInfo
	request     inputBuffer
	at          activity
}

// tranInfo is the session's transaction as others see it. The transaction of a
// single statement has a count of 0.
type tranInfo struct {
	name     string
	implicit bool // begun by IMPLICIT_TRANSACTIONS
	snapshot bool
}

// inputBuffer is what the client sent last.
type inputBuffer struct {
	event string // Language Event, RPC Event; empty before the first request
	text  string
}

// activity is the statement that a session runs, or ran last.
type activity struct {
	prog   *program
	module *catalog.Module
	stmt   syntax.Statement
}

// sessionInfo holds the part of a session that other sessions read. It is safe
// for concurrent use.
type sessionInfo struct {
	mu   sync.Mutex
	info Info
	host string // fixed at login
}

func (i *sessionInfo) init(req wire.LoginRequest, now time.Time) {
	i.host = req.Hostname
	i.info = Info{
		Host: req.Hostname, Program: req.AppName, Client: req.Interface, ProcessID: req.ClientPID, TDSVersion: req.TDSVersion,
		LoginTime: now, LastRequest: now, Encrypted: req.Encrypted, PacketSize: req.PacketSize,
	}
	if req.RemoteAddr != nil {
		i.info.NetAddress = req.RemoteAddr.String()
	}
	if req.LocalAddr != nil {
		i.info.LocalAddr = req.LocalAddr.String()
	}
}

// update copies what the session's own goroutine knows. The caller holds mu.
func (i *sessionInfo) update(x *Session) {
	in := &i.info
	in.ID, in.Login, in.OriginalLogin = x.id, x.ident.login.Name, x.originalLogin.Name
	in.Database, in.DatabaseID, in.UserID = x.db.Name, x.db.ID, x.ident.user.ID
	in.Transactions, in.LastError, in.RowCount, in.Nesting = x.txn.count, x.lastError, x.rowCount, x.nesting
	in.Loopback, in.opts, in.contextInfo = x.loopback, x.opts, x.ctxInfo
	in.TransactionID, in.tran = 0, tranInfo{}
	if tx := x.txn.tx; tx != nil {
		in.TransactionID = tx.ID()
		in.tran = tranInfo{name: x.txn.name, implicit: x.txn.implicit, snapshot: x.txn.level == touchedSnapshot}
	}
	if f := x.frame; f != nil && f.pc0 < len(f.prog.code) {
		in.at = activity{f.prog, f.module, f.prog.code[f.pc0].stmt}
	}
}

// refresh makes the session's own state current: others see which statement
// runs, and a session that looks at itself sees what its last statement has set.
func (i *sessionInfo) refresh(x *Session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.update(x)
}

func (i *sessionInfo) begin(x *Session, request inputBuffer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.update(x)
	i.info.Running, i.info.LastRequest, i.info.request, i.info.at = true, x.srv.now(), request, activity{}
}

func (i *sessionInfo) end(x *Session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.update(x)
	i.info.Running, i.info.Wait, i.info.LastEnd = false, "", x.srv.now()
}

// wait says what the session waits for; empty when it does not.
func (i *sessionInfo) wait(x *Session, kind string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.update(x)
	now := x.srv.now()
	if i.info.Wait != "" {
		x.owner.CountWait(i.info.Wait, now.Sub(i.info.WaitSince))
	}
	i.info.Wait, i.info.WaitSince = kind, now
	if kind != "" {
		i.info.LastWait = kind
	}
}

func (i *sessionInfo) database() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.info.Database
}

// snapshot returns a copy. It reads nothing of x that its goroutine may change.
func (i *sessionInfo) snapshot(x *Session) Info {
	i.mu.Lock()
	in := i.info
	i.mu.Unlock()
	in.ID = x.id
	in.Isolation, in.Options = isolationNumbers[in.opts.isolation], in.opts.bits()
	in.LockTimeout = in.opts.lockTimeout.Milliseconds()
	if in.opts.lockTimeout < 0 {
		in.LockTimeout = -1
	}
	return in
}

// viewer is the catalog.Viewer of a session.
type viewer struct{ x *Session }

var _ catalog.Reader = viewer{}

// CurrentDatabase implements catalog.Viewer.
func (v viewer) CurrentDatabase() *catalog.Database { return v.x.db }

// Property implements catalog.Viewer.
func (v viewer) Property(name string, args []types.Value) (types.Value, error) {
	return v.x.property(v.x.frame, name, args)
}

// Server returns the server's catalog, for views of the server.
func (v viewer) Server() *catalog.Server { return v.x.srv.cat }

// Visible reports whether the session may see an object's metadata: it owns the
// database, or has any permission on the object.
func (v viewer) Visible(o catalog.Object) bool {
	return v.x.seesObject(v.x.db, o)
}

// seesObject reports whether the session owns the database, or has any permission on
// the object.
func (x *Session) seesObject(db *catalog.Database, o catalog.Object) bool {
	u := x.userIn(db)
	return u != nil && (x.owns(db) || slices.ContainsFunc(metadataPermissions, func(p string) bool { return db.Allowed(u.ID, p, o) }))
}

// metadataPermissions are those of which any one makes an object visible.
var metadataPermissions = []string{"SELECT", "EXECUTE", "INSERT", "UPDATE", "DELETE", "VIEW DEFINITION", "ALTER", "REFERENCES"}

// LoginName implements catalog.Reader.
func (v viewer) LoginName() string { return v.x.ident.login.Name }

// Sysadmin implements catalog.Reader.
func (v viewer) Sysadmin() bool { return v.x.ident.database == nil && v.x.ident.login.Sysadmin() }

// TokenUsages implements catalog.Reader: a database-scoped context has its
// login's token for deny only.
func (v viewer) TokenUsages() [][2]string {
	usage := "GRANT OR DENY"
	if v.x.ident.database != nil {
		usage = "DENY ONLY"
	}
	return [][2]string{{v.x.ident.login.Name, usage}}
}
