package syntax

// batch takes all statements of the text.
func (p *parser) batch() []Statement {
	p.labels = labelSet{}
	list := p.statements(func() bool { return false })
	p.labels.check(p)
	return list
}

// statements takes statements up to the end of the text or to where end holds.
func (p *parser) statements(end func() bool) []Statement {
	var list []Statement
	start := true // WITH and THROW need no semicolon before them here
	for {
		for p.accept(tSemi) {
			start = true
		}
		if p.is(tEOF) || end() {
			return list
		}
		if !start {
			p.needsTerminator()
		}
		s := p.statement()
		list = append(list, s)
		_, label := s.(*Label)
		start = p.accept(tSemi) || label
	}
}

// needsTerminator fails at a statement that must follow a semicolon.
func (p *parser) needsTerminator() {
	switch {
	case p.kw(wWith):
		p.fail()
	case p.word("THROW") && p.peek(1).kind != tColon:
		p.fail()
	}
}

// statement takes one statement without the semicolon that ends it. When it
// needs something that the tree cannot hold, the result is an Unsupported.
func (p *parser) statement() Statement {
	p.enter()
	feature := p.feature
	p.feature, p.height = "", 0
	start := p.tok
	s := p.anyStatement()
	if p.tok.off == start.off {
		p.fail() // nothing was taken: a defect, but never an endless loop
	}
	if _, ok := s.(*Merge); ok && !p.is(tSemi) {
		p.failWith(p.last, 10713)
	}
	if p.feature != "" {
		s = &Unsupported{Pos: start.pos(), Feature: p.feature, Text: p.textFrom(start.off)}
	}
	p.feature = feature
	p.leave()
	return s
}

// branch takes the statement of IF, ELSE and WHILE.
func (p *parser) branch() Statement {
	p.nested++
	s := p.statement()
	p.nested--
	return s
}

// anyStatement takes a statement by its first word.
func (p *parser) anyStatement() Statement {
	if p.tok.kind == tLParen {
		return p.selectStmt(nil)
	}
	if p.tok.kind != tWord && p.tok.kind != tQuoted {
		p.fail()
	}
	if p.tok.word == notReserved {
		return p.wordStatement()
	}
	switch p.tok.word {
	case wSelect, wInsert, wDelete, wMerge:
		return p.dml(nil)
	case wUpdate:
		if p.peek(1).word == wStatistics {
			return p.unsupported("UPDATE STATISTICS")
		}
		return p.dml(nil)
	case wWith:
		return p.dml(p.with())
	case wBegin:
		return p.begin()
	case wIf:
		return p.ifStmt()
	case wWhile:
		return p.while()
	case wBreak, wContinue:
		return p.loopExit()
	case wGoto:
		s := &Goto{Pos: p.pos()}
		p.next()
		s.Label = p.ident()
		p.labels.uses = append(p.labels.uses, s.Label)
		return s
	case wReturn:
		return p.returnStmt()
	case wDeclare:
		return p.declare()
	case wSet:
		return p.set()
	case wExec, wExecute:
		if p.peek(1).word == wAs {
			return p.executeAs()
		}
		return p.exec()
	}
	return p.otherStatement()
}

// otherStatement takes the statements that hot procedures do not consist of.
func (p *parser) otherStatement() Statement {
	switch p.tok.word {
	case wPrint:
		s := &Print{Pos: p.pos()}
		p.next()
		s.X = p.expr()
		return s
	case wRaiserror:
		return p.raiseError()
	case wWaitfor:
		return p.waitFor()
	case wCommit, wRollback, wSave:
		return p.endTran()
	case wUse:
		s := &Use{Pos: p.pos()}
		p.next()
		s.Database = p.ident()
		return s
	case wOpen, wClose, wDeallocate:
		return p.cursorOp()
	case wFetch:
		return p.fetch()
	case wTruncate:
		s := &Truncate{Pos: p.pos()}
		p.next()
		p.expectKw(wTable)
		s.Table = p.name(3)
		if p.kw(wWith) && p.peek(1).kind == tLParen {
			p.notSupported("TRUNCATE TABLE of partitions")
			p.next()
			p.next()
			p.skipParens()
		}
		return s
	case wRevert:
		return p.revert()
	case wKill:
		return p.kill()
	case wCheckpoint:
		s := &Checkpoint{Pos: p.pos()}
		p.next()
		if p.is(tInt) {
			p.notSupported("CHECKPOINT with a duration")
			p.next()
		}
		return s
	case wReconfigure:
		s := &Reconfigure{Pos: p.pos()}
		p.next()
		if p.kw(wWith) && p.spells(p.peek(1), "OVERRIDE") {
			p.next()
			p.next()
		}
		return s
	case wCreate:
		return p.create()
	case wAlter:
		return p.alter()
	case wDrop:
		return p.drop()
	case wGrant, wDeny, wRevoke:
		return p.grant()
	}
	return p.reservedUnsupported()
}

// wordStatement takes a statement that begins with an ordinary identifier.
func (p *parser) wordStatement() Statement {
	pos := p.pos()
	next := p.peek(1)
	if next.kind == tColon {
		l := &Label{Pos: pos, Name: p.ident()}
		p.next()
		p.labels.define(p, l.Name)
		return l
	}
	if p.tok.kind == tWord {
		switch {
		case p.word("THROW"):
			return p.throw()
		case (p.word("ENABLE") || p.word("DISABLE")) && next.word == wTrigger:
			return p.enableTrigger()
		}
		if s := p.contextualUnsupported(next); s != nil {
			return s
		}
	}
	// The first statement of a batch may be a procedure without EXEC.
	if p.tok.off == p.first {
		return p.execProc(&Exec{Pos: pos})
	}
	p.fail()
	return nil
}
