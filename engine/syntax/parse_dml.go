package syntax

// maxValuesRows is the number of rows that INSERT … VALUES takes.
const maxValuesRows = 1000

// selectStmt takes a query as a statement.
func (p *parser) selectStmt(with []CTE) Statement {
	s := &SelectStmt{Pos: p.pos(), With: with}
	s.Query = p.queryExpr()
	s.Option = p.option()
	return s
}

// dml takes the statement after WITH, or a statement without one.
func (p *parser) dml(with []CTE) Statement {
	switch p.tok.word {
	case wSelect:
		return p.selectStmt(with)
	case wInsert:
		return p.insert(with)
	case wUpdate:
		return p.update(with)
	case wDelete:
		return p.delete(with)
	case wMerge:
		return p.merge(with)
	}
	if p.is(tLParen) {
		return p.selectStmt(with)
	}
	p.fail()
	return nil
}

// target takes what INSERT, UPDATE or DELETE changes, with its hints.
func (p *parser) target() TableExpr {
	pos := p.pos()
	if p.isVariable() {
		v := &VariableRef{Pos: pos}
		v.Name = p.variable()
		v.Hints = p.hints()
		p.checkTarget(v.Hints, false)
		return v
	}
	if w := p.tok.word; w == wOpenquery || w == wOpenrowset || w == wOpendatasource {
		p.notSupported("rowset function as a target")
		return p.rowsetSource()
	}
	t := &TableRef{Pos: pos, Name: p.name(4)}
	t.Hints = p.hints()
	p.checkTarget(t.Hints, false)
	return t
}

// changeTarget takes the target of UPDATE and DELETE, which may be a function.
func (p *parser) changeTarget() TableExpr {
	x := p.target()
	t, ok := x.(*TableRef)
	if !ok || !p.is(tLParen) {
		return x
	}
	p.notSupported("function as a target")
	return p.functionSource(t.Name)
}

// values takes VALUES and its rows.
func (p *parser) values(insert bool) *ValuesQuery {
	v := &ValuesQuery{Pos: p.pos()}
	p.expectKw(wValues)
	for {
		row := p.tok
		p.expect(tLParen)
		v.Rows = append(v.Rows, p.row(insert))
		if len(v.Rows[0]) != len(v.Rows[len(v.Rows)-1]) {
			p.failWith(row, 10709)
		}
		if insert && len(v.Rows) > maxValuesRows {
			p.failWith(row, 10738)
		}
		if !p.accept(tComma) {
			return v
		}
	}
}

// row takes the values of one row and the closing parenthesis.
func (p *parser) row(allowDefault bool) []Expr {
	row := make([]Expr, 0, 4)
	for {
		if allowDefault && p.kw(wDefault) {
			row = append(row, p.defaultValue())
		} else {
			row = append(row, p.expr())
		}
		if !p.accept(tComma) {
			p.expect(tRParen)
			return row
		}
	}
}

func (p *parser) insert(with []CTE) Statement {
	s := &Insert{Pos: p.pos(), With: with}
	p.next()
	if p.kw(wBulk) && with == nil {
		return p.insertBulk(s.Pos)
	}
	if p.kw(wTop) {
		s.Top = p.top(false)
	}
	p.acceptKw(wInto)
	s.Target = p.target()
	if t, ok := s.Target.(*TableRef); ok {
		p.checkTarget(t.Hints, true)
	}
	if p.is(tLParen) && p.peek(1).word != wSelect && p.peek(1).kind != tLParen {
		s.Columns = p.columnList()
	}
	s.Output = p.output()
	switch {
	case p.kw(wValues):
		s.Query = p.values(true)
	case p.kw(wExec), p.kw(wExecute):
		s.Exec = p.exec()
	case p.kw(wDefault):
		p.next()
		p.expectKw(wValues)
	case p.kw(wWith):
		p.fail()
	case p.kw(wSelect), p.is(tLParen):
		s.Query = p.queryExpr()
	default:
		p.fail()
	}
	s.Option = p.option()
	return s
}

// insertBulk takes INSERT BULK, with which a client announces the rows that
// follow in a bulk load message.
func (p *parser) insertBulk(pos Pos) Statement {
	s := &InsertBulk{Pos: pos}
	p.next()
	s.Table = p.name(3)
	if p.accept(tLParen) {
		for {
			s.Columns = append(s.Columns, p.columnDef())
			if !p.accept(tComma) {
				break
			}
		}
		p.expect(tRParen)
	}
	if p.kw(wWith) && p.peek(1).kind == tLParen {
		p.next()
		s.Options = p.indexOptions()
	}
	return s
}

