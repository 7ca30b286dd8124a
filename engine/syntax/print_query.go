package syntax

var setOpWords = [...]string{Union: "UNION", UnionAll: "UNION ALL", Except: "EXCEPT", Intersect: "INTERSECT"}

// setPrec returns how tight the operator of a query binds; a single SELECT
// binds tightest.
func setPrec(q QueryExpr) int {
	op, ok := q.(*SetOp)
	switch {
	case !ok:
		return 3
	case op.Kind == Intersect:
		return 2
	}
	return 1
}

func (w *printer) query(q QueryExpr) {
	switch q := q.(type) {
	case *Select:
		w.selectSpec(q)
		w.queryTail(q.OrderBy, q.Offset, q.Fetch, q.For)
	case *SetOp:
		w.operand(q.L, setPrec(q))
		w.put(" ", setOpWords[q.Kind], " ")
		w.operand(q.R, setPrec(q)+1)
		w.queryTail(q.OrderBy, q.Offset, q.Fetch, q.For)
	case *ValuesQuery:
		w.put("VALUES ")
		each(w, q.Rows, func(row []Expr) { w.put("(", row, ")") })
	}
}

// operand writes one side of a set operator, in parentheses when it binds less
// tight than floor.
func (w *printer) operand(q QueryExpr, floor int) {
	if setPrec(q) < floor {
		w.put("(", q, ")")
		return
	}
	w.put(q)
}

func (w *printer) queryTail(order []OrderItem, offset, fetch Expr, clause *ForClause) {
	w.orderBy(" ", order)
	if offset != nil {
		w.put(" OFFSET ", offset, " ROWS")
	}
	if fetch != nil {
		w.put(" FETCH NEXT ", fetch, " ROWS ONLY")
	}
	if clause != nil {
		w.forClause(clause)
	}
}

func (w *printer) forClause(f *ForClause) {
	if f.XML {
		w.put(" FOR XML ", f.Mode)
	} else {
		w.put(" FOR JSON ", f.Mode)
	}
	if f.ElementName != nil {
		w.put("(")
		w.text(*f.ElementName)
		w.put(")")
	}
	if f.Root != nil {
		w.put(", ROOT")
		if *f.Root != "" {
			w.put("(")
			w.text(*f.Root)
			w.put(")")
		}
	}
	w.when(f.IncludeNullValues, ", INCLUDE_NULL_VALUES")
	w.when(f.WithoutArrayWrapper, ", WITHOUT_ARRAY_WRAPPER")
	w.when(f.Type, ", TYPE")
	w.when(f.Elements, ", ELEMENTS")
}

func (w *printer) top(t *Top) {
	if t == nil {
		return
	}
	w.put("TOP ")
	if sub, ok := t.N.(*Subquery); ok {
		w.put(sub)
	} else {
		w.put("(", t.N, ")")
	}
	w.when(t.Percent, " PERCENT")
	w.when(t.WithTies, " WITH TIES")
	w.put(" ")
}

func (w *printer) selectSpec(s *Select) {
	w.put("SELECT ")
	w.when(s.Distinct, "DISTINCT ")
	w.top(s.Top)
	w.selectItems(s.Items)
	if s.Into != nil {
		w.put(" INTO ", s.Into)
	}
	if s.From != nil {
		w.put(" FROM ", s.From)
	}
	w.optional(" WHERE ", s.Where)
	if g := s.GroupBy; g != nil {
		w.put(" GROUP BY ")
		if g.Sets != nil {
			w.put("GROUPING SETS (")
			each(w, g.Sets, func(set []Expr) { w.put("(", set, ")") })
			w.put(")")
		} else {
			w.put(g.Items)
		}
	}
	w.optional(" HAVING ", s.Having)
}

func (w *printer) selectItems(items []SelectItem) {
	each(w, items, func(it SelectItem) {
		if it.Assign != "" {
			w.put(it.Assign)
			w.assignment(it.AssignOp)
		}
		w.put(it.X)
		w.optional(" AS ", it.Alias)
	})
}

