package catalog

import (
	"encoding/binary"

	"loopbroker/engine/types"
)

func init() {
	define("sys", "schemas", []*Column{col("name", nameType), col("schema_id", intType), nullable("principal_id", intType)},
		func(r Reader, add func(...types.Value)) {
			for _, sc := range r.CurrentDatabase().Schemas() {
				add(name(sc.Name), number(sc.ID), number(sc.Owner))
			}
		})
	define("sys", "databases", []*Column{
		col("name", nameType), col("database_id", intType), nullable("source_database_id", intType), nullable("owner_sid", types.VarBinary(85)),
		col("create_date", timeType), col("compatibility_level", tinyType), nullable("collation_name", nameType), nullable("user_access", tinyType),
		nullable("user_access_desc", descType), nullable("is_read_only", bitType), nullable("state", tinyType), nullable("state_desc", descType),
		nullable("snapshot_isolation_state", tinyType), nullable("snapshot_isolation_state_desc", descType), nullable("is_read_committed_snapshot_on", bitType),
		nullable("recovery_model", tinyType), nullable("recovery_model_desc", descType), nullable("is_broker_enabled", bitType), nullable("is_trustworthy_on", bitType),
		nullable("delayed_durability", intType), nullable("delayed_durability_desc", descType),
	}, func(r Reader, add func(...types.Value)) {
		for _, d := range r.Server().Databases() {
			snapshot, desc := 0, "OFF"
			if d.AllowSnapshot.Load() {
				snapshot, desc = 1, "ON"
			}
			durability := map[string]int32{"DISABLED": 0, "ALLOWED": 1, "FORCED": 2}[d.DelayedDurability()]
			add(name(d.Name), number(int32(d.ID)), types.Null, types.NewVarBinary([]byte{1}), moment(d.Created), tiny(int(d.CompatibilityLevel())), name(d.Collation.Name),
				tiny(0), name("MULTI_USER"), flag(false), tiny(0), name("ONLINE"), tiny(snapshot), name(desc), flag(d.ReadCommittedSnapshot.Load()),
				tiny(3), name("SIMPLE"), flag(false), flag(false), number(durability), name(d.DelayedDurability()))
		}
	})
	define("sys", "servers", []*Column{
		col("server_id", intType), col("name", nameType), col("product", nameType), col("provider", nameType), nullable("data_source", types.NVarChar(4000)),
		nullable("location", types.NVarChar(4000)), nullable("provider_string", types.NVarChar(4000)), nullable("catalog", nameType),
		nullable("connect_timeout", intType), nullable("query_timeout", intType), col("is_linked", bitType), col("is_remote_login_enabled", bitType),
		col("is_rpc_out_enabled", bitType), col("is_data_access_enabled", bitType), col("is_collation_compatible", bitType), col("uses_remote_collation", bitType),
		col("is_remote_proc_transaction_promotion_enabled", bitType), col("modify_date", timeType),
	}, func(r Reader, add func(...types.Value)) {
		s := r.Server()
		add(number(0), name(s.Name), name("SQL Server"), name("SQLNCLI"), name(s.Name), types.Null, types.Null, types.Null, number(0), number(0), flag(false),
			flag(true), flag(true), flag(false), flag(false), flag(true), flag(true), moment(s.Now()))
		for _, l := range s.LinkedServers() {
			add(number(l.ID), name(l.Name), name(l.Product), name(l.Provider), nameOrNull(l.DataSource), types.Null, nameOrNull(l.ProviderString), nameOrNull(l.Catalog),
				number(int32(l.ConnectTimeout)), number(int32(l.QueryTimeout)), flag(true), flag(l.RPC), flag(l.RPCOut), flag(l.DataAccess),
				flag(l.CollationCompatible), flag(l.UseRemoteCollation), flag(l.PromoteTransactions), moment(s.Now()))
		}
	})
	define("sys", "linked_logins", []*Column{
		col("server_id", intType), nullable("local_principal_id", intType), col("uses_self_credential", bitType), nullable("remote_name", nameType), col("modify_date", timeType),
	}, func(r Reader, add func(...types.Value)) {
		if !r.Sysadmin() {
			return
		}
		for _, l := range r.Server().LinkedServers() {
			for _, m := range l.Mappings {
				local := int32(0)
				if login, ok := r.Server().Login(m.Local); ok {
					local = login.ID
				}
				add(number(l.ID), number(local), flag(m.Self), nameOrNull(m.User), moment(r.Server().Now()))
			}
		}
	})
	for _, view := range []string{"server_principals", "sql_logins"} {
		define("sys", view, []*Column{
			col("name", nameType), col("principal_id", intType), nullable("sid", types.VarBinary(85)), col("type", types.Char(1)), nullable("type_desc", descType),
			nullable("is_disabled", bitType), col("create_date", timeType), col("modify_date", timeType), nullable("default_database_name", nameType),
		}, func(r Reader, add func(...types.Value)) {
			for _, l := range r.Server().Logins() {
				if !r.Sysadmin() && Fold(l.Name) != Fold(r.LoginName()) {
					continue
				}
				add(name(l.Name), number(l.ID), types.NewVarBinary(LoginSID(l)), types.NewString(types.KindChar, "S"), name("SQL_LOGIN"),
					flag(l.Disabled), moment(r.Server().Now()), moment(r.Server().Now()), name(l.Database))
			}
		})
	}
	define("sys", "login_token", []*Column{
		col("principal_id", intType), nullable("sid", types.VarBinary(85)), nullable("name", nameType), nullable("type", nameType), nullable("usage", nameType),
	}, func(r Reader, add func(...types.Value)) {
		for _, t := range r.TokenUsages() {
			add(number(0), types.NewVarBinary(nil), name(t[0]), name("SQL LOGIN"), name(t[1]))
		}
	})
	define("sys", "configurations", []*Column{
		col("configuration_id", intType), col("name", types.NVarChar(35)), nullable("value", types.TypeVariant), nullable("minimum", types.TypeVariant),
		nullable("maximum", types.TypeVariant), nullable("value_in_use", types.TypeVariant), col("description", types.NVarChar(255)), col("is_dynamic", bitType), col("is_advanced", bitType),
	}, func(_ Reader, add func(...types.Value)) {
		add(number(1520), name("remote query timeout (s)"), types.NewInt(600), types.NewInt(0), types.NewInt(2147483647), types.NewInt(600), name("remote query timeout"), flag(true), flag(false))
	})
	define("sys", "database_principals", []*Column{
		col("name", nameType), col("principal_id", intType), col("type", types.Char(1)), nullable("type_desc", descType), nullable("default_schema_name", nameType),
		col("create_date", timeType), col("modify_date", timeType), nullable("owning_principal_id", intType), nullable("sid", types.VarBinary(85)), col("is_fixed_role", bitType),
		col("authentication_type", intType),
	}, func(r Reader, add func(...types.Value)) {
		d := r.CurrentDatabase()
		for _, p := range d.Principals() {
			desc, auth := "SQL_USER", int32(1)
			if p.Kind == DatabaseRole {
				desc, auth = "DATABASE_ROLE", 0
			}
			sid := types.Null
			if l, ok := r.Server().Login(p.Login); ok && p.Login != "" {
				sid = types.NewVarBinary(LoginSID(l))
			} else if p.ID == DBOID {
				sid = types.NewVarBinary([]byte{1})
			}
			add(name(p.Name), number(p.ID), types.NewString(types.KindChar, string(p.Kind)), name(desc), nameOrNull(p.DefaultSchema), moment(d.Created), moment(d.Created),
				number(p.Owner), sid, flag(p.Fixed), number(auth))
		}
	})
	define("sys", "database_role_members", []*Column{col("role_principal_id", intType), col("member_principal_id", intType)},
		func(r Reader, add func(...types.Value)) {
			for _, p := range r.CurrentDatabase().Principals() {
				for _, role := range p.MemberOf {
					add(number(role), number(p.ID))
				}
			}
		})
	define("sys", "database_permissions", []*Column{
		col("class", tinyType), nullable("class_desc", descType), col("major_id", intType), col("minor_id", intType), col("grantee_principal_id", intType),
		col("grantor_principal_id", intType), col("type", types.Char(4)), nullable("permission_name", nameType), col("state", types.Char(1)), nullable("state_desc", descType),
	}, func(r Reader, add func(...types.Value)) {
		classes := map[string]int{"DATABASE": 0, "OBJECT": 1, "SCHEMA": 3, "PRINCIPAL": 4, "TYPE": 6}
		descs := map[string]string{"DATABASE": "DATABASE", "OBJECT": "OBJECT_OR_COLUMN", "SCHEMA": "SCHEMA", "PRINCIPAL": "DATABASE_PRINCIPAL", "TYPE": "TYPE"}
		for _, g := range r.CurrentDatabase().Permissions() {
			add(tiny(classes[g.Class]), name(descs[g.Class]), number(g.Target), number(0), number(g.Grantee), number(DBOID),
				types.NewString(types.KindChar, permissionCode(g.Name)), name(g.Name), types.NewString(types.KindChar, string(g.State[0])), name(string(g.State)))
		}
	})
}

// permissionCode is the type column of sys.database_permissions.
func permissionCode(permission string) string {
	codes := map[string]string{
		"SELECT": "SL  ", "INSERT": "IN  ", "UPDATE": "UP  ", "DELETE": "DL  ", "EXECUTE": "EX  ", "REFERENCES": "RF  ", "CONTROL": "CL  ",
		"ALTER": "AL  ", "VIEW DEFINITION": "VW  ", "CONNECT": "CO  ", "CREATE TABLE": "CRTB", "CREATE PROCEDURE": "CRPR", "CREATE VIEW": "CRVW",
	}
	if c, ok := codes[permission]; ok {
		return c
	}
	return "    "
}

// LoginSID is the security identifier of a login: 0x01 for sa, else a number
// made of its id, sixteen bytes as for any SQL login.
func LoginSID(l *Login) []byte {
	if Fold(l.Name) == "sa" {
		return []byte{1}
	}
	b := make([]byte, 16)
	binary.LittleEndian.PutUint32(b, uint32(l.ID))
	return b
}
