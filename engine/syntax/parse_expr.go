package syntax

// Binding powers of the operators, from the weakest. Comparisons do not chain.
const (
	precOr = iota + 1
	precAnd
	precNot
	precCompare
	precAdd // + - & ^ |
	precMul // * / %
)

// binaryOps gives the operator and the binding power of a token.
func binaryOp(k tokenKind) (op BinaryOp, prec int) {
	switch k {
	case tPlus:
		return OpAdd, precAdd
	case tMinus:
		return OpSub, precAdd
	case tAmp:
		return OpBitAnd, precAdd
	case tPipe:
		return OpBitOr, precAdd
	case tCaret:
		return OpBitXor, precAdd
	case tStar:
		return OpMul, precMul
	case tSlash:
		return OpDiv, precMul
	case tShift: // refused where it is taken
		return OpMul, precMul
	case tPercent:
		return OpMod, precMul
	case tEq:
		return OpEq, precCompare
	case tNe:
		return OpNe, precCompare
	case tLt:
		return OpLt, precCompare
	case tGt:
		return OpGt, precCompare
	case tLe, tNotGt:
		return OpLe, precCompare
	case tGe, tNotLt:
		return OpGe, precCompare
	}
	return 0, 0
}

// isCondition reports whether x is a condition and not a value.
func isCondition(x Expr) bool {
	switch x := x.(type) {
	case *Binary:
		return x.Op >= OpAnd
	case *Unary:
		return x.Op == OpNot
	case *Paren:
		return isCondition(x.X)
	case *IsNull, *IsDistinct, *Between, *In, *Like, *Exists, *Quantified:
		return true
	case *Call:
		return x.Predicate
	}
	return false
}

// expr takes a value. A condition is a syntax error.
func (p *parser) expr() Expr { return p.binary(precAdd) }

// anyExpr takes a value or a condition.
func (p *parser) anyExpr() Expr { return p.binary(precOr) }

// condition takes a condition. A value in its place is error 4145.
func (p *parser) condition() Expr {
	x := p.binary(precOr)
	p.mustBeCondition(x)
	return x
}

func (p *parser) mustBeCondition(x Expr) {
	if isCondition(x) {
		return
	}
	t := p.tok
	if t.kind == tEOF {
		t = p.last
	}
	p.failWith(t, 4145, clip(p.lex.near(t)))
}

// binary takes an expression whose operators bind at least as tight as floor.
// With a floor above precCompare that is always a value.
func (p *parser) binary(floor int) Expr {
	p.enter()
	outer := p.height
	p.height = 0
	left := p.operand(floor)
	for {
		next := p.operator(left, floor)
		if next == nil {
			break
		}
		left = next
		if p.height++; p.height > maxHeight {
			p.failWith(p.tok, 191)
		}
	}
	p.height = max(p.height, outer)
	p.leave()
	return left
}

// operand takes what stands before the first binary operator.
func (p *parser) operand(floor int) Expr {
	if floor <= precNot && p.kw(wNot) {
		n := &Unary{Pos: p.pos(), Op: OpNot}
		p.next()
		n.X = p.binary(precNot)
		p.mustBeCondition(n.X)
		return n
	}
	return p.unary(floor <= precCompare)
}

// operator takes the operator after left and its right side, or returns nil
// when none that binds tight enough follows.
func (p *parser) operator(left Expr, floor int) Expr {
	pos := p.pos()
	if w := p.tok.word; w != notReserved {
		switch {
		case w == wAnd && floor <= precAnd:
			return p.logical(left, OpAnd, precAnd)
		case w == wOr && floor <= precOr:
			return p.logical(left, OpOr, precOr)
		case floor <= precCompare:
			if isCondition(left) {
				return nil
			}
			return p.predicate(left, pos)
		}
		return nil
	}
	op, prec := binaryOp(p.tok.kind)
	if prec == 0 || prec < floor || isCondition(left) {
		return nil
	}
	if prec == precCompare {
		return p.comparison(left, op, pos)
	}
	if p.is(tShift) {
		p.notSupported("shift operators")
	}
	p.next()
	// Operators of one level associate to the left.
	return &Binary{Pos: pos, Op: op, L: left, R: p.binary(prec + 1)}
}

func (p *parser) logical(left Expr, op BinaryOp, prec int) Expr {
	p.mustBeCondition(left)
	b := &Binary{Pos: p.pos(), Op: op, L: left}
	p.next()
	b.R = p.binary(prec + 1)
	p.mustBeCondition(b.R)
	return b
}

// comparison takes = and its kin, quantified ones included.
func (p *parser) comparison(left Expr, op BinaryOp, pos Pos) Expr {
	k := p.tok.kind
	p.next()
	// T-SQL lets blanks stand inside <= >= <> != !< !>; a lone ! never gets here.
	switch {
	case k == tLt && p.is(tEq):
		op = OpLe
		p.next()
	case k == tLt && p.is(tGt):
		op = OpNe
		p.next()
	case k == tGt && p.is(tEq):
		op = OpGe
		p.next()
	}
	if p.kw(wAll) || p.kw(wAny) || p.kw(wSome) {
		q := &Quantified{Pos: pos, Op: op, All: p.kw(wAll), L: left}
		p.next()
		q.Query = p.subquery()
		return q
	}
	return &Binary{Pos: pos, Op: op, L: left, R: p.binary(precAdd)}
}