// assignment writes = or a compound assignment operator.
func (w *printer) assignment(op *BinaryOp) {
	w.put(" ")
	if op != nil {
		w.put(binarySigns[*op])
	}
	w.put("= ")
}

func (w *printer) with(list []CTE) {
	if list == nil {
		return
	}
	w.put("WITH ")
	each(w, list, func(c CTE) {
		w.put(c.Name)
		w.optional(" ", c.Columns)
		w.put(" AS (", c.Query, ")")
	})
	w.put(" ")
}

func (w *printer) option(list []QueryHint) {
	if list == nil {
		return
	}
	w.put(" OPTION (")
	each(w, list, func(h QueryHint) {
		w.put(h.Name)
		switch h.Name {
		case "OPTIMIZE FOR":
			w.put(" (")
			each(w, h.Args, func(x Expr) {
				w.put(x)
				_, alone := x.(*Variable)
				w.when(alone, " UNKNOWN")
			})
			w.put(")")
		case "USE HINT":
			w.put(" (", h.Args, ")")
		case "LABEL", "MAX_GRANT_PERCENT", "MIN_GRANT_PERCENT":
			w.put(" = ", h.Args)
		default:
			w.when(h.Args != nil, " ", h.Args)
		}
	})
	w.put(")")
}

// ---------------------------------------------------------------- sources

var joinWords = [...]string{
	InnerJoin: "INNER", LeftJoin: "LEFT", RightJoin: "RIGHT", FullJoin: "FULL", CrossJoin: "CROSS JOIN",
	CrossApply: "CROSS APPLY", OuterApply: "OUTER APPLY",
}

func (w *printer) table(t TableExpr) {
	switch t := t.(type) {
	case *TableRef:
		w.put(t.Name)
		w.optional(" AS ", t.Alias)
		w.optional(" ", t.Columns)
		w.hints(t.Hints)
	case *VariableRef:
		w.put(t.Name)
		w.optional(" AS ", t.Alias)
		w.hints(t.Hints)
	case *DerivedTable:
		w.put("(", t.Query, ") AS ", t.Alias)
		w.optional(" ", t.Columns)
	case *TableFunc:
		w.tableFunc(t)
	case *Join:
		w.put(t.L, " ", joinWords[t.Kind])
		if t.On == nil {
			w.put(" ", t.R)
			return
		}
		w.optional(" ", t.Hint)
		w.put(" JOIN ", t.R, " ON ", t.On)
	case *ParenTable:
		w.put("(", t.X, ")")
	case *Pivot:
		w.pivot(t)
	}
}

func (w *printer) tableFunc(t *TableFunc) {
	w.put(t.Call)
	if t.With != nil {
		w.put(" WITH (")
		each(w, t.With, func(c OpenJSONColumn) {
			w.put(c.Name, " ", c.Type)
			if c.Path != nil {
				w.put(" ")
				w.text(*c.Path)
			}
			w.when(c.AsJSON, " AS JSON")
		})
		w.put(")")
	}
	w.optional(" AS ", t.Alias)
	w.optional(" ", t.Columns)
}

func (w *printer) pivot(t *Pivot) {
	if t.Unpivot {
		w.put(t.X, " UNPIVOT (", t.ValueCol)
	} else {
		w.put(t.X, " PIVOT (", t.Agg)
	}
	w.put(" FOR ", &t.For, " IN (", t.In, ")) AS ", t.Alias)
}

// hints writes WITH (…). A hint in front of the alias moves behind it.
func (w *printer) hints(list []Hint) {
	if list == nil {
		return
	}
	w.put(" WITH (")
	each(w, list, func(h Hint) {
		w.put(h.Name)
		switch {
		case h.Args == nil:
		case h.Name == "FORCESEEK":
			w.put("(", h.Args[0], "(", h.Args[1:], "))")
		case h.Name == "SPATIAL_WINDOW_MAX_CELLS":
			w.put(" = ", h.Args)
		default:
			w.put("(", h.Args, ")")
		}
	})
	w.put(")")
}

