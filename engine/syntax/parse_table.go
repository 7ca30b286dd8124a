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
