package syntax

func (w *printer) ddl(s Statement) {
	switch s := s.(type) {
	case *CreateTable:
		w.put("CREATE TABLE ", s.Name, " ")
		w.tableBody(s.Body)
		w.optional(" ON ", s.FileGroup)
		w.optional(" TEXTIMAGE_ON ", s.TextImageOn)
		w.options(" WITH ", s.Options)
	case *CreateIndex:
		w.put("CREATE ")
		w.indexKind(s.Index)
		w.put("INDEX ", s.Index.Name, " ON ", s.Table)
		w.indexTail(s.Index)
	case *AlterTable:
		w.put("ALTER TABLE ", s.Table, " ")
		w.alterAction(s.Action)
	case *AlterIndex:
		w.put("ALTER INDEX ", s.Name, " ON ", s.Table, " ", s.Action)
		if s.Action == "SET" {
			w.options(" ", s.Options)
		} else {
			w.options(" WITH ", s.Options)
		}
	case *Drop:
		w.drop(s)
	case *CreateProcedure, *CreateFunction, *CreateView, *CreateTrigger, *EnableTrigger:
		w.module(s)
	default:
		w.object(s)
	}
}

func (w *printer) tableBody(b TableBody) {
	w.put("(")
	sep := ""
	for _, c := range b.Columns {
		w.put(sep)
		w.column(c)
		sep = ", "
	}
	for _, c := range b.Constraints {
		w.put(sep)
		w.constraint(c)
		sep = ", "
	}
	for _, d := range b.Indexes {
		w.put(sep)
		w.inlineIndex(d)
		sep = ", "
	}
	w.put(")")
}

func (w *printer) column(c ColumnDef) {
	w.put(c.Name)
	if c.Computed != nil {
		w.put(" AS ", c.Computed)
		w.when(c.Persisted, " PERSISTED")
	} else {
		w.put(" ", c.Type)
	}
	w.optional(" COLLATE ", c.Collation)
	w.when(c.Sparse, " SPARSE")
	if id := c.Identity; id != nil {
		w.put(" IDENTITY")
		if id.Seed != nil {
			w.put("(", id.Seed, ", ", id.Increment, ")")
		}
	}
	w.when(c.NotForReplication, " NOT FOR REPLICATION")
	w.when(c.RowGUIDCol, " ROWGUIDCOL")
	if c.Null != nil {
		w.nullability(*c.Null)
	}
	for _, con := range c.Constraints {
		w.put(" ")
		w.constraint(con)
	}
	for _, d := range c.Indexes {
		w.put(" ")
		w.inlineIndex(d)
	}
}

func (w *printer) nullability(null bool) {
	if null {
		w.put(" NULL")
	} else {
		w.put(" NOT NULL")
	}
}

func (w *printer) constraint(c Constraint) {
	if c.Name.Name != "" {
		w.put("CONSTRAINT ", c.Name, " ")
	}
	switch c.Kind {
	case PrimaryKey, UniqueKey:
		w.keyConstraint(c)
	case ForeignKey:
		if c.Columns != nil {
			w.put("FOREIGN KEY ")
			w.indexColumns(c.Columns)
			w.put(" ")
		}
		w.put("REFERENCES ", c.RefTable)
		w.optional(" ", c.RefColumns)
		w.optional(" ON DELETE ", c.OnDelete)
		w.optional(" ON UPDATE ", c.OnUpdate)
		w.when(c.NotForReplication, " NOT FOR REPLICATION")
	case CheckConstraint:
		w.put("CHECK ")
		w.when(c.NotForReplication, "NOT FOR REPLICATION ")
		w.put(c.Check)
	case DefaultConstraint:
		w.put("DEFAULT ", c.Default)
		w.optional(" FOR ", c.ForColumn)
		w.when(c.WithValues, " WITH VALUES")
	}
}