// columnList takes (a, t.b, …); of a qualified name the last part counts.
func (p *parser) columnList() []Ident {
	p.expect(tLParen)
	var cols []Ident
	for {
		var id Ident
		if p.kw(wIdentitycol) || p.kw(wRowguidcol) {
			id = p.pseudoColumn()
		} else {
			id = p.name(4).Object
		}
		cols = append(cols, id)
		if !p.accept(tComma) {
			p.expect(tRParen)
			return cols
		}
	}
}

// output takes OUTPUT, or nothing.
func (p *parser) output() *Output {
	if !p.word("OUTPUT") {
		return nil
	}
	o := &Output{Pos: p.pos()}
	p.next()
	o.Items = p.selectItems()
	if p.acceptKw(wInto) {
		pos := p.pos()
		if p.isVariable() {
			o.Into = &VariableRef{Pos: pos, Name: p.variable()}
		} else {
			o.Into = &TableRef{Pos: pos, Name: p.name(3)}
		}
		if p.is(tLParen) && p.peek(1).word != wSelect {
			o.IntoColumns = p.columnList()
		}
		if p.word("OUTPUT") {
			p.notSupported("OUTPUT after OUTPUT INTO")
			p.next()
			p.selectItems()
		}
	}
	return o
}

func (p *parser) update(with []CTE) Statement {
	s := &Update{Pos: p.pos(), With: with}
	p.next()
	if p.kw(wTop) {
		s.Top = p.top(false)
	}
	s.Target = p.changeTarget()
	s.Set = p.setClauses()
	s.Output = p.output()
	if p.acceptKw(wFrom) {
		s.From = p.fromList()
	}
	s.Where, s.CurrentOf = p.dmlWhere()
	s.Option = p.option()
	return s
}

// dmlWhere takes WHERE and its condition or CURRENT OF cursor.
func (p *parser) dmlWhere() (where Expr, cursor string) {
	if !p.acceptKw(wWhere) {
		return nil, ""
	}
	if !p.acceptKw(wCurrent) {
		return p.condition(), ""
	}
	p.expectKw(wOf)
	name, global := p.cursorName()
	if global {
		p.notSupported("WHERE CURRENT OF GLOBAL")
	}
	return nil, name
}

// setClauses takes SET and the assignments of UPDATE.
func (p *parser) setClauses() []SetClause {
	p.expectKw(wSet)
	list := make([]SetClause, 0, 2)
	for {
		list = append(list, p.setClause())
		if !p.accept(tComma) {
			return list
		}
	}
}

func (p *parser) setClause() SetClause {
	c := SetClause{Pos: p.pos()}
	if p.isVariable() {
		c.Variable = p.variable()
		c.Op = p.assignment()
		c.X = p.setValue()
		if col, ok := c.X.(*ColumnRef); ok && c.Op == nil && isAssignment(p.tok.kind) {
			c.Column = col // @v = column = X
			c.Op = p.assignment()
			c.X = p.setValue()
		}
		return c
	}
	var x Expr
	if p.kw(wIdentitycol) || p.kw(wRowguidcol) {
		x = p.keywordPrimary(false)
	} else if isIdent(p.tok) {
		x = p.nameExpr()
	} else {
		p.fail()
	}
	switch x := x.(type) {
	case *ColumnRef:
		c.Column = x
		c.Op = p.assignment()
		c.X = p.setValue()
	case *Call:
		p.methodClause(&c, x)
	default:
		p.failAt(p.last)
	}
	return c
}

// methodClause makes column.WRITE(…) of what was read as a call.
func (p *parser) methodClause(c *SetClause, call *Call) {
	if call.Receiver == nil {
		n := call.Name
		var parts []Ident
		for _, id := range [...]Ident{n.Server, n.Database, n.Schema} {
			if id.Name != "" {
				parts = append(parts, id)
			}
		}
		if parts == nil {
			p.failAt(p.last)
		}
		call.Receiver = columnRef(parts)
		call.Name = Name{Pos: n.Object.Pos, Object: n.Object}
	}
	col, ok := call.Receiver.(*ColumnRef)
	if !ok {
		p.failAt(p.last)
	}
	if name := call.Name.Object.Name; len(name) != len("WRITE") || !equalFold(name, "WRITE") {
		p.notSupported("method " + name + " in UPDATE")
	}
	c.Column, c.Method = col, call
}

// setValue takes a value or DEFAULT.
func (p *parser) setValue() Expr {
	if p.kw(wDefault) {
		return p.defaultValue()
	}
	return p.expr()
}

func (p *parser) delete(with []CTE) Statement {
	s := &Delete{Pos: p.pos(), With: with}
	p.next()
	if p.kw(wTop) {
		s.Top = p.top(false)
	}
	p.acceptKw(wFrom)
	s.Target = p.changeTarget()
	s.Output = p.output()
	if p.acceptKw(wFrom) {
		s.From = p.fromList()
	}
	s.Where, s.CurrentOf = p.dmlWhere()
	s.Option = p.option()
	return s
}
