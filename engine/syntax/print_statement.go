package syntax

import "strings"

// statements writes each statement with its semicolon.
func (w *printer) statements(list []Statement) {
	for i, s := range list {
		w.when(i > 0, " ")
		w.put(s)
		if _, ok := s.(*Merge); !ok {
			w.put(";")
		}
	}
}

func (w *printer) statement(s Statement) {
	switch s := s.(type) {
	case *SelectStmt:
		w.with(s.With)
		w.put(s.Query)
		w.option(s.Option)
	case *Insert:
		w.insert(s)
	case *InsertBulk:
		w.put("INSERT BULK ", s.Table)
		if s.Columns != nil {
			w.put(" (")
			each(w, s.Columns, w.column)
			w.put(")")
		}
		w.options(" WITH ", s.Options)
	case *Update:
		w.update(s)
	case *Delete:
		w.delete(s)
	case *Merge:
		w.merge(s)
	case *Truncate:
		w.put("TRUNCATE TABLE ", s.Table)
	case *Unsupported:
		w.put(s.Text)
	case *Block, *If, *While, *Break, *Continue, *Goto, *Label, *Return, *TryCatch:
		w.control(s)
	case *Declare:
		w.put("DECLARE ")
		each(w, s.Variables, w.variable)
	case *SetVariable:
		w.put("SET ", s.Name)
		w.assignment(s.Op)
		if s.Cursor != nil {
			w.cursorDef(*s.Cursor)
		} else {
			w.put(s.X)
		}
	case *SetOption:
		w.setOption(s)
	case *Exec:
		w.exec(s)
	case *Backup:
		w.backup(s)
	default:
		w.simple(s)
	}
}

// control writes the statements that direct the flow.
func (w *printer) control(s Statement) {
	switch s := s.(type) {
	case *Block:
		w.put("BEGIN ")
		w.statements(s.Body)
		w.put(" END")
	case *If:
		w.put("IF ", s.Cond, " ", s.Then)
		if s.Else != nil {
			w.put(" ELSE ", s.Else)
		}
	case *While:
		w.put("WHILE ", s.Cond, " ", s.Body)
	case *Break:
		w.put("BREAK")
	case *Continue:
		w.put("CONTINUE")
	case *Goto:
		w.put("GOTO ", s.Label)
	case *Label:
		w.put(s.Name, ":")
	case *Return:
		w.put("RETURN")
		w.optional(" ", s.X)
	case *TryCatch:
		w.put("BEGIN TRY ")
		w.statements(s.Try)
		w.put(" END TRY BEGIN CATCH ")
		w.statements(s.Catch)
		w.put(" END CATCH")
	}
}

func (w *printer) variable(v VariableDecl) {
	w.put(v.Name, " ")
	if v.Table != nil {
		w.put("TABLE ")
		w.tableBody(*v.Table)
		return
	}
	w.put(v.Type)
	w.optional(" = ", v.Init)
}

func onOff(on bool) string {
	if on {
		return "ON"
	}
	return "OFF"
}

func (w *printer) setOption(s *SetOption) {
	w.put("SET ")
	each(w, s.Options, func(option string) {
		// STATISTICS is written once: SET STATISTICS IO, TIME ON.
		if rest, ok := strings.CutPrefix(option, "STATISTICS "); ok && option != s.Options[0] {
			option = rest
		}
		w.put(option)
	})
	switch {
	case s.Table != nil:
		w.put(" ", s.Table, " ", onOff(s.On))
	case s.Words != "":
		w.put(" ", s.Words)
	case s.Value != nil:
		w.put(" ", s.Value)
	default:
		w.put(" ", onOff(s.On))
	}
}

func (w *printer) exec(s *Exec) {
	w.put("EXECUTE ")
	if s.Return != "" {
		w.put(s.Return, " = ")
	}
	if s.Strings != nil {
		w.put("(")
		for i, x := range s.Strings {
			w.when(i > 0, " + ")
			w.put(x)
		}
		for _, a := range s.Args {
			w.put(", ")
			w.execArg(a)
		}
		w.put(")")
		if s.As != nil {
			w.put(" AS ")
			w.context(*s.As)
		}
		w.optional(" AT ", s.Server)
	} else {
		if s.Proc != nil {
			w.put(s.Proc)
		} else {
			w.put(s.ProcVar)
		}
		w.when(s.Args != nil, " ")
		each(w, s.Args, w.execArg)
	}
	w.when(s.With != nil, " WITH ", s.With)
}

func (w *printer) execArg(a ExecArg) {
	if a.Name != "" {
		w.put(a.Name, " = ")
	}
	w.put(a.X)
	w.when(a.Output, " OUTPUT")
}

