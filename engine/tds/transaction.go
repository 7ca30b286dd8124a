package tds

import "loopbroker/engine/sqlerr"

// TMKind is the kind of a transaction-manager request.
type TMKind uint16

// The kinds that are supported ([MS-TDS] 2.2.6.9).
const (
	TMBegin    TMKind = 5
	TMCommit   TMKind = 7
	TMRollback TMKind = 8
	TMSave     TMKind = 9

	tmGetDTCAddress = 0
	tmPropagate     = 1
	tmPromote       = 6

	tmFlagBegin = 0x01
)

// Isolation is an isolation level.
type Isolation uint8

// The isolation levels as a request has them.
const (
	IsolationCurrent Isolation = iota // leave as it is
	IsolationReadUncommitted
	IsolationReadCommitted
	IsolationRepeatableRead
	IsolationSerializable
	IsolationSnapshot
)

// TMRequest is a transaction-manager request.
type TMRequest struct {
	Kind TMKind
	// Name is that of the transaction or the savepoint; empty means none.
	Name string
	// Isolation is that of TMBegin.
	Isolation Isolation
	// BeginNext tells TMCommit and TMRollback to begin a transaction at once,
	// with NextIsolation and NextName.
	BeginNext     bool
	NextIsolation Isolation
	NextName      string
	// Descriptor is the transaction that the client believes it is in.
	Descriptor uint64
}

// ParseTMRequest reads a transaction-manager request ([MS-TDS] 2.2.6.9).
// Requests of distributed transactions are well-formed but not supported.
func ParseTMRequest(b []byte) (TMRequest, error) {
	c := cursor{b: b}
	var r TMRequest
	r.Descriptor = c.headers().Transaction
	r.Kind = TMKind(c.u16())
	switch r.Kind {
	case TMBegin:
		r.Isolation = c.isolation()
		r.Name = c.transactionName()
	case TMCommit, TMRollback:
		r.Name = c.transactionName()
		if c.u8()&tmFlagBegin != 0 {
			r.BeginNext = true
			r.NextIsolation = c.isolation()
			r.NextName = c.transactionName()
		}
	case TMSave:
		r.Name = c.transactionName()
		if c.err == nil && r.Name == "" {
			c.malformed("savepoint without a name")
		}
	case tmGetDTCAddress, tmPropagate, tmPromote:
		c.fail(sqlerr.Unsupported("distributed transactions"))
	default:
		c.malformed("transaction manager request %d", r.Kind)
	}
	if c.err != nil {
		return TMRequest{}, c.err
	}
	return r, nil
}

// isolation reads an isolation level.
func (c *cursor) isolation() Isolation {
	l := Isolation(c.u8())
	if l > IsolationSnapshot {
		c.malformed("isolation level %d", l)
	}
	return l
}

// transactionName reads a name, whose length counts bytes (B_VARBYTE).
func (c *cursor) transactionName() string {
	n := int(c.u8())
	if n%2 != 0 {
		c.malformed("a transaction name of %d bytes", n)
	}
	return c.utf16(n / 2)
}