func (w *printer) keyConstraint(c Constraint) {
	if c.Kind == PrimaryKey {
		w.put("PRIMARY KEY")
	} else {
		w.put("UNIQUE")
	}
	if c.Clustered != nil {
		w.put(clustering(*c.Clustered))
	}
	if c.Columns != nil {
		w.put(" ")
		w.indexColumns(c.Columns)
	}
	w.options(" WITH ", c.Options)
	w.optional(" ON ", c.FileGroup)
}

func clustering(clustered bool) string {
	if clustered {
		return " CLUSTERED"
	}
	return " NONCLUSTERED"
}

func (w *printer) indexColumns(list []IndexColumn) {
	w.put("(")
	each(w, list, func(c IndexColumn) {
		w.put(c.Name)
		w.when(c.Desc, " DESC")
	})
	w.put(")")
}

func (w *printer) indexKind(d IndexDef) {
	w.when(d.Unique, "UNIQUE ")
	w.when(d.Clustered, "CLUSTERED ")
}

func (w *printer) inlineIndex(d IndexDef) {
	w.put("INDEX ", d.Name, " ")
	w.indexKind(d)
	w.indexTail(d)
}

func (w *printer) indexTail(d IndexDef) {
	w.put(" ")
	w.indexColumns(d.Columns)
	w.optional(" INCLUDE ", d.Include)
	w.optional(" WHERE ", d.Where)
	w.options(" WITH ", d.Options)
	w.optional(" ON ", d.FileGroup)
}

// options writes prefix and (NAME = value, …), or nothing.
func (w *printer) options(prefix string, list []IndexOption) {
	if list == nil {
		return
	}
	w.put(prefix, "(")
	each(w, list, w.indexOption)
	w.put(")")
}

func (w *printer) indexOption(o IndexOption) {
	w.put(o.Name)
	switch {
	case o.Value == "":
	case o.Value[0] == '(':
		w.put(" ", o.Value)
	default:
		w.put(" = ", o.Value)
	}
}

func (w *printer) alterAction(a AlterTableAction) {
	switch {
	case a.AddColumns != nil || a.AddConstraints != nil:
		if a.AddConstraints != nil && a.AddConstraints[0].WithNoCheck {
			w.put("WITH NOCHECK ")
		}
		w.put("ADD ")
		each(w, a.AddColumns, w.column)
		w.when(a.AddColumns != nil && a.AddConstraints != nil, ", ")
		each(w, a.AddConstraints, w.constraint)
	case a.DropColumns != nil || a.DropConstraints != nil:
		w.put("DROP ")
		exists := ""
		if a.IfExists {
			exists = "IF EXISTS "
		}
		w.when(a.DropConstraints != nil, "CONSTRAINT ", exists, a.DropConstraints)
		w.when(a.DropColumns != nil && a.DropConstraints != nil, ", ")
		w.when(a.DropColumns != nil, "COLUMN ", exists, a.DropColumns)
	case a.AlterColumn != nil:
		w.put("ALTER COLUMN ")
		w.column(*a.AlterColumn)
		w.options(" WITH ", a.AlterOptions)
	case a.SetOptions != nil:
		w.options("SET ", a.SetOptions)
	case a.EnableTrigger:
		w.put("ENABLE TRIGGER ", allOr(a.TriggersAll, a.Triggers))
	case a.DisableTrigger:
		w.put("DISABLE TRIGGER ", allOr(a.TriggersAll, a.Triggers))
	default:
		w.when(a.WithCheck, "WITH CHECK ")
		w.when(a.NoCheck, "NO")
		w.put("CHECK CONSTRAINT ", allOr(a.CheckAll, a.CheckConstraints))
	}
}

// allOr returns what to write for ALL or a list.
func allOr[T any](all bool, list []T) any {
	if all {
		return "ALL"
	}
	return list
}

