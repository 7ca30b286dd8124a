package syntax

import "strings"

// queryExpr takes a query with its ORDER BY and FOR, without WITH and OPTION.
func (p *parser) queryExpr() QueryExpr {
	p.enter()
	q := p.setOps(p.queryPrimary(), 0)
	p.queryTail(q)
	p.leave()
	return q
}

// subquery takes a query in parentheses.
func (p *parser) subquery() QueryExpr {
	p.expect(tLParen)
	q := p.queryExpr()
	p.expect(tRParen)
	return q
}

// queryPrimary takes one SELECT, or a query in parentheses.
func (p *parser) queryPrimary() QueryExpr {
	if p.kw(wSelect) {
		return p.querySpec()
	}
	p.expect(tLParen)
	p.enter()
	q := p.setOps(p.queryPrimary(), 0)
	p.leave()
	p.expect(tRParen)
	return q
}

func (p *parser) atSetOp() bool {
	switch p.tok.word {
	case wUnion, wExcept, wIntersect:
		return true
	}
	return false
}

// setOps takes the set operators after left that bind tighter than floor:
// INTERSECT binds tighter than UNION and EXCEPT.
func (p *parser) setOps(left QueryExpr, floor int) QueryExpr {
	for p.atSetOp() {
		op := &SetOp{Pos: p.pos(), Kind: Union, L: left}
		prec := 1
		switch p.tok.word {
		case wExcept:
			op.Kind = Except
		case wIntersect:
			op.Kind = Intersect
			prec = 2
		}
		if prec <= floor {
			break
		}
		p.next()
		if op.Kind == Union && p.acceptKw(wAll) {
			op.Kind = UnionAll
		}
		op.R = p.setOps(p.queryPrimary(), prec)
		left = op
		if p.height++; p.height > maxHeight {
			p.failWith(p.tok, 191)
		}
	}
	return left
}

// queryTail takes ORDER BY, OFFSET, FETCH and FOR into q.
func (p *parser) queryTail(q QueryExpr) {
	var order []OrderItem
	var offset, fetch Expr
	var clause *ForClause
	if p.kw(wOrder) {
		order = p.orderBy()
		if p.acceptWord("OFFSET") {
			offset = p.expr()
			p.rowWord()
			if p.acceptKw(wFetch) {
				if !p.acceptWord("FIRST") {
					p.expectWord("NEXT")
				}
				fetch = p.expr()
				p.rowWord()
				p.expectWord("ONLY")
			}
		}
		p.resolveWindows()
	}
	if p.kw(wFor) {
		clause = p.forClause()
	}
	switch q := q.(type) {
	case *Select:
		q.OrderBy, q.Offset, q.Fetch, q.For = order, offset, fetch, clause
	case *SetOp:
		q.OrderBy, q.Offset, q.Fetch, q.For = order, offset, fetch, clause
	}
}

func (p *parser) rowWord() {
	if !p.acceptWord("ROW") {
		p.expectWord("ROWS")
	}
}

// orderBy takes ORDER BY and its items.
func (p *parser) orderBy() []OrderItem {
	p.expectKw(wOrder)
	p.expectKw(wBy)
	var items []OrderItem
	for {
		it := OrderItem{X: p.expr()}
		if p.acceptKw(wDesc) {
			it.Desc = true
		} else {
			p.acceptKw(wAsc)
		}
		items = append(items, it)
		if !p.accept(tComma) {
			return items
		}
	}
}

// querySpec takes SELECT … HAVING.
func (p *parser) querySpec() *Select {
	outerHeight, outerWindows := p.height, p.windows
	p.height, p.windows = 0, nil
	s := &Select{Pos: p.pos()}
	p.expectKw(wSelect)
	if p.acceptKw(wDistinct) {
		s.Distinct = true
	} else {
		p.acceptKw(wAll)
	}
	if p.kw(wTop) {
		s.Top = p.top(true)
	}
	s.Items = p.selectItems()
	if p.acceptKw(wInto) {
		n := p.name(3)
		s.Into = &n
		if p.acceptKw(wOn) {
			p.notSupported("SELECT INTO on a filegroup")
			p.ident()
		}
	}
	if p.acceptKw(wFrom) {
		s.From = p.fromList()
	}
	if p.acceptKw(wWhere) {
		s.Where = p.condition()
	}
	if p.acceptKw(wGroup) {
		s.GroupBy = p.groupBy()
	}
	if p.acceptKw(wHaving) {
		s.Having = p.condition()
	}
	p.windowDefs = nil
	if p.atWindowClause() {
		p.windowClause()
	}
	p.resolveWindows()
	p.height, p.windows = max(p.height, outerHeight), outerWindows
	return s
}