func (w *printer) context(c ExecuteContext) {
	w.put(c.Kind)
	w.optional(" = ", c.Name)
	w.when(c.NoRevert, " WITH NO REVERT")
	w.optional(" WITH COOKIE INTO ", c.CookieInto)
}

// cursorText writes the name of a cursor, or the variable that holds one.
func cursorText(name string) string {
	if strings.HasPrefix(name, "@") {
		return name
	}
	return bracketed(name)
}

func (w *printer) cursorDef(d CursorDef) {
	w.put("CURSOR ")
	for _, option := range d.Options {
		w.put(option, " ")
	}
	w.put("FOR ", d.Select)
	if d.ForUpdate {
		w.put(" FOR UPDATE")
		w.when(d.Update != nil, " OF ", d.Update)
	}
}

// tranName writes the name of a transaction, which the tree holds as a string.
func (w *printer) tranName(x Expr) {
	switch x := x.(type) {
	case *Literal:
		w.put(" ", bracketed(x.Text))
	case *Variable:
		w.put(" ", x.Name)
	}
}

// simple writes the statements of one line.
func (w *printer) simple(s Statement) {
	switch s := s.(type) {
	case *Throw:
		w.put("THROW")
		if s.Number != nil {
			w.put(" ", s.Number, ", ", s.Message, ", ", s.State)
		}
	case *RaiseError:
		w.raiseError(s)
	case *Print:
		w.put("PRINT ", s.X)
	case *WaitFor:
		if s.Time {
			w.put("WAITFOR TIME ", s.X)
		} else {
			w.put("WAITFOR DELAY ", s.X)
		}
	case *Use:
		w.put("USE ", s.Database)
	case *BeginTran, *CommitTran, *RollbackTran, *SaveTran:
		w.tran(s)
	case *ExecuteAs:
		w.put("EXECUTE AS ")
		w.context(s.Context)
	case *Revert:
		w.put("REVERT")
		w.optional(" WITH COOKIE = ", s.Cookie)
	case *DeclareCursor, *CursorOp, *Fetch:
		w.cursor(s)
	case *Kill:
		w.put("KILL ", s.Session)
	case *Checkpoint:
		w.put("CHECKPOINT")
	case *Reconfigure:
		w.put("RECONFIGURE")
	default:
		w.ddl(s)
	}
}

func (w *printer) raiseError(s *RaiseError) {
	w.put("RAISERROR (", s.Message, ", ", s.Severity, ", ", s.State)
	for _, x := range s.Args {
		w.put(", ", x)
	}
	w.put(")")
	var with []string
	if s.Log {
		with = append(with, "LOG")
	}
	if s.NoWait {
		with = append(with, "NOWAIT")
	}
	if s.SetError {
		with = append(with, "SETERROR")
	}
	w.when(with != nil, " WITH ", with)
}

func (w *printer) tran(s Statement) {
	switch s := s.(type) {
	case *BeginTran:
		w.put("BEGIN ")
		w.when(s.Distributed, "DISTRIBUTED ")
		w.put("TRANSACTION")
		w.tranName(s.Name)
		w.when(s.Mark, " WITH MARK")
		w.optional(" ", s.MarkText)
	case *CommitTran:
		w.put("COMMIT TRANSACTION")
		w.tranName(s.Name)
		w.when(s.DelayedDurability, " WITH (DELAYED_DURABILITY = ON)")
	case *RollbackTran:
		w.put("ROLLBACK TRANSACTION")
		w.tranName(s.Name)
	case *SaveTran:
		w.put("SAVE TRANSACTION")
		w.tranName(s.Name)
	}
}

func (w *printer) cursor(s Statement) {
	switch s := s.(type) {
	case *DeclareCursor:
		w.put("DECLARE ", s.Name, " ")
		// INSENSITIVE has its place before CURSOR.
		def := s.Def
		def.Options = nil
		for _, option := range s.Def.Options {
			if option == "INSENSITIVE" {
				w.put("INSENSITIVE ")
			} else {
				def.Options = append(def.Options, option)
			}
		}
		w.cursorDef(def)
	case *CursorOp:
		w.put(s.Op, " ")
		w.when(s.Global, "GLOBAL ")
		w.put(cursorText(s.Name))
	case *Fetch:
		w.put("FETCH ", s.Direction, " ")
		w.when(s.N != nil, s.N, " ")
		w.put("FROM ")
		w.when(s.Global, "GLOBAL ")
		w.put(cursorText(s.Name))
		w.when(s.Into != nil, " INTO ", s.Into)
	}
}
