package session

import (
	"context"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// RPC implements wire.Session.
func (x *Session) RPC(ctx context.Context, call wire.Call, out wire.Output) {
	x.request(ctx, out, inputBuffer{rpcEvent, x.callText(call)}, func() error { return x.rpc(call) })
}

// rpc calls a procedure with values for arguments, and sends the return status
// and the output parameters.
func (x *Session) rpc(call wire.Call) error {
	n, ok := parseName(call.Name)
	if !ok {
		return sqlerr.New(2812, call.Name)
	}
	f := x.newFrame(emptyProgram, nil, nil)
	return x.call(f, func() error {
		f.line = 1
		defer x.dropActuals(len(x.argStack))
		values := make([]types.Value, len(call.Params))
		args, err := x.rpcArguments(call.Params, values)
		if err != nil {
			return x.handle(f, err)
		}
		code, null, err := x.callProcedure(n, args)
		if err != nil {
			return x.handle(f, err)
		}
		if !null {
			if err := x.out.ReturnStatus(code); err != nil {
				return err
			}
		}
		for i, p := range call.Params {
			if p.Output {
				if err := x.out.ReturnValue(i, p.Name, args[i].typ, values[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// emptyProgram is the program of a request that is only a call.
var emptyProgram = &program{index: map[string]int{}, tindex: map[string]int{}, labels: map[string]label{}}

// rpcArguments makes arguments of the parameters of a request. The values of
// output parameters are stored in values. The caller drops them.
func (x *Session) rpcArguments(params []wire.Param, values []types.Value) ([]actual, error) {
	args := x.newActuals(len(params))
	for i, p := range params {
		a := actual{name: p.Name, value: p.Value, typ: p.Type, isDef: p.Default, output: p.Output}
		if p.Table != nil {
			t, err := x.tableValue(p)
			if err != nil {
				return nil, err
			}
			a.table = t
		}
		if p.Output {
			values[i] = p.Value
			a.assign = func(v types.Value) error {
				v, err := types.Assign(v, p.Type)
				values[i] = v
				return err
			}
		}
		args[i] = a
	}
	return args, nil
}

// tableValue makes a table of a table-valued parameter.
func (x *Session) tableValue(p wire.Param) (*catalog.Table, error) {
	n := syntax.Name{Schema: syntax.Ident{Name: p.Table.Schema}, Object: syntax.Ident{Name: p.Table.TypeName}}
	u, ok := x.userType(n)
	if !ok || u.Table == nil {
		return nil, sqlerr.New(2715, 1, displayName(n))
	}
	t := x.instantiate(u.Table)
	rows := make([]types.Row, len(p.Table.Rows))
	for i, r := range p.Table.Rows {
		row, err := storeRow(t, r)
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	return t, x.fill(t, rows)
}

// storeRow converts a row from a client to the columns of a table.
func storeRow(t *catalog.Table, r types.Row) (types.Row, error) {
	if len(r) != len(t.Columns) {
		return nil, sqlerr.New(213)
	}
	row := make(types.Row, len(r))
	for i, c := range t.Columns {
		v, err := types.Store(r[i], c.Type)
		if err != nil {
			return nil, err
		}
		if v.IsNull() && !c.Nullable {
			return nil, sqlerr.New(515, c.Name, t.Name, "INSERT")
		}
		row[i] = v
	}
	return row, nil
}

// preparedStatement is what sp_prepare keeps.
type preparedStatement struct {
	text, params string
}

// executeSQL is sp_executesql, and the running part of sp_execute.
func (x *Session) executeSQL(text, paramText string, args []actual) error {
	p, err := x.parseKeyed(text, paramText, func() ([]syntax.Parameter, error) { return parseParameters(paramText) })
	if err != nil {
		return err
	}
	var inner *frame
	err = x.runDynamic(text, p, func(f *frame) error {
		inner = f
		return x.bindParameterized(f, text, paramText, args)
	})
	if err != nil {
		return err
	}
	return x.returnOutputs(inner, args)
}

// bindParameterized is bindArguments with the errors of sp_executesql.
func (x *Session) bindParameterized(f *frame, text, paramText string, args []actual) error {
	given := make([]bool, len(f.prog.params))
	for i := range args {
		at := i
		if args[i].name != "" {
			at = findParameter(f.prog.params, args[i].name, i)
		}
		if at >= 0 && at < len(given) {
			given[at] = true
		}
	}
	for i, p := range f.prog.params {
		if !given[i] && p.fallback == nil && !p.table {
			return sqlerr.New(8178, "("+paramText+")"+text, p.name)
		}
	}
	if len(args) > len(f.prog.params) {
		return sqlerr.New(8144, "")
	}
	return x.bindArguments(f, "", args)
}

// parseParameters reads the parameter declarations of sp_executesql.
func parseParameters(text string) ([]syntax.Parameter, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return syntax.ParseParameters(text, syntax.Options{QuotedIdentifier: true})
}
