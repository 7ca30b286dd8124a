package syntax

// begin takes what begins with BEGIN.
func (p *parser) begin() Statement {
	next := p.peek(1)
	switch {
	case next.word == wTran, next.word == wTransaction, next.word == wDistributed:
		return p.beginTran()
	case p.spells(next, "TRY"):
		return p.tryCatch()
	case p.spells(next, "DIALOG"):
		return p.unsupported("BEGIN DIALOG")
	case p.spells(next, "CONVERSATION"):
		return p.unsupported("BEGIN CONVERSATION TIMER")
	case p.spells(next, "ATOMIC"):
		p.notSupported("BEGIN ATOMIC")
		p.next()
		p.next()
		p.expectKw(wWith)
		p.expect(tLParen)
		p.skipParens()
		b := &Block{Pos: p.pos(), Body: p.block()}
		p.expectKw(wEnd)
		return b
	}
	b := &Block{Pos: p.pos()}
	p.next()
	b.Body = p.block()
	if b.Body == nil {
		p.fail()
	}
	p.expectKw(wEnd)
	return b
}

// block takes statements up to END, which it leaves.
func (p *parser) block() []Statement {
	p.nested++
	list := p.statements(p.atEnd)
	p.nested--
	if !p.kw(wEnd) {
		p.fail()
	}
	return list
}

// atEnd reports whether an END that is no END CONVERSATION follows.
func (p *parser) atEnd() bool {
	return p.kw(wEnd) && !p.spells(p.peek(1), "CONVERSATION")
}

func (p *parser) tryCatch() Statement {
	t := &TryCatch{Pos: p.pos()}
	p.next()
	p.next()
	t.Try = p.block()
	if t.Try == nil {
		p.fail()
	}
	p.next()
	p.expectWord("TRY")
	p.accept(tSemi)
	p.expectKw(wBegin)
	p.expectWord("CATCH")
	p.catch++
	t.Catch = p.block()
	p.catch--
	p.next()
	p.expectWord("CATCH")
	return t
}

func (p *parser) ifStmt() Statement {
	s := &If{Pos: p.pos()}
	p.next()
	s.Cond = p.condition()
	s.Then = p.branch()
	switch {
	case p.kw(wElse):
	case p.is(tSemi) && p.peek(1).word == wElse:
		p.next()
	default:
		return s
	}
	p.next()
	s.Else = p.branch()
	return s
}

func (p *parser) while() Statement {
	s := &While{Pos: p.pos()}
	p.next()
	s.Cond = p.condition()
	p.loops++
	s.Body = p.branch()
	p.loops--
	return s
}

func (p *parser) loopExit() Statement {
	t := p.tok
	p.next()
	if t.word == wBreak {
		if p.loops == 0 {
			p.failWith(t, 135)
		}
		return &Break{Pos: t.pos()}
	}
	if p.loops == 0 {
		p.failWith(t, 136)
	}
	return &Continue{Pos: t.pos()}
}

// returnStmt takes RETURN and, where one is allowed, its value.
func (p *parser) returnStmt() Statement {
	s := &Return{Pos: p.pos()}
	start := p.tok
	p.next()
	if !p.atExpr() {
		return s
	}
	s.X = p.expr()
	if p.module != inProcedure && p.module != inScalarFunction {
		p.failWith(start, 178)
	}
	return s
}

// atExpr reports whether the current token begins an expression rather than
// the next statement.
func (p *parser) atExpr() bool {
	switch p.tok.kind {
	case tQuoted, tVariable, tGlobal, tString, tNString, tInt, tDecimal, tFloat, tMoney, tBinary, tLParen,
		tLBrace, tPlus, tMinus, tTilde:
		return true
	case tWord:
		switch p.tok.word {
		case notReserved:
			return p.peek(1).kind != tColon && !p.word("THROW")
		case wNull, wCase, wConvert, wTryConvert, wCoalesce, wNullif, wLeft, wRight, wCurrentTimestamp,
			wUser, wCurrentUser, wSessionUser, wSystemUser:
			return true
		}
	}
	return false
}

// throw takes THROW; the bare form stands only in a CATCH block.
func (p *parser) throw() Statement {
	s := &Throw{Pos: p.pos()}
	start := p.tok
	p.next()
	if !p.is(tInt) && !p.isVariable() {
		if p.catch == 0 {
			p.failWith(start, 10704)
		}
		return s
	}
	s.Number = p.throwArg(tInt)
	p.expect(tComma)
	s.Message = p.throwArg(tString)
	p.expect(tComma)
	s.State = p.throwArg(tInt)
	return s
}

// throwArg takes a variable, or a constant of the given kind.
func (p *parser) throwArg(kind tokenKind) Expr {
	if !p.isVariable() && !p.is(kind) && !(kind == tString && p.isString()) {
		p.fail()
	}
	return p.constant()
}

// raiseError takes RAISERROR (…) WITH options.
func (p *parser) raiseError() Statement {
	s := &RaiseError{Pos: p.pos()}
	p.next()
	p.expect(tLParen)
	s.Message = p.constant()
	p.expect(tComma)
	s.Severity = p.constant()
	p.expect(tComma)
	s.State = p.constant()
	for p.accept(tComma) {
		s.Args = append(s.Args, p.constant())
	}
	p.expect(tRParen)
	if !p.kw(wWith) || !p.raiseOption(p.peek(1), s) {
		return s
	}
	p.next()
	for p.raiseOption(p.tok, s) {
		p.next()
		if !p.accept(tComma) {
			return s
		}
	}
	p.fail()
	return nil
}

// raiseOption notes the option that t is, and reports whether it is one.
func (p *parser) raiseOption(t token, s *RaiseError) bool {
	switch {
	case p.spells(t, "LOG"):
		s.Log = true
	case p.spells(t, "NOWAIT"):
		s.NoWait = true
	case p.spells(t, "SETERROR"):
		s.SetError = true
	default:
		return false
	}
	return true
}

func (p *parser) waitFor() Statement {
	s := &WaitFor{Pos: p.pos()}
	if p.peek(1).kind == tLParen {
		return p.unsupported("WAITFOR (statement)")
	}
	p.next()
	if p.acceptWord("TIME") {
		s.Time = true
	} else {
		p.expectWord("DELAY")
	}
	if !p.isString() && !p.isVariable() {
		p.fail()
	}
	s.X = p.constant()
	return s
}