// ---------------------------------------------------------------- changes

func (w *printer) insert(s *Insert) {
	w.with(s.With)
	w.put("INSERT ")
	w.top(s.Top)
	w.put("INTO ", s.Target)
	w.optional(" ", s.Columns)
	w.output(s.Output)
	switch {
	case s.Exec != nil:
		w.put(" ", s.Exec)
	case s.Query != nil:
		w.put(" ", s.Query)
	default:
		w.put(" DEFAULT VALUES")
	}
	w.option(s.Option)
}

func (w *printer) output(o *Output) {
	if o == nil {
		return
	}
	w.put(" OUTPUT ")
	w.selectItems(o.Items)
	if o.Into != nil {
		w.put(" INTO ", o.Into)
		w.optional(" ", o.IntoColumns)
	}
}

func (w *printer) setClauses(list []SetClause) {
	w.put(" SET ")
	each(w, list, func(c SetClause) {
		if c.Method != nil {
			w.put(c.Method)
			return
		}
		if c.Variable != "" {
			w.put(c.Variable)
			if c.Column != nil {
				w.put(" = ")
			}
		}
		if c.Column != nil {
			w.put(c.Column)
		}
		w.assignment(c.Op)
		w.put(c.X)
	})
}

func (w *printer) dmlWhere(where Expr, cursor string) {
	w.optional(" WHERE ", where)
	if cursor != "" {
		w.put(" WHERE CURRENT OF ", cursorText(cursor))
	}
}

func (w *printer) update(s *Update) {
	w.with(s.With)
	w.put("UPDATE ")
	w.top(s.Top)
	w.put(s.Target)
	w.setClauses(s.Set)
	w.output(s.Output)
	if s.From != nil {
		w.put(" FROM ", s.From)
	}
	w.dmlWhere(s.Where, s.CurrentOf)
	w.option(s.Option)
}

func (w *printer) delete(s *Delete) {
	w.with(s.With)
	w.put("DELETE ")
	w.top(s.Top)
	w.put("FROM ", s.Target)
	w.output(s.Output)
	if s.From != nil {
		w.put(" FROM ", s.From)
	}
	w.dmlWhere(s.Where, s.CurrentOf)
	w.option(s.Option)
}

var matchWords = [...]string{
	WhenMatched: " WHEN MATCHED", WhenNotMatchedByTarget: " WHEN NOT MATCHED BY TARGET",
	WhenNotMatchedBySource: " WHEN NOT MATCHED BY SOURCE",
}

// merge writes MERGE and the semicolon that it needs.
func (w *printer) merge(s *Merge) {
	w.with(s.With)
	w.put("MERGE ")
	w.top(s.Top)
	w.mergeTarget(s.Target)
	w.put(" USING ", s.Source, " ON ", s.On)
	for _, a := range s.Actions {
		w.put(matchWords[a.Match])
		w.optional(" AND ", a.And)
		w.put(" THEN ")
		switch {
		case a.Delete:
			w.put("DELETE")
		case a.Insert != nil:
			w.put("INSERT")
			w.optional(" ", a.Insert.Columns)
			if a.Insert.Values == nil {
				w.put(" DEFAULT VALUES")
			} else {
				w.put(" VALUES (", a.Insert.Values, ")")
			}
		default:
			w.put("UPDATE")
			w.setClauses(a.Update)
		}
	}
	w.output(s.Output)
	w.option(s.Option)
	w.put(";")
}

// mergeTarget writes the hints before the alias, where MERGE takes them.
func (w *printer) mergeTarget(x TableExpr) {
	t, ok := x.(*TableRef)
	if !ok {
		w.put("INTO ", x)
		return
	}
	w.put("INTO ", t.Name)
	w.hints(t.Hints)
	w.optional(" AS ", t.Alias)
}
