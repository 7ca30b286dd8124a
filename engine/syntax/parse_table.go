package syntax

import "strings"

// createTable takes CREATE TABLE after CREATE.
func (p *parser) createTable(pos Pos) Statement {
	s := &CreateTable{Pos: pos}
	p.next()
	s.Name = p.name(3)
	if p.kw(wAs) {
		p.next()
		p.notSupported("CREATE TABLE AS " + p.anyWord())
		if !p.is(tLParen) {
			return s
		}
	}
	s.Body = p.tableBody()
	for {
		switch {
		case p.kw(wAs):
			p.next()
			p.notSupported("CREATE TABLE AS " + p.anyWord())
		case p.kw(wOn):
			p.next()
			s.FileGroup = p.fileGroup()
		case p.word("TEXTIMAGE_ON"), p.word("FILESTREAM_ON"):
			if p.anyWord() == "FILESTREAM_ON" {
				p.notSupported("FILESTREAM_ON")
			}
			s.TextImageOn = p.fileGroup()
		case p.kw(wWith) && p.peek(1).kind == tLParen:
			p.next()
			s.Options = p.indexOptions()
			p.tableOptions(s.Options)
		default:
			return s
		}
	}
}

// tableOptions refuses the options that change what a table is.
func (p *parser) tableOptions(options []IndexOption) {
	for _, o := range options {
		switch o.Name {
		case "DATA_COMPRESSION", "XML_COMPRESSION":
		default:
			p.notSupported(o.Name)
		}
	}
}

// fileGroup takes the name of a filegroup; partition schemes are not supported.
func (p *parser) fileGroup() Ident {
	var id Ident
	if p.isString() || p.kw(wDefault) {
		id = Ident{Pos: p.pos(), Name: p.lex.near(p.tok), Quoted: p.isString()}
		p.next()
	} else {
		id = p.ident()
	}
	if p.is(tLParen) {
		p.notSupported("partitioning")
		p.next()
		p.skipParens()
	}
	return id
}

// tableBody takes the columns, constraints and indexes in parentheses.
func (p *parser) tableBody() TableBody {
	var b TableBody
	p.expect(tLParen)
	for {
		p.tableElement(&b)
		if !p.accept(tComma) {
			break
		}
		if p.is(tRParen) { // SQL Server takes a comma after the last element
			break
		}
	}
	p.expect(tRParen)
	return b
}

// tableElement takes one column, constraint or index.
func (p *parser) tableElement(b *TableBody) {
	switch {
	case p.kw(wConstraint), p.kw(wPrimary), p.kw(wUnique), p.kw(wForeign), p.kw(wCheck), p.kw(wDefault):
		b.Constraints = append(b.Constraints, p.constraint(true))
	case p.kw(wIndex):
		b.Indexes = append(b.Indexes, p.inlineIndex(nil))
	case p.word("PERIOD") && p.peek(1).word == wFor:
		p.notSupported("temporal tables")
		p.next()
		p.next()
		p.expectWord("SYSTEM_TIME")
		p.expect(tLParen)
		p.skipParens()
	default:
		b.Columns = append(b.Columns, p.columnDef())
	}
}

// columnDef takes one column.
func (p *parser) columnDef() ColumnDef {
	c := ColumnDef{Pos: p.pos(), Name: p.ident()}
	switch {
	case p.acceptKw(wAs):
		start := p.tok.off
		c.Computed = p.expr()
		c.ComputedText = p.textFrom(start)
		c.Persisted = p.acceptWord("PERSISTED")
	case isIdent(p.tok) || p.kw(wDouble) || p.kw(wNational):
		c.Type = p.dataType()
	case strings.EqualFold(c.Name.Name, "timestamp") && !c.Name.Quoted:
		// A column without a type is a timestamp of that name.
		c.Type = DataType{Pos: c.Pos, Name: Name{Pos: c.Pos, Object: c.Name}}
	default:
		p.fail()
	}
	for p.columnOption(&c) {
	}
	return c
}

