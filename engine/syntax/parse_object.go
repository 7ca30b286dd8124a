package syntax

import "strings"

// createSequence takes CREATE SEQUENCE after CREATE.
func (p *parser) createSequence(pos Pos) Statement {
	s := &CreateSequence{Pos: pos}
	p.next()
	s.Name = p.name(3)
	if p.acceptKw(wAs) {
		t := p.dataType()
		s.Type = &t
	}
	p.sequenceOptions(&s.Options)
	return s
}

func (p *parser) alterSequence(pos Pos) Statement {
	s := &AlterSequence{Pos: pos}
	p.next()
	s.Name = p.name(3)
	p.sequenceOptions(&s.Options)
	if s.Options == (SequenceOptions{}) {
		p.fail()
	}
	return s
}

// sequenceOptions takes the options of a sequence in any order.
func (p *parser) sequenceOptions(o *SequenceOptions) {
	for {
		switch {
		case p.acceptWord("START"):
			p.expectKw(wWith)
			o.StartWith = p.constant()
		case p.acceptWord("RESTART"):
			o.Restart = true
			if p.acceptKw(wWith) {
				o.RestartWith = p.constant()
			}
		case p.acceptWord("INCREMENT"):
			p.expectKw(wBy)
			o.IncrementBy = p.constant()
		case p.acceptWord("MINVALUE"):
			o.MinValue = p.constant()
		case p.acceptWord("MAXVALUE"):
			o.MaxValue = p.constant()
		case p.acceptWord("CYCLE"):
			o.Cycle = boolPtr(true)
		case p.acceptWord("CACHE"):
			// CACHE without a number leaves the size to the engine.
			o.Cache = &Literal{Pos: p.pos(), Kind: LitDefault}
			if p.is(tInt) {
				o.Cache = p.literal()
			}
		case p.acceptWord("NO"):
			p.noOption(o)
		default:
			return
		}
	}
}

// noOption takes what follows NO.
func (p *parser) noOption(o *SequenceOptions) {
	switch {
	case p.acceptWord("MINVALUE"):
		o.NoMinValue = true
	case p.acceptWord("MAXVALUE"):
		o.NoMaxValue = true
	case p.acceptWord("CYCLE"):
		o.Cycle = boolPtr(false)
	case p.acceptWord("CACHE"):
		o.NoCache = true
	default:
		p.fail()
	}
}

func (p *parser) createSynonym(pos Pos) Statement {
	s := &CreateSynonym{Pos: pos}
	p.next()
	s.Name = p.name(2)
	p.expectKw(wFor)
	s.Target = p.name(4)
	return s
}

func (p *parser) createType(pos Pos) Statement {
	s := &CreateType{Pos: pos}
	p.next()
	s.Name = p.name(2)
	if p.kw(wExternal) {
		return p.unsupportedFrom(pos, "CLR types")
	}
	if p.acceptKw(wAs) {
		p.expectKw(wTable)
		body := p.tableBody()
		s.Table = &body
		if p.kw(wWith) && p.peek(1).kind == tLParen {
			p.next()
			p.tableOptions(p.indexOptions())
		}
		return s
	}
	p.expectKw(wFrom)
	s.Base = p.dataType()
	switch {
	case p.acceptKw(wNull):
		s.Null = boolPtr(true)
	case p.acceptKw(wNot):
		p.expectKw(wNull)
		s.Null = boolPtr(false)
	}
	return s
}

// createSchema takes CREATE SCHEMA. The objects that may follow in the same
// statement are not supported.
func (p *parser) createSchema(pos Pos) Statement {
	s := &CreateSchema{Pos: pos}
	p.next()
	if !p.kw(wAuthorization) {
		s.Name = p.ident()
	}
	if p.acceptKw(wAuthorization) {
		s.Owner = p.ident()
		if s.Name.Name == "" {
			s.Name = s.Owner
		}
	}
	switch p.tok.word {
	case wCreate, wGrant, wDeny, wRevoke:
		p.unsupportedRest("CREATE SCHEMA with objects")
	}
	return s
}

func (p *parser) alterSchema(pos Pos) Statement {
	s := &AlterSchema{Pos: pos}
	p.next()
	s.Schema = p.ident()
	p.expectWord("TRANSFER")
	if p.acceptWords("XML", "SCHEMA", "COLLECTION") {
		p.notSupported("XML SCHEMA COLLECTION")
		p.expect(tColonColon)
	} else if p.peek(1).kind == tColonColon {
		t := p.tok
		if w := p.anyWord(); w != "OBJECT" && w != "TYPE" {
			p.failAt(t)
		}
		p.next()
	}
	s.Object = p.name(2)
	return s
}

