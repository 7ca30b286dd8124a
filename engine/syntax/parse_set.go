package syntax

import (
	"strings"

	"loopbroker/engine/sqlerr"
)

// declare takes DECLARE of variables or of a cursor.
func (p *parser) declare() Statement {
	pos := p.pos()
	p.next()
	if !p.isVariable() {
		return p.declareCursor(pos)
	}
	s := &Declare{Pos: pos, Variables: make([]VariableDecl, 0, 1)}
	for {
		s.Variables = append(s.Variables, p.variableDecl())
		if !p.accept(tComma) {
			return s
		}
	}
}

func (p *parser) variableDecl() VariableDecl {
	v := VariableDecl{Pos: p.pos(), Name: p.variable()}
	p.acceptKw(wAs)
	if p.acceptKw(wTable) {
		body := p.tableBody()
		v.Table = &body
		return v
	}
	v.Type = p.dataType()
	if p.kw(wNot) {
		p.notSupported("NOT NULL variables")
		p.next()
		p.expectKw(wNull)
	} else {
		p.acceptKw(wNull)
	}
	if p.accept(tEq) {
		v.Init = p.expr()
	}
	return v
}

// set takes SET of a variable or of an option.
func (p *parser) set() Statement {
	pos := p.pos()
	p.next()
	if p.isVariable() {
		return p.setVariable(pos)
	}
	s := &SetOption{Pos: pos}
	t := p.tok
	switch {
	case p.kw(wTransaction):
		p.next()
		p.isolationLevel(s)
	case p.kw(wIdentityInsert):
		p.next()
		s.Options = []string{"IDENTITY_INSERT"}
		n := p.name(3)
		s.Table = &n
		s.On = p.onOff()
	case p.kw(wStatistics):
		p.next()
		p.statistics(s)
	case p.kw(wOffsets):
		p.next()
		p.notSupported("SET OFFSETS")
		for p.anyWord(); p.accept(tComma); {
			p.anyWord()
		}
		s.On = p.onOff()
	case t.kind == tWord && (t.word == notReserved || t.word == wRowcount || t.word == wTextsize):
		p.namedOption(s)
	default:
		p.fail()
	}
	return s
}

func (p *parser) setVariable(pos Pos) Statement {
	s := &SetVariable{Pos: pos, Name: p.variable()}
	if p.accept(tDot) {
		p.notSupported("method call in SET")
		p.method(&Variable{Pos: s.Pos, Name: s.Name})
		return s
	}
	s.Op = p.assignment()
	if s.Op == nil && p.kw(wCursor) {
		def := p.cursorDef()
		s.Cursor = &def
		return s
	}
	s.X = p.expr()
	return s
}

// isolationLevel takes ISOLATION LEVEL and its name.
func (p *parser) isolationLevel(s *SetOption) {
	s.Options = []string{"TRANSACTION ISOLATION LEVEL"}
	p.expectWord("ISOLATION")
	p.expectWord("LEVEL")
	switch {
	case p.acceptKw(wRead):
		if p.acceptWord("COMMITTED") {
			s.Words = "READ COMMITTED"
		} else {
			p.expectWord("UNCOMMITTED")
			s.Words = "READ UNCOMMITTED"
		}
	case p.acceptWord("REPEATABLE"):
		p.expectKw(wRead)
		s.Words = "REPEATABLE READ"
	case p.acceptWord("SNAPSHOT"):
		s.Words = "SNAPSHOT"
	case p.acceptWord("SERIALIZABLE"):
		s.Words = "SERIALIZABLE"
	default:
		p.fail()
	}
}

// statistics takes IO, TIME, PROFILE and XML with ON or OFF.
func (p *parser) statistics(s *SetOption) {
	for {
		t := p.tok
		w := p.anyWord()
		switch w {
		case "IO", "TIME", "PROFILE", "XML":
		default:
			p.failAt(t)
		}
		s.Options = append(s.Options, "STATISTICS "+w)
		if !p.accept(tComma) {
			break
		}
	}
	s.On = p.onOff()
}

func (p *parser) onOff() bool {
	if p.acceptKw(wOn) {
		return true
	}
	p.expectKw(wOff)
	return false
}

// switches are the SET options that are ON or OFF.
var switches = map[string]bool{
	"ANSI_DEFAULTS": true, "ANSI_NULL_DFLT_OFF": true, "ANSI_NULL_DFLT_ON": true, "ANSI_NULLS": true,
	"ANSI_PADDING": true, "ANSI_WARNINGS": true, "ARITHABORT": true, "ARITHIGNORE": true,
	"CONCAT_NULL_YIELDS_NULL": true, "CURSOR_CLOSE_ON_COMMIT": true, "FMTONLY": true, "FORCEPLAN": true,
	"IMPLICIT_TRANSACTIONS": true, "NO_BROWSETABLE": true, "NOCOUNT": true, "NOEXEC": true,
	"NUMERIC_ROUNDABORT": true, "PARSEONLY": true, "QUOTED_IDENTIFIER": true,
	"REMOTE_PROC_TRANSACTIONS": true, "RESULT_SET_CACHING": true, "SHOWPLAN_ALL": true, "SHOWPLAN_TEXT": true,
	"SHOWPLAN_XML": true, "XACT_ABORT": true, "DISABLE_DEF_CNST_CHK": true,
}

// namedOption takes an option with a value, or switches with ON or OFF.
func (p *parser) namedOption(s *SetOption) {
	t := p.tok
	option := p.anyWord()
	switch option {
	case "ROWCOUNT", "TEXTSIZE", "LOCK_TIMEOUT", "DATEFIRST", "QUERY_GOVERNOR_COST_LIMIT", "CONTEXT_INFO":
		s.Options = []string{option}
		s.Value = p.constant()
	case "LANGUAGE", "DATEFORMAT":
		s.Options = []string{option}
		s.Value = p.wordOrConstant()
	case "DEADLOCK_PRIORITY":
		s.Options = []string{option}
		if p.word("LOW") || p.word("NORMAL") || p.word("HIGH") {
			s.Words = p.anyWord()
		} else {
			s.Value = p.wordOrConstant() // another word is an error when it runs
		}
	case "FIPS_FLAGGER":
		p.notSupported("SET FIPS_FLAGGER")
		s.Options = []string{option}
		if !p.acceptKw(wOff) {
			s.Value = p.literal()
		}
	default:
		p.switchList(s, t, option)
	}
}

// wordOrConstant takes a bare word as a string, or a constant.
func (p *parser) wordOrConstant() Expr {
	if isIdent(p.tok) {
		id := p.ident()
		return &Literal{Pos: id.Pos, Kind: LitNString, Text: id.Name}
	}
	return p.constant()
}

// switchList takes the rest of SET a, b ON.
func (p *parser) switchList(s *SetOption, t token, option string) {
	quoted := false
	for {
		if !switches[option] {
			e := sqlerr.New(195, option)
			e.Message = "'" + strings.ToUpper(option) + "' is not a recognized SET option."
			p.bail(e.At(t.line))
		}
		quoted = quoted || option == "QUOTED_IDENTIFIER" || option == "ANSI_DEFAULTS"
		s.Options = append(s.Options, option)
		if !p.accept(tComma) {
			break
		}
		t = p.tok
		option = p.anyWord()
	}
	if quoted && p.module == noModule && (p.kw(wOn) || p.kw(wOff)) {
		p.setQuoted(p.kw(wOn))
	}
	s.On = p.onOff()
}
