package syntax

import "strings"

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
		list = append(list, p.statement())
		start = p.accept(tSemi)
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

// labelSet are the labels of one batch or module.
type labelSet struct {
	defined []Ident
	uses    []Ident
}

func (l *labelSet) has(id Ident) bool {
	for _, d := range l.defined {
		if strings.EqualFold(d.Name, id.Name) {
			return true
		}
	}
	return false
}

func (l *labelSet) define(p *parser, id Ident) {
	if l.has(id) {
		p.failWith(token{line: id.Line}, 132, id.Name)
	}
	l.defined = append(l.defined, id)
}

// check fails at a GOTO whose label does not exist.
func (l *labelSet) check(p *parser) {
	for _, use := range l.uses {
		if !l.has(use) {
			p.failWith(token{line: use.Line}, 133, use.Name)
		}
	}
}