// predicate takes IS, IN, LIKE and BETWEEN, or returns nil.
func (p *parser) predicate(left Expr, pos Pos) Expr {
	not := false
	if p.kw(wNot) {
		switch p.peek(1).word {
		case wIn, wLike, wBetween:
			not = true
			p.next()
		default:
			return nil
		}
	}
	switch p.tok.word {
	case wIs:
		p.next()
		return p.isPredicate(left, pos)
	case wIn:
		p.next()
		return p.inPredicate(left, pos, not)
	case wLike:
		p.next()
		l := &Like{Pos: pos, X: left, Not: not, Pattern: p.binary(precAdd)}
		switch {
		case p.acceptKw(wEscape):
			l.Escape = p.binary(precAdd)
		case p.is(tLBrace) && p.peek(1).word == wEscape: // {escape 'x'}
			p.next()
			p.next()
			l.Escape = p.binary(precAdd)
			p.expect(tRBrace)
		}
		return l
	case wBetween:
		p.next()
		b := &Between{Pos: pos, X: left, Not: not, Low: p.binary(precAdd)}
		p.expectKw(wAnd)
		b.High = p.binary(precAdd)
		return b
	}
	return nil
}

func (p *parser) isPredicate(left Expr, pos Pos) Expr {
	not := p.acceptKw(wNot)
	if p.acceptKw(wNull) {
		return &IsNull{Pos: pos, X: left, Not: not}
	}
	p.expectKw(wDistinct)
	p.expectKw(wFrom)
	return &IsDistinct{Pos: pos, L: left, R: p.binary(precAdd), Not: not}
}

func (p *parser) inPredicate(left Expr, pos Pos, not bool) Expr {
	in := &In{Pos: pos, X: left, Not: not}
	p.expect(tLParen)
	if p.kw(wSelect) {
		in.Query = p.queryExpr()
		p.expect(tRParen)
		return in
	}
	in.List = append(in.List, p.expr())
	if p.atSetOp() {
		// ((SELECT …) UNION SELECT …)
		sub, ok := in.List[0].(*Subquery)
		if !ok {
			p.fail()
		}
		in.Query, in.List = p.setOps(sub.Query, 0), nil
	}
	for in.Query == nil && p.accept(tComma) {
		in.List = append(in.List, p.expr())
	}
	p.expect(tRParen)
	return in
}

// unary takes the signs before a primary. conditions allows a parenthesised
// condition or a predicate that begins with a keyword.
func (p *parser) unary(conditions bool) Expr {
	var op UnaryOp
	switch p.tok.kind {
	case tPlus:
		op = OpPlus
	case tMinus:
		op = OpMinus
	case tTilde:
		op = OpBitNot
	default:
		return p.postfix(p.primary(conditions))
	}
	u := &Unary{Pos: p.pos(), Op: op}
	p.next()
	p.enter()
	u.X = p.unary(false)
	p.leave()
	p.height++
	return u
}

// postfix takes COLLATE, AT TIME ZONE and method calls.
func (p *parser) postfix(x Expr) Expr {
	for {
		switch {
		case p.kw(wCollate) && !isCondition(x):
			c := &Collate{Pos: p.pos(), X: x}
			p.next()
			c.Collation = p.collation()
			x = c
		case p.word("AT") && p.spells(p.peek(1), "TIME") && p.spells(p.peek(2), "ZONE"):
			a := &AtTimeZone{Pos: p.pos(), X: x}
			p.next()
			p.next()
			p.next()
			a.Zone = p.primary(false)
			x = a
		case p.is(tDot) && canHaveMethod(x):
			p.next()
			x = p.method(x)
		default:
			return x
		}
		if p.height++; p.height > maxHeight {
			p.failWith(p.tok, 191)
		}
	}
}

// canHaveMethod reports whether .name(…) may follow x directly.
func canHaveMethod(x Expr) bool {
	switch x := x.(type) {
	case *Variable, *Subquery:
		return true
	case *Call:
		return !x.NoParens
	case *Paren:
		return !isCondition(x.X)
	case *Cast:
		return true
	}
	return false
}

// method takes the name and the arguments of a method call on x.
func (p *parser) method(x Expr) *Call {
	c := &Call{Pos: p.pos(), Receiver: x}
	id := p.ident()
	c.Name = Name{Pos: id.Pos, Object: id}
	p.expect(tLParen)
	c.Args = p.arguments(false)
	return c
}

func (p *parser) collation() Ident {
	if p.word("DATABASE_DEFAULT") {
		return p.takeIdent()
	}
	return p.ident()
}

// parenthesised takes what stands in parentheses: a query, a value or, when
// conditions is set, a condition.
func (p *parser) parenthesised(conditions bool) Expr {
	pos := p.pos()
	p.expect(tLParen)
	if p.kw(wSelect) {
		s := &Subquery{Pos: pos, Query: p.queryExpr()}
		p.expect(tRParen)
		return s
	}
	floor := precAdd
	if conditions {
		floor = precOr
	}
	x := p.binary(floor)
	if sub, ok := x.(*Subquery); ok && p.atSetOp() {
		// ((SELECT …) UNION SELECT …)
		s := &Subquery{Pos: pos, Query: p.setOps(sub.Query, 0)}
		p.expect(tRParen)
		return s
	}
	p.expect(tRParen)
	p.height++
	return &Paren{Pos: pos, X: x}
}

// caseExpr takes CASE … END.
func (p *parser) caseExpr() Expr {
	c := &Case{Pos: p.pos()}
	p.next()
	if !p.kw(wWhen) {
		c.Input = p.expr()
	}
	for p.acceptKw(wWhen) {
		var w When
		if c.Input == nil {
			w.Cond = p.condition()
		} else {
			w.Cond = p.expr()
		}
		p.expectKw(wThen)
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if c.Whens == nil {
		p.fail()
	}
	if p.acceptKw(wElse) {
		c.Else = p.expr()
	}
	p.expectKw(wEnd)
	p.height++
	return c
}
