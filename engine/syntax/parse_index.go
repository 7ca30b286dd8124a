package syntax

import "strings"

// indexColumns takes (a ASC, b DESC).
func (p *parser) indexColumns() []IndexColumn {
	p.expect(tLParen)
	var cols []IndexColumn
	for {
		c := IndexColumn{Name: p.ident()}
		if p.acceptKw(wDesc) {
			c.Desc = true
		} else {
			p.acceptKw(wAsc)
		}
		cols = append(cols, c)
		if !p.accept(tComma) {
			p.expect(tRParen)
			return cols
		}
	}
}

// indexOptions takes (NAME = value, …), WITH already taken.
func (p *parser) indexOptions() []IndexOption {
	p.expect(tLParen)
	var list []IndexOption
	for {
		o := IndexOption{Name: p.anyWord()}
		start := p.tok.off
		switch {
		case p.accept(tEq):
			o.Value = p.optionValue()
		case p.accept(tLParen):
			p.skipParens()
			o.Value = strings.ToUpper(p.textFrom(start))
		default:
			o.Value = "ON"
		}
		list = append(list, o)
		if !p.accept(tComma) {
			p.expect(tRParen)
			return list
		}
	}
}

// optionValue takes a value as written, in upper case, with what stands in
// parentheses after it.
func (p *parser) optionValue() string {
	start := p.tok.off
	switch p.tok.kind {
	case tWord, tQuoted, tInt, tDecimal, tString, tNString:
	default:
		p.fail()
	}
	p.next()
	if p.word("MINUTE") || p.word("MINUTES") || p.word("MB") || p.word("DAYS") || p.kw(wPercent) {
		p.next()
	}
	if p.accept(tLParen) {
		p.skipParens()
	}
	if p.kw(wOn) && p.spells(p.peek(1), "PARTITIONS") { // DATA_COMPRESSION = PAGE ON PARTITIONS (1)
		p.next()
		p.next()
		p.expect(tLParen)
		p.skipParens()
	}
	return strings.ToUpper(p.textFrom(start))
}

// indexKind takes UNIQUE and CLUSTERED or NONCLUSTERED.
func (p *parser) indexKind(d *IndexDef) {
	d.Unique = p.acceptKw(wUnique) || d.Unique
	if p.acceptKw(wClustered) {
		d.Clustered = true
	} else {
		p.acceptKw(wNonclustered)
	}
	if p.acceptWord("COLUMNSTORE") {
		p.notSupported("COLUMNSTORE indexes")
	}
}

// inlineIndex takes INDEX name … of CREATE TABLE; column is the column it is
// written with, or nil.
func (p *parser) inlineIndex(column *Ident) IndexDef {
	d := IndexDef{Pos: p.pos()}
	p.next()
	d.Name = p.ident()
	p.indexKind(&d)
	if p.acceptWord("HASH") {
		p.notSupported("HASH indexes")
	}
	switch {
	case p.is(tLParen):
		d.Columns = p.indexColumns()
	case column != nil:
		d.Columns = []IndexColumn{{Name: *column}}
	case p.feature == "":
		p.fail()
	}
	p.indexTail(&d)
	return d
}

// indexTail takes INCLUDE, WHERE, WITH and ON.
func (p *parser) indexTail(d *IndexDef) {
	if p.acceptWord("INCLUDE") {
		d.Include = p.parenIdents()
	}
	if p.acceptKw(wWhere) {
		start := p.tok.off
		d.Where = p.condition()
		d.WhereText = p.textFrom(start)
	}
	if p.kw(wWith) {
		next := p.peek(1)
		switch {
		case next.kind == tLParen:
			p.next()
			d.Options = p.indexOptions()
		case next.word == wFillfactor, p.spells(next, "PAD_INDEX"), p.spells(next, "IGNORE_DUP_KEY"),
			p.spells(next, "DROP_EXISTING"), p.spells(next, "STATISTICS_NORECOMPUTE"), p.spells(next, "SORT_IN_TEMPDB"):
			p.next()
			d.Options = p.oldOptions()
		}
	}
	if p.acceptKw(wOn) {
		d.FileGroup = p.fileGroup()
	}
	if p.acceptWord("FILESTREAM_ON") {
		p.notSupported("FILESTREAM_ON")
		p.fileGroup()
	}
}

// oldOptions takes the options of WITH without parentheses.
func (p *parser) oldOptions() []IndexOption {
	var list []IndexOption
	for {
		o := IndexOption{Name: p.anyWord(), Value: "ON"}
		if p.accept(tEq) {
			o.Value = p.optionValue()
		}
		list = append(list, o)
		if !p.accept(tComma) {
			return list
		}
	}
}

// createIndex takes CREATE [UNIQUE] [CLUSTERED] INDEX after CREATE.
func (p *parser) createIndex(pos Pos) Statement {
	s := &CreateIndex{Pos: pos, Index: IndexDef{Pos: pos}}
	p.indexKind(&s.Index)
	p.expectKw(wIndex)
	s.Index.Name = p.ident()
	p.expectKw(wOn)
	s.Table = p.name(3)
	if p.feature == "" || p.is(tLParen) {
		s.Index.Columns = p.indexColumns()
	}
	if p.word("ORDER") && p.feature != "" {
		p.next()
		p.indexColumns()
	}
	p.indexTail(&s.Index)
	return s
}

// alterIndex takes ALTER INDEX after ALTER.
func (p *parser) alterIndex(pos Pos) Statement {
	s := &AlterIndex{Pos: pos}
	p.next()
	if p.kw(wAll) {
		s.Name = p.takeIdent()
		s.Name.Name = "ALL"
	} else {
		s.Name = p.ident()
	}
	p.expectKw(wOn)
	s.Table = p.name(3)
	switch {
	case p.acceptKw(wSet):
		s.Action = "SET"
		s.Options = p.indexOptions()
		return s
	case p.word("REBUILD"), p.word("REORGANIZE"), p.word("DISABLE"):
		s.Action = p.anyWord()
	case p.word("RESUME"), p.word("PAUSE"), p.word("ABORT"):
		return p.unsupportedFrom(pos, "ALTER INDEX "+p.anyWord())
	default:
		p.fail()
	}
	if s.Action != "DISABLE" && p.acceptWord("PARTITION") {
		p.expect(tEq)
		if !p.acceptKw(wAll) {
			p.notSupported("partitioning")
			p.constant()
		}
	}
	if s.Action != "DISABLE" && p.kw(wWith) && p.peek(1).kind == tLParen {
		p.next()
		s.Options = p.indexOptions()
	}
	return s
}
