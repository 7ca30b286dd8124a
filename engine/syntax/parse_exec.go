package syntax

import "strings"

// exec takes EXEC of a procedure or of a string.
func (p *parser) exec() *Exec {
	s := &Exec{Pos: p.pos()}
	p.next()
	if p.is(tLParen) {
		return p.execString(s)
	}
	return p.execProc(s)
}

// execString takes the parenthesised string of EXEC and what follows it.
func (p *parser) execString(s *Exec) *Exec {
	p.next()
	for {
		if !p.isString() && !p.isVariable() {
			p.fail()
		}
		s.Strings = append(s.Strings, p.constant())
		if !p.accept(tPlus) {
			break
		}
	}
	for p.accept(tComma) {
		s.Args = append(s.Args, p.execArg())
	}
	p.expect(tRParen)
	if p.acceptKw(wAs) {
		c := p.executeContext()
		s.As = &c
	}
	if p.word("AT") && isIdent(p.peek(1)) {
		p.next()
		s.Server = p.ident()
	} else if s.Args != nil {
		p.fail()
	}
	p.execWith(s)
	return s
}

// execProc takes [@rc =] name and its arguments.
func (p *parser) execProc(s *Exec) *Exec {
	if p.isVariable() && p.peek(1).kind == tEq {
		s.Return = p.variable()
		p.next()
	}
	if p.isVariable() {
		s.ProcVar = p.variable()
	} else {
		n := p.name(4)
		s.Proc = &n
	}
	if p.is(tSemi) && p.peek(1).kind == tInt {
		p.next()
		if p.raw(p.tok) != "1" {
			p.notSupported("numbered procedures")
		}
		p.next()
	}
	if p.atExecArg() {
		s.Args = append(s.Args, p.execArg())
		for p.accept(tComma) {
			s.Args = append(s.Args, p.execArg())
		}
	}
	p.execWith(s)
	return s
}

// atExecArg reports whether an argument follows.
func (p *parser) atExecArg() bool {
	switch p.tok.kind {
	case tVariable, tGlobal, tString, tNString, tInt, tDecimal, tFloat, tMoney, tBinary, tMinus, tPlus, tQuoted:
		return true
	case tWord:
		w := p.tok.word
		return w == wNull || w == wDefault || w == notReserved && p.peek(1).kind != tColon
	}
	return false
}

// execArg takes one argument.
func (p *parser) execArg() ExecArg {
	a := ExecArg{Pos: p.pos()}
	if p.isVariable() && p.peek(1).kind == tEq {
		a.Name = p.variable()
		p.next()
	}
	switch {
	case p.kw(wDefault):
		a.X = p.defaultValue()
	case isIdent(p.tok):
		// A bare word is a string.
		t := p.tok
		id := p.ident()
		a.X = &Literal{Pos: t.pos(), Kind: LitNString, Text: id.Name}
	default:
		isVar := p.isVariable()
		a.X = p.constant()
		switch {
		case !p.word("OUTPUT") && !p.word("OUT"):
		case isVar:
			p.next()
			a.Output = true
		default:
			p.failWith(p.tok, 179)
		}
	}
	return a
}

// constant takes what may stand where T-SQL takes no expression: a literal with
// or without a sign, NULL, or a variable.
func (p *parser) constant() Expr {
	switch p.tok.kind {
	case tVariable:
		return p.variableExpr()
	case tGlobal:
		return p.global()
	case tMinus, tPlus:
		u := &Unary{Pos: p.pos(), Op: OpMinus}
		if p.is(tPlus) {
			u.Op = OpPlus
		}
		p.next()
		switch p.tok.kind {
		case tInt, tDecimal, tFloat, tMoney:
			u.X = p.literal()
		default:
			p.fail()
		}
		return u
	}
	if p.kw(wNull) {
		l := &Literal{Pos: p.pos(), Kind: LitNull}
		p.next()
		return l
	}
	return p.literal()
}

// execWith takes WITH RECOMPILE and WITH RESULT SETS.
func (p *parser) execWith(s *Exec) {
	if !p.kw(wWith) {
		return
	}
	next := p.peek(1)
	if !p.spells(next, "RECOMPILE") && !p.spells(next, "RESULT") {
		return
	}
	p.next()
	for {
		if p.acceptWord("RECOMPILE") {
			s.With = append(s.With, "RECOMPILE")
		} else {
			p.expectWord("RESULT")
			p.expectWord("SETS")
			switch {
			case p.acceptWord("UNDEFINED"):
				s.With = append(s.With, "RESULT SETS UNDEFINED")
			case p.acceptWord("NONE"):
				s.With = append(s.With, "RESULT SETS NONE")
			default:
				p.notSupported("WITH RESULT SETS")
				p.expect(tLParen)
				p.skipParens()
			}
		}
		if !p.accept(tComma) {
			return
		}
	}
}

// executeContext takes CALLER, SELF, OWNER, USER = 'x', LOGIN = 'x' or 'x'.
func (p *parser) executeContext() ExecuteContext {
	c := ExecuteContext{Pos: p.pos()}
	switch {
	case p.acceptWord("CALLER"), p.acceptWord("SELF"), p.acceptWord("OWNER"):
		c.Kind = strings.ToUpper(p.raw(p.last))
	case p.kw(wUser), p.word("LOGIN"):
		c.Kind = p.anyWord()
		p.expect(tEq)
		c.Name = p.contextName()
	case p.isString():
		c.Kind = "USER"
		c.Name = p.literal()
	default:
		p.fail()
	}
	return c
}

func (p *parser) contextName() Expr {
	if !p.isString() && !p.isVariable() {
		p.fail()
	}
	return p.constant()
}

// executeAs takes the statement EXECUTE AS.
func (p *parser) executeAs() Statement {
	s := &ExecuteAs{Pos: p.pos()}
	p.next()
	p.next()
	if !p.kw(wUser) && !p.word("LOGIN") && !p.word("CALLER") {
		p.fail()
	}
	s.Context = p.executeContext()
	if p.kw(wWith) && (p.spells(p.peek(1), "NO") || p.spells(p.peek(1), "COOKIE")) {
		p.next()
		if p.acceptWord("NO") {
			p.expectKw(wRevert)
			s.Context.NoRevert = true
		} else {
			p.next()
			p.expectKw(wInto)
			s.Context.CookieInto = p.variable()
		}
	}
	return s
}

func (p *parser) revert() Statement {
	s := &Revert{Pos: p.pos()}
	p.next()
	if p.kw(wWith) && p.spells(p.peek(1), "COOKIE") {
		p.next()
		p.next()
		p.expect(tEq)
		s.Cookie = p.constant()
	}
	return s
}

func (p *parser) kill() Statement {
	s := &Kill{Pos: p.pos()}
	p.next()
	if p.word("QUERY") || p.word("STATS") {
		return p.unsupportedFrom(s.Pos, "KILL "+p.anyWord())
	}
	if p.isString() { // a distributed transaction by its identifier
		p.notSupported("KILL of a unit of work")
	}
	s.Session = p.constant()
	if p.kw(wWith) && p.spells(p.peek(1), "STATUSONLY") {
		p.next()
		p.next()
		p.notSupported("KILL WITH STATUSONLY")
	}
	return s
}