// columnOption takes one clause of a column, or returns false.
func (p *parser) columnOption(c *ColumnDef) bool {
	switch p.tok.word {
	case wNull:
		p.next()
		c.Null = boolPtr(true)
	case wNot:
		p.next()
		if p.kw(wFor) {
			p.replication()
			c.NotForReplication = true
			return true
		}
		p.expectKw(wNull)
		c.Null = boolPtr(false)
	case wCollate:
		p.next()
		c.Collation = p.collation()
	case wIdentity:
		c.Identity = p.identitySpec()
	case wRowguidcol:
		p.next()
		c.RowGUIDCol = true
	case wConstraint, wPrimary, wUnique, wForeign, wReferences, wCheck, wDefault:
		c.Constraints = append(c.Constraints, p.constraint(false))
	case wIndex:
		c.Indexes = append(c.Indexes, p.inlineIndex(&c.Name))
	default:
		return p.columnWord(c)
	}
	return true
}

// columnWord takes the clauses of a column that begin with ordinary words.
func (p *parser) columnWord(c *ColumnDef) bool {
	switch {
	case p.acceptWord("SPARSE"):
		c.Sparse = true
	case p.acceptWord("FILESTREAM"):
		p.notSupported("FILESTREAM")
	case p.acceptWord("HIDDEN"):
		p.notSupported("HIDDEN columns")
	case p.word("MASKED") && p.peek(1).word == wWith:
		p.notSupported("MASKED columns")
		p.next()
		p.next()
		p.expect(tLParen)
		p.skipParens()
	case p.word("ENCRYPTED") && p.peek(1).word == wWith:
		p.notSupported("ENCRYPTED columns")
		p.next()
		p.next()
		p.expect(tLParen)
		p.skipParens()
	case p.word("COLUMN_SET"):
		p.notSupported("COLUMN_SET columns")
		p.next()
		p.expectKw(wFor)
		p.expectWord("ALL_SPARSE_COLUMNS")
	case p.word("GENERATED"):
		p.notSupported("GENERATED ALWAYS columns")
		p.next()
		p.expectWord("ALWAYS")
		p.expectKw(wAs)
		p.anyWord()
		p.anyWord()
	default:
		return false
	}
	return true
}

func boolPtr(b bool) *bool { return &b }

// replication takes FOR REPLICATION after NOT.
func (p *parser) replication() {
	p.next()
	p.expectKw(wReplication)
}

func (p *parser) identitySpec() *IdentitySpec {
	p.next()
	s := &IdentitySpec{}
	if p.accept(tLParen) {
		s.Seed = p.constant()
		p.expect(tComma)
		s.Increment = p.constant()
		p.expect(tRParen)
	}
	return s
}

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

// alterTable takes ALTER TABLE after ALTER.
func (p *parser) alterTable(pos Pos) Statement {
	s := &AlterTable{Pos: pos}
	p.next()
	s.Table = p.name(3)
	a := &s.Action
	withCheck := false
	if p.kw(wWith) && (p.peek(1).word == wCheck || p.peek(1).word == wNocheck) {
		p.next()
		withCheck = p.kw(wCheck)
		a.WithCheck = withCheck
		p.next()
		if !p.kw(wAdd) && !p.kw(wCheck) && !p.kw(wNocheck) {
			p.fail()
		}
		if p.kw(wAdd) {
			a.WithCheck = false
			p.alterAdd(a)
			for i := range a.AddConstraints {
				a.AddConstraints[i].WithNoCheck = !withCheck
			}
			return s
		}
	}
	switch {
	case p.kw(wAdd):
		p.alterAdd(a)
	case p.kw(wDrop):
		p.alterDrop(a)
	case p.kw(wAlter) && p.peek(1).word == wIndex, p.kw(wDrop) && p.peek(1).word == wIndex:
		return p.unsupportedFrom(pos, "ALTER TABLE "+p.anyWord()+" INDEX")
	case p.kw(wAlter):
		p.next()
		p.expectKw(wColumn)
		p.alterColumn(a)
	case p.kw(wCheck), p.kw(wNocheck):
		a.NoCheck = p.kw(wNocheck)
		p.next()
		p.expectKw(wConstraint)
		if a.CheckAll = p.acceptKw(wAll); !a.CheckAll {
			a.CheckConstraints = p.identList()
		}
	case p.kw(wSet):
		p.next()
		a.SetOptions = p.indexOptions()
	case p.word("ENABLE"), p.word("DISABLE"):
		p.alterTrigger(a)
	case p.word("REBUILD"), p.word("SWITCH"):
		return p.unsupportedFrom(pos, "ALTER TABLE "+strings.ToUpper(p.raw(p.tok)))
	default:
		p.fail()
	}
	return s
}

