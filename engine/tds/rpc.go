package tds

import (
	"fmt"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// The well-known procedures that a client calls by number ([MS-TDS] 2.2.6.6).
const (
	ProcCursor          = 1
	ProcCursorOpen      = 2
	ProcCursorPrepare   = 3
	ProcCursorExecute   = 4
	ProcCursorPrepExec  = 5
	ProcCursorUnprepare = 6
	ProcCursorFetch     = 7
	ProcCursorOption    = 8
	ProcCursorClose     = 9
	ProcExecuteSQL      = 10
	ProcPrepare         = 11
	ProcExecute         = 12
	ProcPrepExec        = 13
	ProcPrepExecRPC     = 14
	ProcUnprepare       = 15
)

var procNames = [...]string{
	ProcCursor: "sp_cursor", ProcCursorOpen: "sp_cursoropen", ProcCursorPrepare: "sp_cursorprepare",
	ProcCursorExecute: "sp_cursorexecute", ProcCursorPrepExec: "sp_cursorprepexec",
	ProcCursorUnprepare: "sp_cursorunprepare", ProcCursorFetch: "sp_cursorfetch", ProcCursorOption: "sp_cursoroption",
	ProcCursorClose: "sp_cursorclose", ProcExecuteSQL: "sp_executesql", ProcPrepare: "sp_prepare",
	ProcExecute: "sp_execute", ProcPrepExec: "sp_prepexec", ProcPrepExecRPC: "sp_prepexecrpc", ProcUnprepare: "sp_unprepare",
}

// ProcName returns the name of a well-known procedure, empty for other numbers.
func ProcName(id uint16) string {
	if int(id) < len(procNames) {
		return procNames[id]
	}
	return ""
}

// Limits of a call.
const (
	maxProcName = 1046 // UTF-16 units, [MS-TDS] 2.2.6.6 ProcName
	maxParams   = 2100 // of one call, error 8003
	maxCalls    = 4096 // in one message
)

// The bits of a call and of a parameter.
const (
	optionRecompile  = 0x0001
	optionNoMetadata = 0x0002

	paramByRef     = 0x01
	paramDefault   = 0x02
	paramEncrypted = 0x08

	procIDFollows = 0xFFFF
	batchFlag     = 0xFF // another call follows (from version 7.2 on)
	noExecFlag    = 0xFE // another call follows, and this one is not to run
)

// Param is a parameter of a call.
type Param struct {
	// Name begins with @; it is empty for a positional parameter.
	Name string
	Type types.Type
	// Value is NULL for a table-valued parameter.
	Value types.Value
	// Output asks for a RETURNVALUE.
	Output bool
	// Default asks for the parameter's default instead of the value.
	Default bool
	// Table is the value of a table-valued parameter, whose Type.Kind is KindTable.
	Table *TableValue
}

// Call is one call of a procedure.
type Call struct {
	Name       string // empty for a call by number
	ProcID     uint16 // 0 for a call by name
	Recompile  bool
	NoMetadata bool
	NoExec     bool
	Params     []Param
}

// RPC is an RPCRequest message: one call or several.
type RPC struct {
	Headers Headers
	Calls   []Call
}

// ParseRPC reads an RPCRequest message ([MS-TDS] 2.2.6.6).
func ParseRPC(b []byte) (RPC, error) {
	c := cursor{b: b}
	r := RPC{Headers: c.headers()}
	for c.err == nil {
		if len(r.Calls) == maxCalls {
			c.malformed("more than %d calls", maxCalls)
			break
		}
		call, more := c.call()
		r.Calls = append(r.Calls, call)
		if !more {
			break
		}
	}
	if c.err != nil {
		return RPC{}, c.err
	}
	return r, nil
}

// call reads one call, and the mark that another follows.
func (c *cursor) call() (call Call, more bool) {
	n := c.u16()
	if n == procIDFollows {
		call.ProcID = c.u16()
		if c.err == nil && ProcName(call.ProcID) == "" {
			c.fail(sqlerr.New(2812, fmt.Sprintf("#%d", call.ProcID)))
		}
	} else {
		if c.err == nil && (n == 0 || n > maxProcName) {
			c.malformed("a procedure name of %d characters", n)
		}
		call.Name = c.utf16(int(n))
	}
	options := c.u16()
	call.Recompile = options&optionRecompile != 0
	call.NoMetadata = options&optionNoMetadata != 0
	const usual = 4 // parameters
	for c.err == nil && c.left() > 0 {
		switch c.b[c.pos] {
		case batchFlag:
			c.pos++
			return call, c.left() > 0
		case noExecFlag:
			c.pos++
			call.NoExec = true
			return call, c.left() > 0
		}
		if len(call.Params) == maxParams {
			c.fail(sqlerr.New(8003, maxParams))
			return call, false
		}
		if call.Params == nil {
			call.Params = make([]Param, 0, usual)
		}
		call.Params = append(call.Params, c.param(len(call.Params)+1))
	}
	return call, false
}

// param reads one parameter.
func (c *cursor) param(ordinal int) Param {
	p := Param{Name: c.bVarChar()}
	flags := c.u8()
	p.Output = flags&paramByRef != 0
	p.Default = flags&paramDefault != 0
	if flags&paramEncrypted != 0 {
		c.fail(sqlerr.Unsupported("Always Encrypted"))
	}
	if c.err != nil {
		return p
	}
	if c.left() > 0 && c.b[c.pos] == idTVP {
		c.pos++
		p.Type = types.Type{Kind: types.KindTable}
		p.Table = c.tableValue()
	} else {
		ti := c.typeInfo(inParam)
		p.Type = ti.typ
		if c.err == nil {
			p.Value = c.value(&ti)
		}
	}
	if c.err != nil {
		c.err = asParamError(c.err, ordinal, p.Name)
	}
	return p
}