// top takes TOP; a bare number is allowed only in a SELECT.
func (p *parser) top(bare bool) *Top {
	t := &Top{Pos: p.pos()}
	p.expectKw(wTop)
	switch {
	case p.is(tLParen):
		t.N = p.parenthesised(false)
		if x, ok := t.N.(*Paren); ok {
			t.N = x.X
		}
	case bare && (p.is(tInt) || p.is(tDecimal) || p.is(tFloat)):
		t.N = p.literal()
	default:
		p.fail()
	}
	t.Percent = p.acceptKw(wPercent)
	if p.kw(wWith) && p.spells(p.peek(1), "TIES") {
		p.next()
		p.next()
		t.WithTies = true
	}
	return t
}

func (p *parser) selectItems() []SelectItem {
	items := make([]SelectItem, 0, 4)
	for {
		items = append(items, p.selectItem())
		if !p.accept(tComma) {
			return items
		}
	}
}

// assignOps are the operators of compound assignments.
func assignOp(k tokenKind) (op BinaryOp, ok bool) {
	switch k {
	case tPlusEq:
		return OpAdd, true
	case tMinusEq:
		return OpSub, true
	case tStarEq:
		return OpMul, true
	case tSlashEq:
		return OpDiv, true
	case tPercentEq:
		return OpMod, true
	case tAmpEq:
		return OpBitAnd, true
	case tPipeEq:
		return OpBitOr, true
	case tCaretEq:
		return OpBitXor, true
	}
	return 0, false
}

// assignment takes = or a compound assignment operator; op is nil for =.
func (p *parser) assignment() (op *BinaryOp) {
	if o, ok := assignOp(p.tok.kind); ok {
		op = &o
		p.next()
		return op
	}
	p.expect(tEq)
	return nil
}

func isAssignment(k tokenKind) bool {
	_, ok := assignOp(k)
	return ok || k == tEq
}

// selectItem takes one item of a select list or of OUTPUT.
func (p *parser) selectItem() SelectItem {
	it := SelectItem{Pos: p.pos()}
	switch {
	case p.is(tStar):
		p.next()
		it.X = &Star{Pos: it.Pos}
		return it
	case p.isVariable() && isAssignment(p.peek(1).kind):
		it.Assign = p.variable()
		it.AssignOp = p.assignment()
		it.X = p.expr()
		return it
	case (isIdent(p.tok) || p.isString()) && p.peek(1).kind == tEq:
		it.Alias = p.alias()
		p.next()
		it.X = p.expr()
		return it
	case isIdent(p.tok) && p.peek(1).kind == tDot:
		if n := p.starAfter(); n > 0 {
			it.X = p.qualifiedStar(n)
			return it
		}
	}
	it.X = p.expr()
	if p.acceptKw(wAs) {
		it.Alias = p.alias()
	} else if isIdent(p.tok) || p.isString() {
		it.Alias = p.alias()
	}
	return it
}

// alias takes a column alias, which may be written as a string.
func (p *parser) alias() Ident {
	if !p.isString() {
		return p.ident()
	}
	t := p.tok
	id := Ident{Pos: p.pos(), Name: p.stringText(), Quoted: true}
	if id.Name == "" {
		p.failWith(t, 1038)
	}
	p.checkLength(id.Name, t)
	return id
}

// starAfter returns the number of names in a.b.* at the current token, or 0.
func (p *parser) starAfter() int {
	for n := 1; 2*n <= lookahead; n++ {
		if p.peek(2*n-1).kind != tDot {
			return 0
		}
		t := p.peek(2 * n)
		if t.kind == tStar {
			return n
		}
		if !isIdent(t) {
			return 0
		}
	}
	return 0
}

func (p *parser) qualifiedStar(n int) *Star {
	s := &Star{Pos: p.pos()}
	for range n {
		s.Qualifier = append(s.Qualifier, p.ident())
		p.expect(tDot)
	}
	p.expect(tStar)
	return s
}

// with takes WITH and its common table expressions.
func (p *parser) with() []CTE {
	p.expectKw(wWith)
	if (p.word("XMLNAMESPACES") || p.word("CHANGE_TRACKING_CONTEXT")) && p.peek(1).kind == tLParen {
		p.notSupported("WITH " + strings.ToUpper(p.raw(p.tok)))
		p.next()
		p.next()
		p.skipParens()
		if !p.accept(tComma) {
			return nil
		}
	}
	var list []CTE
	for {
		c := CTE{Pos: p.pos(), Name: p.ident()}
		if p.is(tLParen) {
			c.Columns = p.parenIdents()
		}
		p.expectKw(wAs)
		c.Query = p.subquery()
		list = append(list, c)
		if !p.accept(tComma) {
			return list
		}
	}
}

// skipParens skips beyond the parenthesis that closes the one just taken.
func (p *parser) skipParens() {
	p.skipToClosing()
	p.next()
}

// skipToClosing skips to the parenthesis that closes the one just taken.
func (p *parser) skipToClosing() {
	for depth := 1; ; p.next() {
		switch p.tok.kind {
		case tLParen:
			depth++
		case tRParen:
			if depth--; depth == 0 {
				return
			}
		case tEOF:
			p.fail()
		}
	}
}
