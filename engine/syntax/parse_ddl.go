package syntax

import "strings"

// create takes CREATE and what it creates.
func (p *parser) create() Statement {
	pos := p.pos()
	start := p.tok
	p.next()
	switch p.tok.word {
	case wTable:
		return p.createTable(pos)
	case wUnique, wClustered, wNonclustered, wIndex:
		return p.createIndex(pos)
	case wProc, wProcedure, wFunction, wView, wTrigger:
		return p.createModule(start, FormCreate)
	case wOr:
		p.next()
		p.expectKw(wAlter)
		switch p.tok.word {
		case wProc, wProcedure, wFunction, wView, wTrigger:
			return p.createModule(start, FormCreateOrAlter)
		}
		p.fail()
	case wSchema:
		p.mustBeFirst(start, "CREATE SCHEMA")
		return p.createSchema(pos)
	case wDatabase:
		return p.createDatabase(pos)
	case wUser:
		return p.createUser(pos, false)
	case wStatistics:
		return p.unsupported("CREATE STATISTICS")
	case wDefault, wRule, wPrimary, wExternal, wColumn:
		return p.unsupportedObject(pos, "CREATE")
	case notReserved:
		return p.createWord(pos)
	}
	p.fail()
	return nil
}

// createWord takes CREATE of what an ordinary word names.
func (p *parser) createWord(pos Pos) Statement {
	switch {
	case p.word("SEQUENCE"):
		return p.createSequence(pos)
	case p.word("SYNONYM"):
		return p.createSynonym(pos)
	case p.word("TYPE"):
		return p.createType(pos)
	case p.word("LOGIN"):
		return p.createLogin(pos, false)
	case p.word("ROLE"):
		return p.createRole(pos)
	case p.word("COLUMNSTORE"):
		return p.createIndex(pos)
	}
	return p.unsupportedObject(pos, "CREATE")
}

// objectKinds are the objects that T-SQL has and the tree has not, by the words
// that name them.
var objectKinds = [][]string{
	{"AGGREGATE"}, {"APPLICATION", "ROLE"}, {"ASSEMBLY"}, {"ASYMMETRIC", "KEY"}, {"AVAILABILITY", "GROUP"},
	{"BROKER", "PRIORITY"}, {"COUNTER", "SIGNATURE"}, {"CERTIFICATE"}, {"COLUMN", "ENCRYPTION", "KEY"}, {"COLUMN", "MASTER", "KEY"},
	{"CONTRACT"}, {"CREDENTIAL"}, {"CRYPTOGRAPHIC", "PROVIDER"}, {"DATABASE", "AUDIT", "SPECIFICATION"},
	{"DATABASE", "ENCRYPTION", "KEY"}, {"DATABASE", "SCOPED", "CREDENTIAL"},
	{"DATABASE", "SCOPED", "CONFIGURATION"}, {"DEFAULT"}, {"ENDPOINT"}, {"EVENT", "NOTIFICATION"},
	{"EVENT", "SESSION"}, {"EXTERNAL", "DATA", "SOURCE"}, {"EXTERNAL", "FILE", "FORMAT"},
	{"EXTERNAL", "LANGUAGE"}, {"EXTERNAL", "LIBRARY"}, {"EXTERNAL", "RESOURCE", "POOL"}, {"EXTERNAL", "TABLE"},
	{"FULLTEXT", "CATALOG"}, {"FULLTEXT", "INDEX"}, {"FULLTEXT", "STOPLIST"}, {"MASTER", "KEY"},
	{"MESSAGE", "TYPE"}, {"PARTITION", "FUNCTION"}, {"PARTITION", "SCHEME"}, {"PRIMARY", "XML", "INDEX"},
	{"QUEUE"}, {"REMOTE", "SERVICE", "BINDING"}, {"RESOURCE", "GOVERNOR"}, {"RESOURCE", "POOL"}, {"ROUTE"},
	{"RULE"}, {"SEARCH", "PROPERTY", "LIST"}, {"SECURITY", "POLICY"}, {"SELECTIVE", "XML", "INDEX"},
	{"SENSITIVITY", "CLASSIFICATION"},
	{"SERVER", "AUDIT", "SPECIFICATION"}, {"SERVER", "AUDIT"}, {"SERVER", "CONFIGURATION"}, {"SERVER", "ROLE"},
	{"SERVICE", "MASTER", "KEY"}, {"SERVICE"}, {"SIGNATURE"}, {"SPATIAL", "INDEX"}, {"STATISTICS"},
	{"SYMMETRIC", "KEY"}, {"WORKLOAD", "GROUP"}, {"XML", "INDEX"}, {"XML", "SCHEMA", "COLLECTION"},
}

