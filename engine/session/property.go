package session

import (
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// propertyFunc answers one function of the session or the catalog.
type propertyFunc func(x *Session, f *frame, args []types.Value) (types.Value, error)

// properties are the answers by the name that the registry of built-in
// functions gives them.
var properties = map[string]propertyFunc{}

func registerProperties(m map[string]propertyFunc) {
	for name, f := range m {
		properties[name] = f
	}
}

// property implements builtin.Env for a frame.
func (x *Session) property(f *frame, name string, args []types.Value) (types.Value, error) {
	p, ok := properties[name]
	if !ok {
		return types.Null, sqlerr.Unsupported(name)
	}
	return p(x, f, args)
}

func intProperty(get func(x *Session, f *frame) int64) propertyFunc {
	return func(x *Session, f *frame, _ []types.Value) (types.Value, error) { return types.NewInt(get(x, f)), nil }
}

func textProperty(get func(x *Session) string) propertyFunc {
	return func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
		return types.NewNVarChar(get(x)), nil
	}
}

// argText returns a character argument as text; ok is false for NULL.
func argText(v types.Value) (string, bool) {
	if v.IsNull() {
		return "", false
	}
	c, err := types.Convert(v, types.NVarChar(4000), 0)
	return c.Text(), err == nil
}

// argInt returns an integer argument; ok is false for NULL or what is no number.
func argInt(v types.Value) (int64, bool) {
	if v.IsNull() {
		return 0, false
	}
	c, err := types.Convert(v, types.TypeBigInt, 0)
	return c.Int(), err == nil
}

// errorProperty answers the ERROR_ functions: NULL outside a CATCH block.
func errorProperty(get func(e *sqlerr.Error) types.Value) propertyFunc {
	return func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
		e := x.currentError()
		if e == nil {
			return types.Null, nil
		}
		return get(e), nil
	}
}

func sqlerrProperties() map[string]propertyFunc {
	return map[string]propertyFunc{
		"ERROR_NUMBER":   errorProperty(func(e *sqlerr.Error) types.Value { return types.NewInt(int64(e.Number)) }),
		"ERROR_SEVERITY": errorProperty(func(e *sqlerr.Error) types.Value { return types.NewInt(int64(e.Class)) }),
		"ERROR_STATE":    errorProperty(func(e *sqlerr.Error) types.Value { return types.NewInt(int64(e.State)) }),
		"ERROR_LINE":     errorProperty(func(e *sqlerr.Error) types.Value { return types.NewInt(int64(max(e.Line, 0))) }),
		"ERROR_MESSAGE":  errorProperty(func(e *sqlerr.Error) types.Value { return types.NewNVarChar(e.Message) }),
		"ERROR_PROCEDURE": errorProperty(func(e *sqlerr.Error) types.Value {
			if e.Procedure == "" {
				return types.Null
			}
			return types.NewNVarChar(e.Procedure)
		}),
	}
}

