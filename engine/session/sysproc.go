package session

import (
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// sysProc is a system procedure written in Go.
type sysProc struct {
	name   string
	params []sysParam
	// variadic procedures take further arguments of their own kind, as
	// sp_executesql does.
	variadic bool
	run      func(x *Session, c *sysCall) (int32, error)
}

// sysParam is a parameter of a system procedure.
type sysParam struct {
	name     string
	typ      types.Type
	optional bool
	fallback types.Value
}

// sysCall is one call of a system procedure.
type sysCall struct {
	values []types.Value
	given  []bool
	args   []actual
	rest   []actual // beyond the declared ones, of a variadic procedure
	index  []int    // argument of each parameter, -1 when not given
}

// text returns a character argument; NULL is empty.
func (c *sysCall) text(i int) string { return c.values[i].Text() }

// mustBeUnicode is error 214 for an argument that is not of a Unicode type.
func (c *sysCall) mustBeUnicode(i int, name string) error {
	at := c.index[i]
	if at < 0 {
		return nil
	}
	switch a := &c.args[at]; a.typ.Kind {
	case types.KindVarChar, types.KindChar, types.KindInt, types.KindBigInt, types.KindVarBinary:
		e := sqlerr.New(214, name, "ntext/nchar/nvarchar")
		e.Procedure, e.Line = "sp_executesql", 1
		return e
	}
	return nil
}

// output sets an output parameter.
func (c *sysCall) output(i int, v types.Value) error {
	if at := c.index[i]; at >= 0 && c.args[at].output && c.args[at].assign != nil {
		return c.args[at].assign(v)
	}
	return nil
}

func required(name string, t types.Type) sysParam { return sysParam{name: name, typ: t} }

func optional(name string, t types.Type) sysParam {
	return sysParam{name: name, typ: t, optional: true}
}

func defaulted(name string, t types.Type, v types.Value) sysParam {
	return sysParam{name: name, typ: t, optional: true, fallback: v}
}

var (
	sysname   = types.NVarChar(128)
	textMax   = types.NVarChar(types.Max)
	shortText = types.NVarChar(255)
)

// systemProcedures are the system procedures by folded name.
var systemProcedures = map[string]*sysProc{}

func registerProcedures(list ...*sysProc) {
	for _, p := range list {
		systemProcedures[p.name] = p
	}
}

// systemProcedure finds a system procedure: its name begins with sp_, it may be
// called in any database, with or without the schema sys or dbo.
func systemProcedure(n syntax.Name) (*sysProc, bool) {
	if s := catalog.Fold(n.Schema.Name); s != "" && s != "sys" && s != "dbo" {
		return nil, false
	}
	p, ok := systemProcedures[catalog.Fold(n.Object.Name)]
	return p, ok
}

// lackedProcedures are system procedures of SQL Server that this engine lacks:
// calling one is error 40510, where an unknown name is 2812.
var lackedProcedures = nameSet(`
	sp_addextendedproperty sp_addmessage sp_addrole sp_addrolemember sp_addsrvrolemember sp_adduser sp_attach_db
	sp_bindsession sp_changedbowner sp_changeobjectowner sp_column_privileges sp_columns sp_configure sp_control_plan_guide
	sp_create_plan_guide sp_createstats sp_cursor sp_cursorclose sp_cursorexecute sp_cursorfetch sp_cursoropen sp_cursoroption
	sp_cursorprepare sp_cursorprepexec sp_cursorunprepare sp_databases sp_datatype_info sp_dboption sp_defaultdb
	sp_depends sp_describe_cursor sp_describe_first_result_set sp_describe_undeclared_parameters sp_detach_db
	sp_dropextendedproperty sp_droprole sp_droprolemember sp_dropuser sp_estimate_data_compression_savings
	sp_execute_external_script sp_fkeys sp_grantdbaccess sp_help sp_helpconstraint sp_helpdb sp_helpfile
	sp_helplogins sp_helprole sp_helprolemember sp_helprotect sp_helpserver sp_helpsort sp_helpsrvrole sp_helpstats
	sp_helptrigger sp_helpuser sp_indexoption sp_invoke_external_rest_endpoint sp_monitor sp_msforeachdb
	sp_msforeachtable sp_oacreate sp_password sp_pkeys sp_prepexecrpc sp_procoption sp_recompile sp_refreshview
	sp_renamedb sp_send_dbmail sp_server_info sp_settriggerorder sp_setapprole
	sp_spaceused sp_special_columns sp_sproc_columns sp_statistics sp_stored_procedures sp_table_privileges sp_tableoption
	sp_tables sp_trace_create sp_unbindrule sp_unsetapprole sp_updateextendedproperty sp_updatestats sp_validname
	sp_xml_preparedocument sp_xml_removedocument xp_cmdshell xp_fileexist xp_instance_regread xp_msver
	xp_readerrorlog xp_regread`)

// nameSet makes a set of the words of a text.
func nameSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// callSystem binds the arguments of a system procedure and runs it.
func (x *Session) callSystem(p *sysProc, args []actual) (int32, error) {
	c := &sysCall{
		values: make([]types.Value, len(p.params)), given: make([]bool, len(p.params)),
		index: make([]int, len(p.params)), args: args,
	}
	for i := range c.index {
		c.index[i] = -1
	}
	for i := range args {
		at, err := p.position(&args[i], i)
		if err != nil {
			return 0, err
		}
		if at < 0 {
			c.rest = append(c.rest, args[i])
			continue
		}
		if args[i].isDef {
			continue
		}
		v, err := types.Assign(args[i].value, p.params[at].typ)
		if err != nil {
			return 0, conversionInCall(err, args[i].typ, p.params[at].typ)
		}
		c.values[at], c.given[at], c.index[at] = v, true, i
	}
	for i, sp := range p.params {
		if c.given[i] {
			continue
		}
		if !sp.optional {
			return 0, sqlerr.New(201, p.name, sp.name)
		}
		c.values[i] = sp.fallback
	}
	return p.run(x, c)
}

// position finds the parameter that an argument is for; -1 for one of the rest.
func (p *sysProc) position(a *actual, i int) (int, error) {
	if a.name == "" {
		switch {
		case i < len(p.params):
			return i, nil
		case p.variadic:
			return -1, nil
		}
		return 0, sqlerr.New(8144, p.name)
	}
	for at, sp := range p.params {
		// A procedure with arguments of its own takes its first ones by position.
		if catalog.Fold(a.name) == sp.name && (!p.variadic || i < len(p.params)) {
			return at, nil
		}
	}
	if p.variadic {
		if i < len(p.params) {
			return i, nil // its own parameters go by any name in first places
		}
		return -1, nil
	}
	return 0, sqlerr.New(8145, a.name, p.name)
}

func init() {
	registerProcedures(
		&sysProc{
			name: "sp_executesql", variadic: true,
			params: []sysParam{required("@stmt", textMax), defaulted("@params", textMax, types.NewNVarChar(""))},
			run: func(x *Session, c *sysCall) (int32, error) {
				if err := c.mustBeUnicode(0, "@statement"); err != nil {
					return 0, err
				}
				if err := c.mustBeUnicode(1, "@params"); err != nil {
					return 0, err
				}
				if err := x.executeSQL(c.text(0), c.text(1), c.rest); err != nil {
					return 0, err
				}
				return x.lastError, nil
			},
		},
		&sysProc{
			name:   "sp_prepare",
			params: []sysParam{required("@handle", types.TypeInt), required("@params", textMax), required("@stmt", textMax), optional("@options", types.TypeInt)},
			run: func(x *Session, c *sysCall) (int32, error) {
				return 0, x.prepare(c, 0, c.text(2), c.text(1))
			},
		},
		&sysProc{
			name: "sp_execute", variadic: true,
			params: []sysParam{required("@handle", types.TypeInt)},
			run: func(x *Session, c *sysCall) (int32, error) {
				p, ok := x.prepared[int32(c.values[0].Int())]
				if !ok {
					return 0, sqlerr.New(8179, c.values[0].Int())
				}
				return 0, x.executeSQL(p.text, p.params, c.rest)
			},
		},
		&sysProc{
			name: "sp_prepexec", variadic: true,
			params: []sysParam{required("@handle", types.TypeInt), required("@params", textMax), required("@stmt", textMax)},
			run: func(x *Session, c *sysCall) (int32, error) {
				if err := x.prepare(c, 0, c.text(2), c.text(1)); err != nil {
					return 0, err
				}
				return 0, x.executeSQL(c.text(2), c.text(1), c.rest)
			},
		},
		&sysProc{
			name:   "sp_unprepare",
			params: []sysParam{required("@handle", types.TypeInt)},
			run: func(x *Session, c *sysCall) (int32, error) {
				h := int32(c.values[0].Int())
				if _, ok := x.prepared[h]; !ok {
					return 0, sqlerr.New(8179, h)
				}
				delete(x.prepared, h)
				return 0, nil
			},
		},
		&sysProc{
			name: "sp_reset_connection",
			run:  func(x *Session, _ *sysCall) (int32, error) { return 0, x.Reset(x.ctx, false) },
		},
	)
}

// prepare keeps a statement under a new handle, after it has been read once.
func (x *Session) prepare(c *sysCall, handle int, text, params string) error {
	_, err := x.parseKeyed(text, params, func() ([]syntax.Parameter, error) { return parseParameters(params) })
	if err != nil {
		return x.after(x.sqlError(err), sqlerr.New(8180))
	}
	if x.prepared == nil {
		x.prepared = map[int32]*preparedStatement{}
	}
	x.nextPrep++
	x.prepared[x.nextPrep] = &preparedStatement{text: text, params: params}
	return c.output(handle, types.NewInt(int64(x.nextPrep)))
}