// unsupportedObject takes CREATE, ALTER or DROP of an object that only a full
// SQL Server has. The verb is already taken.
func (p *parser) unsupportedObject(pos Pos, verb string) Statement {
	for _, words := range objectKinds {
		if p.acceptWords(words...) {
			if (p.is(tEOF) || p.is(tSemi)) && words[len(words)-1] != "KEY" {
				p.fail()
			}
			return p.unsupportedFrom(pos, verb+" "+strings.Join(words, " "))
		}
	}
	p.fail()
	return nil
}

// alter takes ALTER and what it alters.
func (p *parser) alter() Statement {
	pos := p.pos()
	start := p.tok
	p.next()
	switch p.tok.word {
	case wTable:
		return p.alterTable(pos)
	case wIndex:
		return p.alterIndex(pos)
	case wProc, wProcedure, wFunction, wView, wTrigger:
		return p.createModule(start, FormAlter)
	case wDatabase:
		return p.alterDatabase(pos)
	case wUser:
		return p.createUser(pos, true)
	case wAuthorization:
		return p.alterAuthorization(pos)
	case wSchema:
		return p.alterSchema(pos)
	case wExternal, wColumn:
		return p.unsupportedObject(pos, "ALTER")
	case notReserved:
		switch {
		case p.word("SEQUENCE"):
			return p.alterSequence(pos)
		case p.word("LOGIN"):
			return p.createLogin(pos, true)
		case p.word("ROLE"), p.word("SERVER") && p.spells(p.peek(1), "ROLE"):
			return p.alterRole(pos)
		}
		return p.unsupportedObject(pos, "ALTER")
	}
	p.fail()
	return nil
}

// drop takes DROP and what it drops.
func (p *parser) drop() Statement {
	s := &Drop{Pos: p.pos()}
	p.next()
	parts := 3
	switch {
	case p.kw(wIndex):
		p.next()
		return p.dropIndex(s)
	case p.kw(wProc), p.kw(wProcedure):
		s.Kind = "PROCEDURE"
		p.next()
	case p.kw(wTable), p.kw(wView), p.kw(wFunction), p.kw(wTrigger), p.word("SEQUENCE"), p.word("SYNONYM"),
		p.word("TYPE"):
		s.Kind = p.anyWord()
	case p.kw(wDatabase) && !p.spells(p.peek(1), "SCOPED") && !p.spells(p.peek(1), "ENCRYPTION") &&
		!p.spells(p.peek(1), "AUDIT"),
		p.kw(wSchema), p.kw(wUser), p.word("LOGIN"), p.word("ROLE"):
		s.Kind = p.anyWord()
		parts = 1
	default:
		return p.unsupportedObject(s.Pos, "DROP")
	}
	p.acceptIfExists(&s.IfExists)
	s.Names = append(s.Names, p.name(parts))
	for p.accept(tComma) {
		s.Names = append(s.Names, p.name(parts))
	}
	if s.Kind == "TRIGGER" && p.acceptKw(wOn) {
		p.notSupported("DDL triggers")
		if !p.acceptKw(wDatabase) {
			p.expectKw(wAll)
			p.expectWord("SERVER")
		}
	}
	return s
}

// dropIndex takes DROP INDEX name ON table, and the old table.name.
func (p *parser) dropIndex(s *Drop) Statement {
	s.Kind = "INDEX"
	p.acceptIfExists(&s.IfExists)
	for {
		n := p.name(4)
		if p.acceptKw(wOn) {
			if n.Schema.Name != "" {
				p.failAt(p.last)
			}
			s.Names = append(s.Names, n)
			s.On = append(s.On, p.name(3))
		} else {
			// table.index: every part moves up by one.
			if n.Schema.Name == "" {
				p.fail()
			}
			table := Name{Pos: n.Pos, Database: n.Server, Schema: n.Database, Object: n.Schema}
			s.Names = append(s.Names, Name{Pos: n.Object.Pos, Object: n.Object})
			s.On = append(s.On, table)
		}
		with := ""
		if p.kw(wWith) && p.peek(1).kind == tLParen {
			p.next()
			start := p.tok.off
			p.next()
			p.skipParens()
			with = p.textFrom(start)
		}
		s.With = append(s.With, with)
		if !p.accept(tComma) {
			return s
		}
	}
}