func init() {
	registerProperties(sqlerrProperties())
	registerProperties(map[string]propertyFunc{
		"@@ERROR":     intProperty(func(x *Session, _ *frame) int64 { return int64(x.lastError) }),
		"@@ROWCOUNT":  intProperty(func(x *Session, _ *frame) int64 { return x.rowCount }),
		"@@TRANCOUNT": intProperty(func(x *Session, _ *frame) int64 { return int64(x.txn.count) }),
		"@@SPID": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			return types.NewSmallInt(int64(x.id)), nil
		},
		"@@NESTLEVEL":       intProperty(func(x *Session, _ *frame) int64 { return int64(x.nesting) }),
		"@@OPTIONS":         intProperty(func(x *Session, _ *frame) int64 { return x.opts.bits() }),
		"@@FETCH_STATUS":    intProperty(func(x *Session, _ *frame) int64 { return x.fetchState }),
		"@@CURSOR_ROWS":     intProperty(func(x *Session, _ *frame) int64 { return x.cursorRows }),
		"@@TEXTSIZE":        intProperty(func(x *Session, _ *frame) int64 { return x.opts.textSize }),
		"@@LOCK_TIMEOUT":    intProperty(func(x *Session, _ *frame) int64 { return lockTimeoutMS(x) }),
		"@@MAX_CONNECTIONS": intProperty(func(*Session, *frame) int64 { return 32767 }),
		"@@CONNECTIONS":     intProperty(func(x *Session, _ *frame) int64 { return int64(len(x.srv.Sessions())) }),
		"@@PROCID": intProperty(func(_ *Session, f *frame) int64 {
			if f != nil && f.module != nil {
				return int64(f.module.ID)
			}
			return 0
		}),
		"@@DATEFIRST": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			return types.NewTinyInt(int64(x.opts.dateFirst)), nil
		},
		"@@MAX_PRECISION": func(*Session, *frame, []types.Value) (types.Value, error) { return types.NewTinyInt(38), nil },
		"@@LANGID":        func(*Session, *frame, []types.Value) (types.Value, error) { return types.NewSmallInt(0), nil },
		"@@LANGUAGE":      textProperty(func(x *Session) string { return x.opts.language }),
		"@@VERSION":       textProperty(func(x *Session) string { return x.srv.version }),
		"@@SERVERNAME":    textProperty(func(x *Session) string { return x.srv.cat.Name }),
		"@@SERVICENAME":   textProperty(func(*Session) string { return "MSSQLSERVER" }),
		"@@DBTS": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			return types.NewVarBinary(rowVersionValue(x.srv.cat.LastRowVersion()).Bytes()), nil
		},
		"@@IDENTITY": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) { return numeric38(x.lastIdentity) },
		"SCOPE_IDENTITY": func(_ *Session, f *frame, _ []types.Value) (types.Value, error) {
			if f == nil {
				return types.Null, nil
			}
			return numeric38(f.scope)
		},
		"XACT_STATE": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			switch {
			case x.txn.doomed:
				return types.NewSmallInt(-1), nil
			case x.txn.count > 0:
				return types.NewSmallInt(1), nil
			}
			return types.NewSmallInt(0), nil
		},
		"ROWCOUNT_BIG": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			return types.NewBigInt(x.rowCount), nil
		},
		"CURRENT_TRANSACTION_ID": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			if x.txn.tx != nil {
				return types.NewBigInt(int64(x.txn.tx.ID())), nil
			}
			tx := x.srv.store.Begin(x.owner) // the transaction of this statement alone
			defer tx.Rollback()
			return types.NewBigInt(int64(tx.ID())), nil
		},
		"CURRENT_REQUEST_ID": func(*Session, *frame, []types.Value) (types.Value, error) { return types.NewSmallInt(0), nil },
		"TRIGGER_NESTLEVEL":  triggerNestLevel,
		"UPDATE":             updatedColumn,
		"SESSION_CONTEXT": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			key, ok := argText(a[0])
			if !ok {
				return types.Null, nil
			}
			return x.context[catalog.Fold(key)].value, nil
		},
		"CONTEXT_INFO": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			if x.ctxInfo == nil {
				return types.Null, nil
			}
			return types.NewVarBinary(x.ctxInfo), nil
		},
		"SESSIONPROPERTY":    sessionProperty,
		"CONNECTIONPROPERTY": connectionProperty,
		"APPLOCK_MODE":       applockMode,
		"APPLOCK_TEST":       applockTest,
		"GETANSINULL":        func(*Session, *frame, []types.Value) (types.Value, error) { return types.NewSmallInt(1), nil },
	})
	registerProperties(objectProperties())
	registerProperties(databaseProperties())
	registerProperties(principalProperties())
}

func lockTimeoutMS(x *Session) int64 {
	if x.opts.lockTimeout < 0 {
		return -1
	}
	return x.opts.lockTimeout.Milliseconds()
}

func numeric38(v types.Value) (types.Value, error) {
	return types.Convert(v, types.Decimal(38, 0), 0)
}

func triggerNestLevel(x *Session, _ *frame, args []types.Value) (types.Value, error) {
	if len(args) == 0 {
		return types.NewInt(int64(x.triggers)), nil
	}
	id, _ := argInt(args[0])
	n := int64(0)
	for f := x.frame; f != nil; f = f.caller {
		if f.trigger && int64(f.module.ID) == id {
			n++
		}
	}
	return types.NewInt(n), nil
}

// updatedColumn answers UPDATE(column) in a trigger.
func updatedColumn(_ *Session, f *frame, args []types.Value) (types.Value, error) {
	name, _ := argText(args[0])
	if f == nil || !f.trigger {
		return types.Null, sqlerr.New(8630, "UPDATE() outside a trigger")
	}
	at := f.prog.trigger.Column(name)
	if at < 0 {
		return types.Null, sqlerr.New(207, name)
	}
	if len(f.deleted) == 0 && len(f.inserted) > 0 {
		return types.NewBit(true), nil // an INSERT sets every column
	}
	for _, c := range f.updated {
		if c == at {
			return types.NewBit(true), nil
		}
	}
	return types.NewBit(false), nil
}