func (p *parser) createDatabase(pos Pos) Statement {
	next := p.peek(1)
	if p.spells(next, "SCOPED") || p.spells(next, "ENCRYPTION") || p.spells(next, "AUDIT") {
		return p.unsupportedObject(pos, "CREATE")
	}
	s := &CreateDatabase{Pos: pos}
	p.next()
	s.Name = p.ident()
	for {
		switch {
		case p.acceptKw(wCollate):
			s.Collation = p.collation()
		case p.kw(wOn), p.kw(wFor), p.kw(wAs), p.kw(wWith), p.word("LOG"), p.word("CONTAINMENT"):
			return p.unsupportedFrom(pos, "CREATE DATABASE "+strings.ToUpper(p.raw(p.tok)))
		default:
			return s
		}
	}
}

// alterDatabase takes ALTER DATABASE name SET, COLLATE and MODIFY NAME.
func (p *parser) alterDatabase(pos Pos) Statement {
	next := p.peek(1)
	if p.spells(next, "SCOPED") || p.spells(next, "ENCRYPTION") || p.spells(next, "AUDIT") {
		return p.unsupportedObject(pos, "ALTER")
	}
	s := &AlterDatabase{Pos: pos}
	p.next()
	if s.Current = p.acceptKw(wCurrent); !s.Current {
		s.Name = p.ident()
	}
	switch {
	case p.acceptKw(wCollate):
		s.Collation = p.collation()
	case p.acceptWord("MODIFY"):
		if !p.acceptWord("NAME") {
			return p.unsupportedFrom(pos, "ALTER DATABASE MODIFY "+p.anyWord())
		}
		p.expect(tEq)
		s.ModifyName = p.ident()
	case p.kw(wAdd):
		return p.unsupportedFrom(pos, "ALTER DATABASE ADD")
	case p.word("REMOVE"):
		return p.unsupportedFrom(pos, "ALTER DATABASE REMOVE")
	case p.acceptKw(wSet):
		p.databaseOptions(s)
	default:
		p.fail()
	}
	return s
}

// databaseOptions takes the options after SET and the termination.
func (p *parser) databaseOptions(s *AlterDatabase) {
	for {
		if p.word("PARTNER") || p.word("WITNESS") || p.word("HADR") || p.word("QUERY_STORE") {
			p.unsupportedFrom(s.Pos, "ALTER DATABASE SET "+strings.ToUpper(p.raw(p.tok)))
			return
		}
		s.Options = append(s.Options, p.databaseOption())
		if !p.accept(tComma) {
			break
		}
	}
	if !p.kw(wWith) {
		return
	}
	switch next := p.peek(1); {
	case next.word == wRollback:
		p.next()
		p.next()
		if p.acceptWord("IMMEDIATE") {
			s.Termination = "ROLLBACK IMMEDIATE"
			return
		}
		p.expectWord("AFTER")
		if !p.is(tInt) {
			p.fail()
		}
		s.Termination = "ROLLBACK AFTER " + p.literal().Text
		p.acceptWord("SECONDS")
	case p.spells(next, "NO_WAIT"):
		p.next()
		p.next()
		s.Termination = "NO_WAIT"
	}
}

// databaseOption takes NAME [=] value, where the value may be missing.
func (p *parser) databaseOption() IndexOption {
	o := IndexOption{Name: p.anyWord()}
	start := p.tok.off
	switch {
	case p.accept(tEq):
		o.Value = p.optionValue()
	case p.kw(wOn), p.kw(wOff):
		o.Value = p.anyWord()
		if p.accept(tLParen) {
			p.skipParens()
			o.Value = strings.ToUpper(p.textFrom(start))
		}
	case p.is(tLParen):
		p.next()
		p.skipParens()
		o.Value = strings.ToUpper(p.textFrom(start))
	case p.tok.kind == tWord && databaseWords[strings.ToUpper(p.raw(p.tok))]:
		o.Value = p.anyWord()
	case p.is(tInt):
		o.Value = p.literal().Text
	}
	return o
}

// databaseWords are the values of ALTER DATABASE SET that are written without
// an equals sign.
var databaseWords = map[string]bool{
	"FULL": true, "BULK_LOGGED": true, "SIMPLE": true, "CHECKSUM": true, "TORN_PAGE_DETECTION": true, "NONE": true,
	"LOCAL": true, "GLOBAL": true, "FORCED": true, "OFF": true,
}
