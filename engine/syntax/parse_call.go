package syntax

// call takes the parenthesised arguments of a function and what may follow
// them.
func (p *parser) call(name Name) Expr {
	p.enter()
	defer p.leave()
	if name.Schema.Name == "" && name.Database.Name == "" && !name.Object.Quoted {
		if x := p.specialCall(name); x != nil {
			return x
		}
	}
	c := &Call{Pos: name.Pos, Name: name}
	p.expect(tLParen)
	switch {
	case p.is(tStar) && takesStar(name):
		c.Args = []Expr{&Star{Pos: p.pos()}}
		p.next()
		p.expect(tRParen)
	case p.kw(wDistinct), p.kw(wAll):
		c.Distinct = p.kw(wDistinct)
		p.next()
		c.Args = []Expr{p.expr()}
		for p.accept(tComma) {
			c.Args = append(c.Args, p.expr())
		}
		p.expect(tRParen)
	default:
		c.Args = p.arguments(name.Schema.Name != "")
	}
	p.callSuffix(c)
	p.height++
	return c
}

// takesStar reports whether f(*) is allowed.
func takesStar(name Name) bool {
	s := name.Object.Name
	switch len(s) {
	case len("COUNT"):
		return equalFold(s, "COUNT")
	case len("CHECKSUM"):
		return equalFold(s, "CHECKSUM")
	case len("COUNT_BIG"):
		return equalFold(s, "COUNT_BIG")
	case len("BINARY_CHECKSUM"):
		return equalFold(s, "BINARY_CHECKSUM")
	}
	return false
}

// arguments takes the arguments and the closing parenthesis.
func (p *parser) arguments(allowDefault bool) []Expr {
	if p.accept(tRParen) {
		return nil
	}
	args := make([]Expr, 0, 2)
	for {
		if allowDefault && p.kw(wDefault) {
			args = append(args, p.defaultValue())
		} else {
			args = append(args, p.expr())
		}
		if !p.accept(tComma) {
			p.expect(tRParen)
			return args
		}
	}
}

// defaultValue takes DEFAULT where a value stands.
func (p *parser) defaultValue() Expr {
	l := &Literal{Pos: p.pos(), Kind: LitDefault}
	p.next()
	return l
}

// callSuffix takes WITHIN GROUP, IGNORE NULLS and OVER.
func (p *parser) callSuffix(c *Call) {
	if p.word("WITHIN") && p.peek(1).word == wGroup {
		p.next()
		p.next()
		p.expect(tLParen)
		c.Within = p.orderBy()
		p.expect(tRParen)
	}
	if p.spells(p.tok, "IGNORE") && p.spells(p.peek(1), "NULLS") {
		p.next()
		p.next()
		p.notSupported("IGNORE NULLS")
	} else {
		p.acceptWords("RESPECT", "NULLS") // the default
	}
	if p.kw(wOver) {
		c.Over = p.over()
	}
}

// over takes OVER (…) or OVER name.
func (p *parser) over() *Over {
	o := &Over{Pos: p.pos()}
	p.expectKw(wOver)
	if isIdent(p.tok) {
		p.useWindow(o)
		return o
	}
	p.window(o)
	return o
}

// useWindow takes the name of the window that o refers to.
func (p *parser) useWindow(o *Over) {
	at := p.tok
	p.windows = append(p.windows, windowUse{over: o, at: at, name: p.ident().Name})
}

// window takes the parenthesised part of OVER and of WINDOW.
func (p *parser) window(o *Over) {
	p.expect(tLParen)
	if isIdent(p.tok) && !p.word("PARTITION") && !p.word("ROWS") && !p.word("RANGE") {
		p.useWindow(o)
	}
	if p.acceptWord("PARTITION") {
		p.expectKw(wBy)
		o.PartitionBy = p.exprList()
	}
	if p.kw(wOrder) {
		o.OrderBy = p.orderBy()
	}
	if p.word("ROWS") || p.word("RANGE") {
		o.Frame = p.frame()
	}
	p.expect(tRParen)
}

// frame takes ROWS or RANGE and its bounds.
func (p *parser) frame() *Frame {
	f := &Frame{Range: p.word("RANGE"), End: FrameBound{Kind: CurrentRow}}
	p.next()
	if !p.acceptKw(wBetween) {
		f.Start = p.frameBound()
		return f
	}
	f.Start = p.frameBound()
	p.expectKw(wAnd)
	f.End = p.frameBound()
	return f
}