func sessionProperty(x *Session, _ *frame, args []types.Value) (types.Value, error) {
	name, _ := argText(args[0])
	switch n := strings.ToUpper(name); n {
	case "ANSI_NULLS", "ANSI_PADDING", "ANSI_WARNINGS", "ARITHABORT", "CONCAT_NULL_YIELDS_NULL", "NUMERIC_ROUNDABORT", "QUOTED_IDENTIFIER":
		return types.NewBit(*x.opts.flag(n)), nil
	}
	return types.Null, nil
}

func connectionProperty(x *Session, _ *frame, args []types.Value) (types.Value, error) {
	name, _ := argText(args[0])
	in := sessionRow{Info: x.info.snapshot(x), srv: x.srv}
	switch strings.ToLower(name) {
	case "net_transport", "physical_net_transport":
		return types.NewNVarChar(in.transport()), nil
	case "protocol_type":
		return types.NewNVarChar("TSQL"), nil
	case "auth_scheme":
		return types.NewNVarChar("SQL"), nil
	case "client_net_address":
		host, _ := in.remote()
		return types.NewNVarChar(host), nil
	case "local_net_address":
		if host, port := in.local(); port != 0 {
			return types.NewNVarChar(host), nil
		}
	case "local_tcp_port":
		if _, port := in.local(); port != 0 {
			return types.NewInt(port), nil
		}
	}
	return types.Null, nil
}

func applockMode(x *Session, _ *frame, args []types.Value) (types.Value, error) {
	principal, _ := argText(args[0])
	name, _ := argText(args[1])
	owner, _ := argText(args[2])
	res, ok := x.applockResource(principal, name)
	if !ok {
		return types.Null, nil
	}
	held := x.owner.Holds(res)
	if strings.EqualFold(owner, "Transaction") {
		held = 0
		if x.txn.tx != nil {
			held = x.txn.tx.Holds(res)
		}
	}
	for name, mode := range applockNames {
		if mode == held {
			return types.NewNVarChar(name), nil
		}
	}
	return types.NewNVarChar("NoLock"), nil
}

func applockTest(x *Session, _ *frame, args []types.Value) (types.Value, error) {
	principal, _ := argText(args[0])
	name, _ := argText(args[1])
	mode, _ := argText(args[2])
	res, ok := x.applockResource(principal, name)
	m, known := applockModes[catalog.Fold(mode)]
	if !ok || !known {
		return types.NewSmallInt(-999), nil
	}
	owner := x.srv.store.NewOwner(x.id)
	defer owner.Close()
	if err := owner.Lock(x.ctx, res, m, 0); err != nil {
		return types.NewSmallInt(0), nil
	}
	return types.NewSmallInt(1), nil
}

// contextValue is one key of SESSION_CONTEXT.
type contextValue struct {
	value    types.Value
	readOnly bool
}

// maxContext is how many bytes keys and values may have together.
const maxContext = 1 << 20

func init() {
	registerProcedures(&sysProc{
		name: "sp_set_session_context",
		params: []sysParam{
			required("@key", sysname), required("@value", types.TypeVariant),
			defaulted("@read_only", types.TypeBit, types.NewBit(false)),
		},
		run: setSessionContext,
	})
}

func setSessionContext(x *Session, c *sysCall) (int32, error) {
	name := c.text(0)
	if c.values[0].IsNull() || name == "" {
		return 1, sqlerr.New(225, "sp_set_session_context")
	}
	if len(types.EncodeUTF16(name)) > 128*2 {
		return 1, sqlerr.New(15666, name)
	}
	key := catalog.Fold(name)
	if x.context[key].readOnly {
		return 1, sqlerr.New(15664, name)
	}
	size := len(key) + len(c.values[1].Raw())
	for k, v := range x.context {
		if k != key {
			size += len(k) + len(v.value.Raw())
		}
	}
	if size > maxContext {
		return 1, sqlerr.New(15665, name)
	}
	if x.context == nil {
		x.context = map[string]contextValue{}
	}
	x.context[key] = contextValue{value: c.values[1], readOnly: c.values[2].Bool()}
	return 0, nil
}
