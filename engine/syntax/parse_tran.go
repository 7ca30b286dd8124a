package syntax

// beginTran takes BEGIN [DISTRIBUTED] TRAN.
func (p *parser) beginTran() Statement {
	s := &BeginTran{Pos: p.pos()}
	p.next()
	s.Distributed = p.acceptKw(wDistributed)
	p.tranWord()
	s.Name = p.tranName()
	if p.kw(wWith) && p.spells(p.peek(1), "MARK") {
		p.next()
		p.next()
		s.Mark = true
		if p.isString() || p.isVariable() {
			s.MarkText = p.constant()
		}
	}
	return s
}

func (p *parser) tranWord() {
	if !p.acceptKw(wTran) {
		p.expectKw(wTransaction)
	}
}

// tranName takes the name of a transaction or savepoint, or nothing. A word
// that follows is always the name, even one that begins a statement.
func (p *parser) tranName() Expr {
	switch {
	case isIdent(p.tok):
		id := p.ident()
		return &Literal{Pos: id.Pos, Kind: LitNString, Text: id.Name}
	case p.isVariable():
		return p.constant()
	}
	return nil
}

// endTran takes COMMIT, ROLLBACK and SAVE.
func (p *parser) endTran() Statement {
	pos, w := p.pos(), p.tok.word
	p.next()
	switch w {
	case wSave:
		p.tranWord()
		s := &SaveTran{Pos: pos, Name: p.tranName()}
		if s.Name == nil {
			p.fail()
		}
		return s
	case wRollback:
		s := &RollbackTran{Pos: pos}
		if !p.acceptWord("WORK") && (p.acceptKw(wTran) || p.acceptKw(wTransaction)) {
			s.Name = p.tranName()
		}
		return s
	}
	s := &CommitTran{Pos: pos}
	if !p.acceptWord("WORK") && (p.acceptKw(wTran) || p.acceptKw(wTransaction)) {
		s.Name = p.tranName()
	}
	if p.kw(wWith) && p.peek(1).kind == tLParen && p.spells(p.peek(2), "DELAYED_DURABILITY") {
		p.next()
		p.next()
		p.next()
		p.expect(tEq)
		s.DelayedDurability = p.onOff()
		p.expect(tRParen)
	}
	return s
}

// ---------------------------------------------------------------- cursors

// cursorOptions are the options after CURSOR.
var cursorOptions = map[string]bool{
	"LOCAL": true, "GLOBAL": true, "FORWARD_ONLY": true, "SCROLL": true, "STATIC": true, "KEYSET": true,
	"DYNAMIC": true, "FAST_FORWARD": true, "READ_ONLY": true, "SCROLL_LOCKS": true, "OPTIMISTIC": true,
	"TYPE_WARNING": true,
}

// declareCursor takes DECLARE name CURSOR after DECLARE.
func (p *parser) declareCursor(pos Pos) Statement {
	s := &DeclareCursor{Pos: pos, Name: p.ident()}
	var before []string
	for p.word("INSENSITIVE") || p.word("SCROLL") {
		before = append(before, p.anyWord())
	}
	if !p.kw(wCursor) {
		p.fail()
	}
	s.Def = p.cursorDef()
	s.Def.Options = append(before, s.Def.Options...)
	return s
}

// cursorDef takes CURSOR options FOR select [FOR UPDATE [OF …]].
func (p *parser) cursorDef() CursorDef {
	d := CursorDef{Pos: p.pos()}
	p.expectKw(wCursor)
	for !p.kw(wFor) {
		t := p.tok
		option := p.anyWord()
		if !cursorOptions[option] {
			p.failAt(t)
		}
		d.Options = append(d.Options, option)
	}
	p.next()
	var with []CTE
	if p.kw(wWith) {
		with = p.with()
	}
	if !p.kw(wSelect) && !p.is(tLParen) {
		p.fail()
	}
	d.Select, _ = p.selectStmt(with).(*SelectStmt)
	if p.acceptKw(wFor) {
		if p.acceptKw(wRead) {
			p.expectWord("ONLY")
			d.Options = append(d.Options, "READ_ONLY")
			return d
		}
		p.expectKw(wUpdate)
		d.ForUpdate = true
		if p.acceptKw(wOf) {
			d.Update = p.identList()
		}
	}
	return d
}

// cursorName takes [GLOBAL] name or @variable.
func (p *parser) cursorName() (name string, global bool) {
	if p.isVariable() {
		return p.variable(), false
	}
	if p.word("GLOBAL") && isIdent(p.peek(1)) {
		global = true
		p.next()
	}
	return p.ident().Name, global
}

// cursorOp takes OPEN, CLOSE and DEALLOCATE.
func (p *parser) cursorOp() Statement {
	s := &CursorOp{Pos: p.pos()}
	next := p.peek(1)
	if p.spells(next, "SYMMETRIC") || p.spells(next, "MASTER") || next.word == wAll {
		return p.unsupported("encryption keys")
	}
	s.Op = p.anyWord()
	s.Name, s.Global = p.cursorName()
	return s
}

// fetch takes FETCH [[direction] FROM] cursor [INTO …].
func (p *parser) fetch() Statement {
	s := &Fetch{Pos: p.pos(), Direction: "NEXT"}
	p.next()
	directed := false
	if p.tok.kind == tWord {
		switch next := p.peek(1); {
		case next.word == wFrom && (p.word("NEXT") || p.word("PRIOR") || p.word("FIRST") || p.word("LAST")):
			s.Direction = p.anyWord()
			directed = true
		case p.word("ABSOLUTE") || p.word("RELATIVE"):
			s.Direction = p.anyWord()
			s.N = p.constant()
			directed = true
		}
	}
	if directed {
		p.expectKw(wFrom)
	} else {
		p.acceptKw(wFrom)
	}
	s.Name, s.Global = p.cursorName()
	if p.acceptKw(wInto) {
		s.Into = append(s.Into, p.variable())
		for p.accept(tComma) {
			s.Into = append(s.Into, p.variable())
		}
	}
	return s
}
