package syntax

// constraint takes a constraint of a table, or of a column when table is false.
func (p *parser) constraint(table bool) Constraint {
	c := Constraint{Pos: p.pos()}
	if p.acceptKw(wConstraint) {
		c.Name = p.ident()
	}
	switch p.tok.word {
	case wPrimary:
		p.next()
		p.expectKw(wKey)
		c.Kind = PrimaryKey
		p.keyConstraint(&c, table)
	case wUnique:
		p.next()
		c.Kind = UniqueKey
		p.keyConstraint(&c, table)
	case wForeign:
		p.next()
		p.expectKw(wKey)
		c.Kind = ForeignKey
		if table || p.is(tLParen) {
			for _, id := range p.parenIdents() {
				c.Columns = append(c.Columns, IndexColumn{Name: id})
			}
		}
		p.references(&c)
	case wReferences:
		if table {
			p.fail()
		}
		c.Kind = ForeignKey
		p.references(&c)
	case wCheck:
		p.checkConstraint(&c)
	case wDefault:
		p.defaultConstraint(&c, table)
	default:
		p.fail()
	}
	return c
}

// keyConstraint takes the rest of PRIMARY KEY and UNIQUE.
func (p *parser) keyConstraint(c *Constraint, table bool) {
	if p.kw(wClustered) || p.kw(wNonclustered) {
		c.Clustered = boolPtr(p.kw(wClustered))
		p.next()
	}
	if p.acceptWord("HASH") {
		p.notSupported("HASH indexes")
	}
	if table || p.is(tLParen) {
		c.Columns = p.indexColumns()
	}
	if p.kw(wWith) {
		next := p.peek(1)
		switch {
		case next.kind == tLParen:
			p.next()
			c.Options = p.indexOptions()
		case next.word == wFillfactor:
			p.next()
			p.next()
			p.expect(tEq)
			c.Options = []IndexOption{{"FILLFACTOR", p.optionValue()}}
		}
	}
	if p.acceptKw(wOn) {
		c.FileGroup = p.fileGroup()
	}
}

// references takes REFERENCES and the actions of a foreign key.
func (p *parser) references(c *Constraint) {
	p.expectKw(wReferences)
	c.RefTable = p.name(3)
	if p.is(tLParen) {
		c.RefColumns = p.parenIdents()
	}
	for {
		switch {
		case p.kw(wOn) && (p.peek(1).word == wDelete || p.peek(1).word == wUpdate):
			p.next()
			if p.acceptKw(wDelete) {
				c.OnDelete = p.referentialAction()
			} else {
				p.next()
				c.OnUpdate = p.referentialAction()
			}
		case p.kw(wNot) && p.peek(1).word == wFor:
			p.next()
			p.replication()
			c.NotForReplication = true
		default:
			return
		}
	}
}

func (p *parser) referentialAction() string {
	switch {
	case p.acceptKw(wCascade):
		return "CASCADE"
	case p.acceptWords("NO", "ACTION"):
		return "NO ACTION"
	case p.acceptKw(wSet):
		if p.acceptKw(wNull) {
			return "SET NULL"
		}
		p.expectKw(wDefault)
		return "SET DEFAULT"
	}
	p.fail()
	return ""
}

func (p *parser) checkConstraint(c *Constraint) {
	c.Kind = CheckConstraint
	p.next()
	if p.acceptKw(wNot) {
		p.replication()
		c.NotForReplication = true
	}
	start := p.tok.off
	p.expect(tLParen)
	pos := p.last.pos()
	c.Check = &Paren{Pos: pos, X: p.condition()}
	p.expect(tRParen)
	c.Text = p.textFrom(start)
}

func (p *parser) defaultConstraint(c *Constraint, table bool) {
	c.Kind = DefaultConstraint
	p.next()
	start := p.tok.off
	c.Default = p.expr()
	c.Text = p.textFrom(start)
	if table {
		p.expectKw(wFor)
		c.ForColumn = p.ident()
	}
	if p.kw(wWith) && p.peek(1).word == wValues {
		p.next()
		p.next()
		c.WithValues = true
	}
}
