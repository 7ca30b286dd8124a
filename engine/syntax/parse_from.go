package syntax

import "strings"

// fromList takes the sources after FROM.
func (p *parser) fromList() []TableExpr {
	list := []TableExpr{p.joined()}
	for p.accept(tComma) {
		list = append(list, p.joined())
	}
	return list
}

// joined takes a source with its joins. As the right side of a join it ends
// before ON, so that a JOIN b JOIN c ON … ON … nests to the right.
func (p *parser) joined() TableExpr {
	p.enter()
	outer := p.height
	p.height = 0
	x := p.joins(p.tableTerm())
	p.height = max(p.height, outer)
	p.leave()
	return x
}

// joins takes the joins and pivots after left.
func (p *parser) joins(left TableExpr) TableExpr {
	for {
		next := p.joinSuffix(left)
		if next == nil {
			return left
		}
		left = next
		if p.height++; p.height > maxHeight {
			p.failWith(p.tok, 191)
		}
	}
}

// joinSuffix takes one join or pivot after left, or returns nil.
func (p *parser) joinSuffix(left TableExpr) TableExpr {
	j := &Join{Pos: p.pos(), L: left}
	switch p.tok.word {
	case wPivot, wUnpivot:
		return p.pivot(left)
	case wCross:
		p.next()
		if p.acceptWord("APPLY") {
			j.Kind = CrossApply
		} else {
			p.expectKw(wJoin)
			j.Kind = CrossJoin
		}
		j.R = p.tableTerm()
		return j
	case wOuter:
		p.next()
		p.expectWord("APPLY")
		j.Kind = OuterApply
		j.R = p.tableTerm()
		return j
	case wJoin:
		j.Kind = InnerJoin
	case wInner:
		j.Kind = InnerJoin
		p.next()
		j.Hint = p.joinHint()
	case wLeft, wRight, wFull:
		j.Kind = map[word]JoinKind{wLeft: LeftJoin, wRight: RightJoin, wFull: FullJoin}[p.tok.word]
		p.next()
		p.acceptKw(wOuter)
		j.Hint = p.joinHint()
	default:
		return nil
	}
	p.expectKw(wJoin)
	j.R = p.joined()
	p.expectKw(wOn)
	j.On = p.condition()
	return j
}

// joinHint takes LOOP, HASH, MERGE or REMOTE before JOIN.
func (p *parser) joinHint() string {
	if p.kw(wMerge) || p.word("LOOP") || p.word("HASH") || p.word("REMOTE") {
		return p.anyWord()
	}
	return ""
}

// pivot takes PIVOT or UNPIVOT after x.
func (p *parser) pivot(x TableExpr) TableExpr {
	v := &Pivot{Pos: p.pos(), X: x, Unpivot: p.kw(wUnpivot)}
	p.next()
	p.expect(tLParen)
	if v.Unpivot {
		v.ValueCol = p.ident()
	} else {
		name := p.name(3)
		call, ok := p.call(name).(*Call)
		if !ok {
			p.failAt(p.last)
		}
		v.Agg = call
	}
	p.expectKw(wFor)
	col, ok := p.nameExpr().(*ColumnRef)
	if !ok {
		p.failAt(p.last)
	}
	v.For = *col
	p.expectKw(wIn)
	p.expect(tLParen)
	for {
		id := p.ident()
		for p.accept(tDot) { // UNPIVOT takes qualified names
			id = p.ident()
		}
		v.In = append(v.In, id)
		if !p.accept(tComma) {
			break
		}
	}
	p.expect(tRParen)
	p.expect(tRParen)
	p.acceptKw(wAs)
	v.Alias = p.ident()
	return v
}

// tableTerm takes one source without joins.
func (p *parser) tableTerm() TableExpr {
	switch {
	case p.is(tLParen):
		q, t := p.parenSource()
		if q != nil {
			return p.derivedAlias(q)
		}
		return t
	case p.isVariable():
		return p.variableSource()
	case p.is(tLBrace): // {oj a LEFT JOIN b ON …}
		p.next()
		p.expectWord("OJ")
		x := p.joined()
		p.expect(tRBrace)
		return x
	case p.is(tColonColon): // ::fn_helpcollations()
		p.next()
		return p.functionSource(p.name(4))
	case p.is(tWord) && p.tok.word != notReserved:
		return p.rowsetSource()
	}
	return p.namedSource()
}

