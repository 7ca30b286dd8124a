package syntax

// object writes the definitions of what is neither a table nor a module.
func (w *printer) object(s Statement) {
	switch s := s.(type) {
	case *CreateSequence:
		w.put("CREATE SEQUENCE ", s.Name)
		if s.Type != nil {
			w.put(" AS ", *s.Type)
		}
		w.sequenceOptions(s.Options)
	case *AlterSequence:
		w.put("ALTER SEQUENCE ", s.Name)
		w.sequenceOptions(s.Options)
	case *CreateSynonym:
		w.put("CREATE SYNONYM ", s.Name, " FOR ", s.Target)
	case *CreateType:
		w.put("CREATE TYPE ", s.Name)
		if s.Table != nil {
			w.put(" AS TABLE ")
			w.tableBody(*s.Table)
			return
		}
		w.put(" FROM ", s.Base)
		if s.Null != nil {
			w.nullability(*s.Null)
		}
	case *CreateSchema:
		w.put("CREATE SCHEMA ", s.Name)
		w.optional(" AUTHORIZATION ", s.Owner)
	case *AlterSchema:
		w.put("ALTER SCHEMA ", s.Schema, " TRANSFER ", s.Object)
	case *CreateDatabase:
		w.put("CREATE DATABASE ", s.Name)
		w.optional(" COLLATE ", s.Collation)
	case *AlterDatabase:
		w.alterDatabase(s)
	default:
		w.security(s)
	}
}

func (w *printer) sequenceOptions(o SequenceOptions) {
	w.optional(" START WITH ", o.StartWith)
	if o.Restart {
		w.put(" RESTART")
		w.optional(" WITH ", o.RestartWith)
	}
	w.optional(" INCREMENT BY ", o.IncrementBy)
	w.optional(" MINVALUE ", o.MinValue)
	w.when(o.NoMinValue, " NO MINVALUE")
	w.optional(" MAXVALUE ", o.MaxValue)
	w.when(o.NoMaxValue, " NO MAXVALUE")
	if o.Cycle != nil {
		w.when(!*o.Cycle, " NO")
		w.put(" CYCLE")
	}
	if o.Cache != nil {
		w.put(" CACHE")
		if l, ok := o.Cache.(*Literal); !ok || l.Kind != LitDefault {
			w.put(" ", o.Cache)
		}
	}
	w.when(o.NoCache, " NO CACHE")
}

func (w *printer) alterDatabase(s *AlterDatabase) {
	w.put("ALTER DATABASE ")
	if s.Current {
		w.put("CURRENT")
	} else {
		w.put(s.Name)
	}
	w.optional(" COLLATE ", s.Collation)
	w.optional(" MODIFY NAME = ", s.ModifyName)
	if s.Options != nil {
		w.put(" SET ")
		each(w, s.Options, w.indexOption)
	}
	w.optional(" WITH ", s.Termination)
}

func (w *printer) security(s Statement) {
	switch s := s.(type) {
	case *CreateLogin:
		w.login(s)
	case *CreateUser:
		w.user(s)
	case *CreateRole:
		w.put("CREATE ROLE ", s.Name)
		w.optional(" AUTHORIZATION ", s.Owner)
	case *AlterRole:
		w.put("ALTER ")
		w.when(s.Server, "SERVER ")
		w.put("ROLE ", s.Name)
		w.optional(" ADD MEMBER ", s.Add)
		w.optional(" DROP MEMBER ", s.Drop)
	case *Grant:
		w.grant(s)
	case *AlterAuthorization:
		w.put("ALTER AUTHORIZATION ON ", s.Class, "::", s.On, " TO ", s.To)
	}
}

func createOrAlter(alter bool) string {
	if alter {
		return "ALTER "
	}
	return "CREATE "
}

func (w *printer) login(s *CreateLogin) {
	w.put(createOrAlter(s.Alter), "LOGIN ", s.Name)
	w.when(s.Enable, " ENABLE")
	w.when(s.Disable, " DISABLE")
	w.when(s.FromWindows, " FROM WINDOWS")
	sep := " WITH "
	if s.Password != nil {
		w.put(sep, "PASSWORD = N")
		w.text(*s.Password)
		sep = ", "
	}
	for _, o := range s.Options {
		switch o.Name {
		case "MUST_CHANGE", "UNLOCK":
			w.put(" ", o.Name)
		case "OLD_PASSWORD":
			w.put(" OLD_PASSWORD = N")
			w.text(o.Value)
		default:
			w.put(sep, o.Name, " = ", loginValue(o.Value))
			sep = ", "
		}
	}
}

// loginValue quotes what is a name; ON, OFF, NULL and numbers stay.
func loginValue(v string) string {
	switch {
	case v == "ON", v == "OFF", v == "NULL", v != "" && isDigit(v[0]):
		return v
	}
	return bracketed(v)
}

func (w *printer) user(s *CreateUser) {
	w.put(createOrAlter(s.Alter), "USER ", s.Name)
	w.when(s.WithoutLogin, " WITHOUT LOGIN")
	sep := " WITH "
	if s.Login.Name != "" {
		if s.Alter {
			w.put(sep, "LOGIN = ", s.Login)
			sep = ", "
		} else {
			w.put(" FOR LOGIN ", s.Login)
		}
	}
	if s.DefaultSchema.Name != "" {
		w.put(sep, "DEFAULT_SCHEMA = ", s.DefaultSchema)
		sep = ", "
	}
	w.optional(sep+"NAME = ", s.NewName)
}

func (w *printer) grant(s *Grant) {
	w.put(s.Verb, " ")
	w.when(s.Verb == "REVOKE" && s.GrantOption, "GRANT OPTION FOR ")
	w.put(s.Permissions)
	if s.On != nil {
		w.put(" ON ", s.Class, "::", s.On)
	}
	w.optional(" ", s.Columns)
	if s.Verb == "REVOKE" {
		w.put(" FROM ")
	} else {
		w.put(" TO ")
	}
	w.put(s.To)
	w.when(s.Verb == "GRANT" && s.GrantOption, " WITH GRANT OPTION")
	w.when(s.Cascade, " CASCADE")
}
