package wire

import (
	"context"
	"errors"
	"net"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
)

// The causes with which the context of a request or of a connection ends; read
// them with context.Cause.
var (
	// ErrAttention is the cause when the client cancelled the request.
	ErrAttention = errors.New("wire: the client sent an attention")
	// ErrDisconnected is the cause when the client's connection is gone.
	ErrDisconnected = errors.New("wire: the client disconnected")
	// ErrShutdown is the cause when the server stops.
	ErrShutdown = errors.New("wire: the server is shutting down")
)

// Backend opens sessions. It is called from many goroutines at once.
type Backend interface {
	// Login opens a session for a client that has sent its credentials. A
	// refusal is a *sqlerr.Error, 18456 or 4060 for example; it goes to the
	// client and the connection is closed. Any other error is logged and
	// reported to the client as 18456.
	Login(ctx context.Context, req LoginRequest) (Session, error)
}

// LoginRequest is what a client says of itself when it logs in.
type LoginRequest struct {
	User        string
	Password    string // SECURITY: never log
	NewPassword string // SECURITY: never log; not empty: the client asks for a change of password
	Database    string
	Hostname    string
	AppName     string
	ServerName  string
	Language    string
	// Interface is the name of the client library, such as "go-mssqldb".
	Interface  string
	ClientPID  uint32
	ClientLCID uint32
	// TDSVersion is the version in use, 0x74000004 for example.
	TDSVersion uint32
	PacketSize int
	// Encrypted reports that what follows the login is encrypted.
	Encrypted bool
	// ReadOnlyIntent is set by ApplicationIntent=ReadOnly.
	ReadOnlyIntent bool
	// ODBC is set by clients that want the ODBC and ANSI defaults (ANSI_NULLS,
	// ANSI_PADDING, ANSI_WARNINGS, QUOTED_IDENTIFIER and their kin on, no limit to TEXTSIZE).
	ODBC       bool
	RemoteAddr net.Addr
	LocalAddr  net.Addr
	// Kill ends the connection as the KILL statement does: a running request
	// is cancelled with the given cause and the connection is closed. It
	// returns at once and may be called at any time, from any goroutine.
	Kill func(cause error)
}

// Session is one logged-in client. Its methods are called one at a time, but
// for ID, which may be called at any time.
//
// A request method reports everything that happens, errors included, through
// its Output, and returns when the request is over. It must return soon after
// its context has ended. An error that Output returns means that the client is
// gone: the method undoes the statement and returns.
type Session interface {
	// ID is the session id, @@SPID.
	ID() int32
	// Database is the current database.
	Database() string
	// Language is the current language, us_english for example.
	Language() string
	// Collation is the collation of the current database.
	Collation() *types.Collation
	// Batch runs a batch of statements.
	Batch(ctx context.Context, text string, out Output)
	// RPC calls one procedure.
	RPC(ctx context.Context, call Call, out Output)
	// Transaction begins, commits, rolls back or marks a transaction.
	Transaction(ctx context.Context, req TMRequest, out Output)
	// Bulk takes the rows of the INSERT BULK statement that the batch before
	// has announced. Rows that it does not read are skipped.
	Bulk(ctx context.Context, req BulkRequest, out Output)
	// Reset makes the session as new (sp_reset_connection), before the next
	// request of a pooled connection. An open transaction is rolled back unless
	// keepTransaction is set. After an error the connection is closed.
	Reset(ctx context.Context, keepTransaction bool) error
	// Close ends the session and rolls back its transaction. It is called once.
	Close()
}

// Output receives the results of one request in order. Its methods are called
// from one goroutine at a time and only until the request method returns. An error means that
// nothing more reaches the client.
type Output interface {
	// Columns begins a result set.
	Columns(cols []Column) error
	// Row adds a row to the result set; values is not kept.
	Row(values []types.Value) error
	// Done ends a statement, or a procedure that a batch calls.
	Done(d Done) error
	// Message sends an error (class above 10) or an informational message.
	Message(m Message) error
	// ReturnStatus sends the return code of a procedure.
	ReturnStatus(n int32) error
	// ReturnValue sends the value of an output parameter. The ordinal counts
	// the parameters of the call from 0.
	ReturnValue(ordinal int, name string, t types.Type, v types.Value) error
	// Env tells the client that its environment has changed.
	Env(change EnvChange) error
	// Flush sends what has been written so far, RAISERROR … WITH NOWAIT for
	// example. Big results need no Flush.
	Flush() error
}

