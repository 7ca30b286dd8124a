package session

import (
	"sync"
	"time"

	"loopbroker/engine/catalog"
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
	ProcessID             uint32
	LoginTime             time.Time
	LastRequest           time.Time
	Running               bool
	Command               string
	Wait                  string
	Transactions          int
	Isolation             int
	LockTimeout           int64
	RowCount              int64
	LastError             int32
	Encrypted, Loopback   bool
	NetAddress, LocalAddr string
	PacketSize            int
	Options               int64
	TransactionID         uint64
	RequestText           string
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
		Host: req.Hostname, Program: req.AppName, Client: req.Interface, ProcessID: req.ClientPID,
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
	in.Database, in.DatabaseID = x.db.Name, x.db.ID
	in.Transactions, in.LastError, in.RowCount = x.txn.count, x.lastError, x.rowCount
	in.Isolation = isolationNumbers[x.opts.isolation]
	in.LockTimeout = x.opts.lockTimeout.Milliseconds()
	if x.opts.lockTimeout < 0 {
		in.LockTimeout = -1
	}
	in.Loopback, in.Options, in.TransactionID = x.loopback, x.opts.bits(), 0
	if x.txn.tx != nil {
		in.TransactionID = x.txn.tx.ID()
	}
}

// refresh makes the session's own state current: a session that looks at itself
// sees what its last statement has set.
func (i *sessionInfo) refresh(x *Session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.update(x)
}

func (i *sessionInfo) begin(x *Session, text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.update(x)
	i.info.Running, i.info.LastRequest, i.info.RequestText = true, x.srv.now(), text
}

func (i *sessionInfo) end(x *Session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.update(x)
	i.info.Running, i.info.Wait = false, ""
}

// wait says what the session waits for; empty when it does not.
func (i *sessionInfo) wait(kind string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.info.Wait = kind
}

func (i *sessionInfo) database() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.info.Database
}

// snapshot returns a copy. It reads nothing of x that its goroutine may change.
func (i *sessionInfo) snapshot(x *Session) Info {
	i.mu.Lock()
	defer i.mu.Unlock()
	in := i.info
	in.ID = x.id
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
	x := v.x
	if x.ident.user.ID == catalog.DBOID || x.owns(x.db) {
		return true
	}
	for _, p := range []string{"SELECT", "EXECUTE", "INSERT", "UPDATE", "DELETE", "VIEW DEFINITION", "ALTER", "REFERENCES"} {
		if x.db.Allowed(x.ident.user.ID, p, o) {
			return true
		}
	}
	return false
}

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