// query in parentheses that is still without its alias.
type derivedQuery struct {
	pos   Pos
	query QueryExpr
}

// parenSource takes what stands in parentheses in FROM: a query, returned
// without its alias, or joined sources.
func (p *parser) parenSource() (*derivedQuery, TableExpr) {
	p.enter()
	defer p.leave()
	pos := p.pos()
	p.expect(tLParen)
	switch p.tok.word {
	case wSelect:
		q := p.queryExpr()
		p.expect(tRParen)
		return &derivedQuery{pos, q}, nil
	case wValues:
		q := p.values(false)
		p.expect(tRParen)
		return &derivedQuery{pos, q}, nil
	case wInsert, wUpdate, wDelete, wMerge:
		p.notSupported("nested DML statement in FROM")
		p.dml(nil)
		p.expect(tRParen)
		return &derivedQuery{pos, &ValuesQuery{Pos: pos}}, nil
	}
	var x TableExpr
	if p.is(tLParen) {
		q, t := p.parenSource()
		switch {
		case q == nil:
			x = t
		case p.is(tRParen) || p.atSetOp():
			q.query = p.setOps(q.query, 0)
			p.queryTail(q.query)
			p.expect(tRParen)
			return q, nil
		default:
			x = p.derivedAlias(q)
		}
	} else {
		x = p.tableTerm()
	}
	x = p.joins(x)
	p.expect(tRParen)
	return nil, &ParenTable{Pos: pos, X: x}
}

// derivedAlias takes the alias that a derived table must have.
func (p *parser) derivedAlias(q *derivedQuery) TableExpr {
	d := &DerivedTable{Pos: q.pos, Query: q.query}
	p.acceptKw(wAs)
	d.Alias = p.ident()
	if p.is(tLParen) {
		d.Columns = p.parenIdents()
	}
	return d
}

// tableAlias takes [AS] alias, or nothing.
func (p *parser) tableAlias() Ident {
	if p.acceptKw(wAs) {
		return p.ident()
	}
	if isIdent(p.tok) && !p.atWindowClause() {
		return p.ident()
	}
	return Ident{}
}

// variableSource takes @t and @x.nodes('…').
func (p *parser) variableSource() TableExpr {
	v := &VariableRef{Pos: p.pos()}
	v.Name = p.variable()
	if p.accept(tDot) {
		c := p.method(&Variable{Pos: v.Pos, Name: v.Name})
		return p.functionAlias(c)
	}
	v.Alias = p.tableAlias()
	v.Hints = p.hints()
	return v
}

// namedSource takes a table, a view or a function call.
func (p *parser) namedSource() TableExpr {
	t := &TableRef{Pos: p.pos(), Name: p.name(4)}
	if p.is(tLParen) && !p.atLegacyHints() {
		return p.functionSource(t.Name)
	}
	if p.kw(wFor) && p.spells(p.peek(1), "SYSTEM_TIME") {
		p.notSupported("FOR SYSTEM_TIME")
		p.systemTime()
	}
	t.Hints = p.hints()
	t.Alias = p.tableAlias()
	if t.Hints == nil {
		t.Hints = p.hints()
	}
	if p.is(tLParen) && t.Alias.Name != "" {
		t.Columns = p.parenIdents()
	}
	if p.kw(wTablesample) {
		p.tableSample()
		if t.Hints == nil {
			t.Hints = p.hints()
		}
	}
	return t
}

// systemTime takes FOR SYSTEM_TIME of a temporal table.
func (p *parser) systemTime() {
	p.next()
	p.next()
	switch {
	case p.acceptKw(wAll):
	case p.acceptKw(wAs):
		p.expectKw(wOf)
		p.expr()
	case p.acceptKw(wFrom):
		p.expr()
		p.expectKw(wTo)
		p.expr()
	case p.acceptKw(wBetween):
		p.expr()
		p.expectKw(wAnd)
		p.expr()
	default:
		p.expectWord("CONTAINED")
		p.expectKw(wIn)
		p.expect(tLParen)
		p.skipParens()
	}
}

