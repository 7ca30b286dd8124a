package session

import (
	"strconv"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

func init() {
	registerProcedures(
		&sysProc{
			name: "sp_addlinkedserver",
			params: []sysParam{
				required("@server", sysname), optional("@srvproduct", sysname), optional("@provider", sysname),
				optional("@datasrc", types.NVarChar(4000)), optional("@location", types.NVarChar(4000)),
				optional("@provstr", types.NVarChar(4000)), optional("@catalog", sysname),
			},
			run: addLinkedServer,
		},
		&sysProc{
			name:   "sp_serveroption",
			params: []sysParam{required("@server", sysname), required("@optname", types.VarChar(35)), required("@optvalue", types.NVarChar(128))},
			run:    serverOption,
		},
		&sysProc{
			name: "sp_addlinkedsrvlogin",
			params: []sysParam{
				required("@rmtsrvname", sysname), defaulted("@useself", types.VarChar(8), types.NewVarChar("true")),
				optional("@locallogin", sysname), optional("@rmtuser", sysname), optional("@rmtpassword", sysname),
			},
			run: addLinkedLogin,
		},
		&sysProc{
			name:   "sp_droplinkedsrvlogin",
			params: []sysParam{required("@rmtsrvname", sysname), required("@locallogin", sysname)},
			run:    dropLinkedLogin,
		},
		&sysProc{
			name:   "sp_dropserver",
			params: []sysParam{required("@server", sysname), optional("@droplogins", types.Char(10))},
			run:    dropServer,
		},
		&sysProc{
			name:   "sp_testlinkedserver",
			params: []sysParam{required("@servername", sysname)},
			run:    testLinkedServer,
		},
	)
}

// serverChange runs a change of a linked server: an administrator's, and not in
// a transaction (15002).
func (x *Session) serverChange(proc string, change func(c *catalog.Change) error) error {
	if x.txn.count > 0 {
		return sqlerr.New(15002, "sys."+proc)
	}
	if !x.ident.login.Sysadmin() {
		return sqlerr.New(15247)
	}
	return x.inStatement(x.frame, access{writes: true}, func() error {
		return change(x.srv.cat.Change(x.ctx, x.txn.ensure(x)))
	})
}

// mustLink is a linked server by name, error 15015.
func (x *Session) mustLink(name string) (*catalog.LinkedServer, error) {
	l, ok := x.srv.cat.LinkedServer(name)
	if !ok {
		return nil, sqlerr.New(15015, name)
	}
	return l.Clone(), nil
}

func addLinkedServer(x *Session, c *sysCall) (int32, error) {
	name := c.text(0)
	if _, exists := x.srv.cat.LinkedServer(name); exists {
		return 1, sqlerr.New(15028, name)
	}
	l := &catalog.LinkedServer{
		Name: name, Product: c.text(1), Provider: c.text(2), DataSource: c.text(3), ProviderString: c.text(5), Catalog: c.text(6),
		DataAccess: true, UseRemoteCollation: true, PromoteTransactions: true,
	}
	switch {
	case c.text(1) == "SQL Server":
		if c.given[2] && !c.values[2].IsNull() {
			return 1, sqlerr.New(15428)
		}
		l.Provider, l.DataSource = "MSOLEDBSQL", name
	case l.Provider == "":
		return 1, sqlerr.New(15429)
	case l.Provider != "MSOLEDBSQL" && l.Provider != "MSOLEDBSQL19" && l.Provider != "SQLNCLI" && l.Provider != "SQLNCLI11":
		return 1, sqlerr.Unsupported("OLE DB provider " + l.Provider)
	}
	// A new linked server maps every login to itself.
	l.Mappings = []catalog.LoginMapping{{Self: true}}
	return 0, x.serverChange("sp_addlinkedserver", func(ch *catalog.Change) error { return ch.PutLink(l) })
}

func serverOption(x *Session, c *sysCall) (int32, error) {
	l, err := x.mustLink(c.text(0))
	if err != nil {
		return 1, err
	}
	option, value := catalog.Fold(c.text(1)), catalog.Fold(c.text(2))
	on := value == "true" || value == "on"
	if flags := serverFlags(l); flags[option] != nil {
		if !on && value != "false" && value != "off" {
			return 1, sqlerr.New(15600, "sp_serveroption")
		}
		*flags[option] = on
	} else {
		seconds, err := strconv.Atoi(value)
		switch {
		case option == "connect timeout" && err == nil && seconds >= 0:
			l.ConnectTimeout = seconds
		case option == "query timeout" && err == nil && seconds >= 0:
			l.QueryTimeout = seconds
		case option == "collation name", option == "lazy schema validation":
			return 1, sqlerr.Unsupported("server option '" + option + "'")
		default:
			return 1, sqlerr.New(15600, "sp_serveroption")
		}
	}
	return 0, x.serverChange("sp_serveroption", func(ch *catalog.Change) error { return ch.PutLink(l) })
}

// serverFlags are the options of a linked server that are on or off.
func serverFlags(l *catalog.LinkedServer) map[string]*bool {
	return map[string]*bool{
		"rpc": &l.RPC, "rpc out": &l.RPCOut, "data access": &l.DataAccess,
		"collation compatible": &l.CollationCompatible, "use remote collation": &l.UseRemoteCollation,
		"remote proc transaction promotion": &l.PromoteTransactions,
	}
}

func addLinkedLogin(x *Session, c *sysCall) (int32, error) {
	l, err := x.mustLink(c.text(0))
	if err != nil {
		return 1, err
	}
	m := catalog.LoginMapping{Local: c.text(2), User: c.text(3), Password: c.text(4)}
	switch catalog.Fold(c.text(1)) {
	case "true":
		m.Self, m.User, m.Password = true, "", ""
	case "false":
	default:
		return 1, sqlerr.New(15600, "sp_addlinkedsrvlogin")
	}
	if m.Local != "" {
		if _, ok := x.srv.cat.Login(m.Local); !ok {
			return 1, sqlerr.New(15007, m.Local)
		}
	}
	removeMapping(l, m.Local)
	l.Mappings = append(l.Mappings, m)
	return 0, x.serverChange("sp_addlinkedsrvlogin", func(ch *catalog.Change) error { return ch.PutLink(l) })
}

func removeMapping(l *catalog.LinkedServer, local string) {
	kept := l.Mappings[:0]
	for _, m := range l.Mappings {
		if catalog.Fold(m.Local) != catalog.Fold(local) {
			kept = append(kept, m)
		}
	}
	l.Mappings = kept
}

func dropLinkedLogin(x *Session, c *sysCall) (int32, error) {
	l, err := x.mustLink(c.text(0))
	if err != nil {
		return 1, err
	}
	removeMapping(l, c.text(1))
	return 0, x.serverChange("sp_droplinkedsrvlogin", func(ch *catalog.Change) error { return ch.PutLink(l) })
}

func dropServer(x *Session, c *sysCall) (int32, error) {
	l, err := x.mustLink(c.text(0))
	if err != nil {
		return 1, err
	}
	if len(l.Mappings) > 0 && catalog.Fold(c.text(1)) != "droplogins" && !onlyDefaultMapping(l) {
		return 1, sqlerr.New(15190, l.Name)
	}
	return 0, x.serverChange("sp_dropserver", func(ch *catalog.Change) error { return ch.DropLink(l) })
}

func onlyDefaultMapping(l *catalog.LinkedServer) bool {
	return len(l.Mappings) == 1 && l.Mappings[0].Local == "" && l.Mappings[0].Self
}

func testLinkedServer(x *Session, c *sysCall) (int32, error) {
	l, ok := x.srv.cat.LinkedServer(c.text(0))
	if !ok {
		return 1, sqlerr.New(7202, c.text(0))
	}
	m, ok := l.Mapping(x.ident.login.Name)
	if !ok {
		return 1, sqlerr.New(7416)
	}
	if _, err := x.linkLogin(m); err != nil {
		return 1, err
	}
	if !x.srv.isSelf(l.DataSource) {
		return 1, sqlerr.Unsupported("linked server to another address than this server's own (" + l.DataSource + ")")
	}
	return 0, nil
}