func (p *parser) frameBound() FrameBound {
	switch {
	case p.acceptWord("UNBOUNDED"):
		if p.acceptWord("PRECEDING") {
			return FrameBound{Kind: UnboundedPreceding}
		}
		p.expectWord("FOLLOWING")
		return FrameBound{Kind: UnboundedFollowing}
	case p.acceptKw(wCurrent):
		p.expectWord("ROW")
		return FrameBound{Kind: CurrentRow}
	case p.is(tInt):
		b := FrameBound{Kind: OffsetPreceding, Offset: p.literal()}
		if !p.acceptWord("PRECEDING") {
			p.expectWord("FOLLOWING")
			b.Kind = OffsetFollowing
		}
		return b
	}
	p.fail()
	return FrameBound{}
}

// exprList takes values separated by commas.
func (p *parser) exprList() []Expr {
	list := []Expr{p.expr()}
	for p.accept(tComma) {
		list = append(list, p.expr())
	}
	return list
}

// specialCall takes a call whose arguments have a grammar of their own, or
// returns nil. The current token is the opening parenthesis.
func (p *parser) specialCall(name Name) Expr {
	s := name.Object.Name
	is := func(upper string) bool { return len(s) == len(upper) && equalFold(s, upper) }
	switch {
	case is("CAST"):
		return p.cast(name.Pos, FormCast, false)
	case is("TRY_CAST"):
		return p.cast(name.Pos, FormCast, true)
	case is("PARSE"):
		return p.cast(name.Pos, FormParse, false)
	case is("TRY_PARSE"):
		return p.cast(name.Pos, FormParse, true)
	case is("IIF"):
		return p.iif(name)
	case is("TRIM"):
		return p.trim(name)
	case is("MATCH"):
		p.notSupported("graph MATCH")
		p.next()
		p.skipParens()
		return &Call{Pos: name.Pos, Name: name, Predicate: true}
	case is("JSON_OBJECT"), is("JSON_ARRAY"), is("JSON_OBJECTAGG"), is("JSON_ARRAYAGG"):
		return p.jsonConstructor(name)
	}
	return nil
}

// cast takes (X AS Type) and the USING of PARSE.
func (p *parser) cast(pos Pos, form CastForm, try bool) Expr {
	c := &Cast{Pos: pos, Form: form, Try: try}
	p.expect(tLParen)
	c.X = p.expr()
	p.expectKw(wAs)
	c.Type = p.dataType()
	if form == FormParse && p.acceptWord("USING") {
		c.Style = p.expr()
	}
	p.expect(tRParen)
	p.height++
	return c
}

// convert takes CONVERT and TRY_CONVERT.
func (p *parser) convert() Expr {
	c := &Cast{Pos: p.pos(), Form: FormConvert, Try: p.kw(wTryConvert)}
	p.next()
	p.expect(tLParen)
	c.Type = p.dataType()
	p.expect(tComma)
	c.X = p.expr()
	if p.accept(tComma) {
		c.Style = p.expr()
	}
	p.expect(tRParen)
	p.height++
	return c
}

// iif takes IIF, whose first argument is a condition.
func (p *parser) iif(name Name) Expr {
	c := &Call{Pos: name.Pos, Name: name}
	p.expect(tLParen)
	c.Args = append(make([]Expr, 0, 3), p.condition())
	p.expect(tComma)
	c.Args = append(c.Args, p.arguments(false)...)
	p.height++
	return c
}

// trim takes TRIM(s), TRIM(c FROM s) and TRIM(LEADING c FROM s).
func (p *parser) trim(name Name) Expr {
	c := &Call{Pos: name.Pos, Name: name}
	p.expect(tLParen)
	side := ""
	if next := p.peek(1).kind; next != tRParen && next != tDot && next != tComma && next != tLParen {
		switch {
		case p.acceptWord("LEADING"):
			side = "LTRIM"
		case p.acceptWord("TRAILING"):
			side = "RTRIM"
		default:
			p.acceptWord("BOTH") // the default
		}
	}
	if side != "" {
		c.Name.Object.Name = side
	}
	first := p.expr()
	if p.acceptKw(wFrom) {
		c.Args = []Expr{p.expr(), first}
	} else if side != "" {
		p.fail()
	} else {
		c.Args = []Expr{first}
	}
	p.expect(tRParen)
	p.height++
	return c
}

// jsonConstructor takes the key: value pairs of JSON_OBJECT and its kin.
func (p *parser) jsonConstructor(name Name) Expr {
	c := &Call{Pos: name.Pos, Name: name}
	p.notSupported(name.Object.Name)
	p.expect(tLParen)
	for !p.is(tRParen) {
		if p.kw(wNull) && p.peek(1).word == wOn || p.word("ABSENT") {
			p.next()
			p.expectKw(wOn)
			p.expectKw(wNull)
			break
		}
		c.Args = append(c.Args, p.expr())
		if p.accept(tColon) {
			c.Args = append(c.Args, p.expr())
		}
		if p.kw(wNull) || p.word("ABSENT") {
			continue
		}
		if !p.accept(tComma) {
			break
		}
	}
	p.expect(tRParen)
	p.callSuffix(c)
	return c
}