// Column describes a column of a result set.
type Column = tds.Column

// Done is the end of a statement.
type Done struct {
	// Rows is the number of rows that the statement returned or changed. It
	// reaches the client only if HasRows is set, which SET NOCOUNT ON and
	// statements without a count prevent.
	Rows    int64
	HasRows bool
	// Command is the kind of the statement, one of the Command constants.
	Command uint16
	// InProc is set for a statement inside a procedure or a trigger. In an RPC request
	// every statement is inside a procedure.
	InProc bool
	// Proc is set for the end of a procedure that a statement has called, after its
	// ReturnStatus. An RPC request's own end is not reported.
	Proc bool
	// Error is set if the statement ended with an error.
	Error bool
}

// The kinds of statement in Done.Command that clients know. Others may be zero.
const (
	CommandSelect      = tds.CommandSelect
	CommandInsert      = tds.CommandInsert
	CommandDelete      = tds.CommandDelete
	CommandUpdate      = tds.CommandUpdate
	CommandMerge       = tds.CommandMerge
	CommandExecute     = tds.CommandExecute
	CommandBulkInsert  = tds.CommandBulkInsert
	CommandBeginTran   = tds.CommandBeginTran
	CommandCommitTran  = tds.CommandCommitTran
	CommandSet         = tds.CommandSet
	CommandUse         = tds.CommandUse
	CommandPrint       = tds.CommandPrint
	CommandOpenCursor  = tds.CommandOpenCursor
	CommandFetchCursor = tds.CommandFetchCursor
)

// Message is an error or an informational message.
type Message struct {
	Number    int32
	State     uint8
	Class     uint8 // severity: above 10 an error, 20 and more close the connection
	Text      string
	Server    string
	Procedure string
	Line      int32
}

// ErrorMessage returns the message that reports err.
func ErrorMessage(err *sqlerr.Error) Message {
	return Message{
		Number: err.Number, State: err.State, Class: err.Class, Text: err.Message,
		Procedure: err.Procedure, Line: err.Line,
	}
}

// EnvChange is a change of the client's environment.
type EnvChange struct {
	Kind EnvKind
	// New and Old are the names of the database or the language.
	New, Old string
	// Collation is the new collation of EnvCollation.
	Collation *types.Collation
	// Transaction is the descriptor of the transaction that begins or has ended.
	Transaction uint64
}

// EnvKind is the part of the environment that changes.
type EnvKind uint8

// The kinds of EnvChange.
const (
	EnvDatabase EnvKind = iota + 1
	EnvLanguage
	EnvCollation
	EnvBeginTransaction
	EnvCommitTransaction
	EnvRollbackTransaction
)

// Call is a procedure call.
type Call struct {
	// Name is the name of the procedure as the client wrote it. For a call by
	// id it is the name that belongs to the id, sp_executesql for example.
	Name string
	// ProcID is the id of one of the well-known procedures, or 0.
	ProcID uint16
	Params []Param
	// NoMetadata is set if the client wants no column descriptions; wire takes care of it.
	NoMetadata bool
	// Recompile is set by WITH RECOMPILE.
	Recompile bool
	// NoExec asks for the metadata only.
	NoExec bool
}

// Param is a parameter of a Call.
type Param = tds.Param

// TableValue is the value of a table-valued parameter.
type TableValue = tds.TableValue

// TMRequest is a transaction-manager request.
type TMRequest = tds.TMRequest

// BulkRequest is a stream of rows.
type BulkRequest struct {
	Columns []Column
	// Next returns the next row, which is good until the next call, and io.EOF
	// after the last. Any other error ends the load: the client's data cannot
	// be read, or the client took it back.
	Next func() ([]types.Value, error)
}