func (p *parser) tableSample() {
	p.notSupported("TABLESAMPLE")
	p.next()
	p.acceptWord("SYSTEM")
	p.expect(tLParen)
	p.skipParens()
	if p.acceptWord("REPEATABLE") {
		p.expect(tLParen)
		p.skipParens()
	}
}

// functionSource takes the arguments of a table-valued function and its alias.
func (p *parser) functionSource(name Name) TableExpr {
	c := &Call{Pos: name.Pos, Name: name}
	last := name.Object
	p.expect(tLParen)
	switch {
	case name.Schema.Name != "" && isXMLMethod(last):
		var parts []Ident
		for _, id := range [...]Ident{name.Server, name.Database, name.Schema} {
			if id.Name != "" {
				parts = append(parts, id)
			}
		}
		c.Name = Name{Pos: last.Pos, Object: last}
		c.Receiver = columnRef(parts)
		c.Args = p.arguments(false)
	case name.Schema.Name == "" && len(last.Name) == len("CHANGETABLE") && equalFold(last.Name, "CHANGETABLE"):
		p.notSupported("CHANGETABLE")
		p.skipParens()
	default:
		c.Args = p.arguments(true)
	}
	return p.functionAlias(c)
}

// functionAlias takes what may follow a table-valued function.
func (p *parser) functionAlias(c *Call) TableExpr {
	f := &TableFunc{Pos: c.Pos, Call: c}
	if p.kw(wWith) && p.peek(1).kind == tLParen {
		if c.Name.Schema.Name == "" && strings.EqualFold(c.Name.Object.Name, "OPENJSON") {
			f.With = p.openJSONColumns()
		} else {
			p.notSupported("table hint on a function")
			p.hints()
		}
	}
	f.Alias = p.tableAlias()
	if p.is(tLParen) && f.Alias.Name != "" {
		f.Columns = p.parenIdents()
	}
	return f
}

// openJSONColumns takes WITH (name type 'path' AS JSON, …).
func (p *parser) openJSONColumns() []OpenJSONColumn {
	p.expectKw(wWith)
	p.expect(tLParen)
	var cols []OpenJSONColumn
	for {
		c := OpenJSONColumn{Name: p.ident(), Type: p.dataType()}
		if p.acceptKw(wCollate) {
			p.notSupported("COLLATE in OPENJSON")
			p.collation()
		}
		if p.isString() {
			s := p.stringText()
			c.Path = &s
		}
		if p.acceptKw(wAs) {
			p.expectWord("JSON")
			c.AsJSON = true
		}
		cols = append(cols, c)
		if !p.accept(tComma) {
			break
		}
	}
	p.expect(tRParen)
	return cols
}

// rowsetSource takes the rowset functions whose names are reserved words.
func (p *parser) rowsetSource() TableExpr {
	pos := p.pos()
	switch p.tok.word {
	case wOpenquery:
		id := p.takeIdent()
		c := &Call{Pos: pos, Name: Name{Pos: pos, Object: id}}
		p.expect(tLParen)
		server := p.ident()
		p.expect(tComma)
		if !p.isString() {
			p.fail()
		}
		c.Args = []Expr{&ColumnRef{Pos: server.Pos, Parts: []Ident{server}}, p.literal()}
		p.expect(tRParen)
		return p.functionAlias(c)
	case wOpenrowset, wOpendatasource, wOpenxml, wContainstable, wFreetexttable,
		wSemantickeyphrasetable, wSemanticsimilaritydetailstable, wSemanticsimilaritytable:
		id := p.takeIdent()
		p.notSupported(strings.ToUpper(id.Name))
		p.expect(tLParen)
		p.skipParens()
		for p.accept(tDot) {
			if isIdent(p.tok) {
				p.next()
			}
		}
		if p.kw(wWith) && p.peek(1).kind == tLParen {
			p.next()
			p.next()
			p.skipParens()
		}
		return p.functionAlias(&Call{Pos: pos, Name: Name{Pos: pos, Object: id}})
	}
	p.fail()
	return nil
}