func (p *parser) alterTrigger(a *AlterTableAction) {
	a.EnableTrigger = p.word("ENABLE")
	a.DisableTrigger = !a.EnableTrigger
	p.next()
	if p.word("CHANGE_TRACKING") || p.word("FILETABLE_NAMESPACE") {
		p.notSupported(p.anyWord())
		if p.kw(wWith) && p.peek(1).kind == tLParen {
			p.next()
			p.indexOptions()
		}
		return
	}
	p.expectKw(wTrigger)
	if a.TriggersAll = p.acceptKw(wAll); !a.TriggersAll {
		a.Triggers = p.identList()
	}
}

// alterAdd takes ADD columns and constraints.
func (p *parser) alterAdd(a *AlterTableAction) {
	p.next()
	var b TableBody
	for {
		p.tableElement(&b)
		if !p.accept(tComma) {
			break
		}
	}
	if b.Indexes != nil {
		p.notSupported("ALTER TABLE ADD INDEX")
	}
	a.AddColumns, a.AddConstraints = b.Columns, b.Constraints
}

// alterDrop takes DROP of constraints and columns.
func (p *parser) alterDrop(a *AlterTableAction) {
	p.next()
	column := false
	for {
		switch {
		case p.acceptKw(wConstraint):
			column = false
			p.acceptIfExists(&a.IfExists)
		case p.acceptKw(wColumn):
			column = true
			p.acceptIfExists(&a.IfExists)
		case p.word("PERIOD") && p.peek(1).word == wFor:
			p.notSupported("temporal tables")
			p.next()
			p.next()
			p.expectWord("SYSTEM_TIME")
			return
		}
		id := p.ident()
		if column {
			a.DropColumns = append(a.DropColumns, id)
		} else {
			a.DropConstraints = append(a.DropConstraints, id)
		}
		if p.kw(wWith) && p.peek(1).kind == tLParen {
			p.notSupported("DROP CONSTRAINT WITH")
			p.next()
			p.next()
			p.skipParens()
		}
		if !p.accept(tComma) {
			return
		}
	}
}

func (p *parser) acceptIfExists(flag *bool) {
	if p.acceptKw(wIf) {
		p.expectKw(wExists)
		*flag = true
	}
}

// alterColumn takes the rest of ALTER COLUMN.
func (p *parser) alterColumn(a *AlterTableAction) {
	if isIdent(p.tok) && (p.peek(1).word == wAdd || p.peek(1).word == wDrop) {
		p.notSupported("ALTER COLUMN ADD or DROP")
		p.next()
		p.next()
		if p.acceptKw(wNot) {
			p.replication()
		} else {
			p.anyWord()
		}
		p.alterColumnOptions(a)
		return
	}
	c := p.columnDef()
	if c.Computed != nil || c.Identity != nil || c.Constraints != nil || c.Indexes != nil {
		p.failAt(p.last)
	}
	p.alterColumnOptions(a)
	a.AlterColumn = &c
}

// alterColumnOptions takes WITH (ONLINE = …).
func (p *parser) alterColumnOptions(a *AlterTableAction) {
	if p.kw(wWith) && p.peek(1).kind == tLParen {
		p.next()
		a.AlterOptions = p.indexOptions()
	}
}