func (w *printer) drop(s *Drop) {
	w.put("DROP ", s.Kind, " ")
	w.when(s.IfExists, "IF EXISTS ")
	for i, n := range s.Names {
		w.when(i > 0, ", ")
		w.put(n)
		if i < len(s.On) {
			w.put(" ON ", s.On[i])
			w.optional(" WITH ", s.With[i])
		}
	}
}

// ---------------------------------------------------------------- modules

var moduleVerbs = [...]string{FormCreate: "CREATE ", FormAlter: "ALTER ", FormCreateOrAlter: "CREATE OR ALTER "}

func (w *printer) module(s Statement) {
	switch s := s.(type) {
	case *CreateProcedure:
		w.put(moduleVerbs[s.Form], "PROCEDURE ", s.Name, " ")
		each(w, s.Params, w.parameter)
		w.moduleOptions(s.Options)
		w.put(" AS ")
		w.statements(s.Body)
	case *CreateFunction:
		w.function(s)
	case *CreateView:
		w.put(moduleVerbs[s.Form], "VIEW ", s.Name)
		w.optional(" ", s.Columns)
		w.moduleOptions(s.Options)
		w.put(" AS ")
		w.with(s.With)
		w.put(s.Query)
		w.when(s.CheckOption, " WITH CHECK OPTION")
	case *CreateTrigger:
		w.put(moduleVerbs[s.Form], "TRIGGER ", s.Name, " ON ", s.Table)
		w.moduleOptions(s.Options)
		if s.InsteadOf {
			w.put(" INSTEAD OF ")
		} else {
			w.put(" AFTER ")
		}
		var events []string
		for _, e := range [...]struct {
			on   bool
			name string
		}{{s.Insert, "INSERT"}, {s.Update, "UPDATE"}, {s.Delete, "DELETE"}} {
			if e.on {
				events = append(events, e.name)
			}
		}
		w.put(events, " AS ")
		w.statements(s.Body)
	case *EnableTrigger:
		if s.Enable {
			w.put("ENABLE TRIGGER ")
		} else {
			w.put("DISABLE TRIGGER ")
		}
		w.put(allOr(s.All, s.Names), " ON ", s.Table)
	}
}

func (w *printer) parameter(a Parameter) {
	w.put(a.Name, " ", a.Type)
	w.when(a.Varying, " VARYING")
	w.optional(" = ", a.Default)
	w.when(a.Output, " OUTPUT")
	w.when(a.ReadOnly, " READONLY")
}

func (w *printer) function(s *CreateFunction) {
	w.put(moduleVerbs[s.Form], "FUNCTION ", s.Name, " (")
	each(w, s.Params, w.parameter)
	w.put(") RETURNS ")
	switch {
	case s.Inline:
		w.put("TABLE")
	case s.Table != nil:
		w.put(s.TableVar, " TABLE ")
		w.tableBody(*s.Table)
	default:
		w.put(s.Returns)
	}
	w.moduleOptions(s.Options)
	w.put(" AS ")
	if s.Inline {
		w.put("RETURN (")
		w.with(s.With)
		w.put(s.Query, ")")
		return
	}
	w.put("BEGIN ")
	w.statements(s.Body)
	w.put(" END")
}

func (w *printer) moduleOptions(o ModuleOptions) {
	sep := " WITH "
	add := func(on bool, text string) {
		if on {
			w.put(sep, text)
			sep = ", "
		}
	}
	if o.ExecuteAs != nil {
		add(true, "EXECUTE AS ")
		if o.ExecuteAs.Name != nil {
			w.put(o.ExecuteAs.Name)
		} else {
			w.context(*o.ExecuteAs)
		}
	}
	add(o.Recompile, "RECOMPILE")
	add(o.SchemaBinding, "SCHEMABINDING")
	add(o.Encryption, "ENCRYPTION")
	add(o.ReturnsNullOnNullInput, "RETURNS NULL ON NULL INPUT")
	add(o.ViewMetadata, "VIEW_METADATA")
	if o.Inline != nil {
		add(true, "INLINE = "+onOff(*o.Inline))
	}
}
