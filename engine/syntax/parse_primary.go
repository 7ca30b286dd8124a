package syntax

import (
	"strings"
	"unicode/utf8"
)

// primary takes an operand: a literal, a variable, a name, a call, or something
// in parentheses. conditions allows a condition in the last.
func (p *parser) primary(conditions bool) Expr {
	switch p.tok.kind {
	case tInt, tDecimal, tFloat, tMoney, tBinary, tString, tNString:
		return p.literal()
	case tVariable:
		return p.variableExpr()
	case tGlobal:
		return p.global()
	case tLParen:
		return p.parenthesised(conditions)
	case tLBrace:
		return p.odbcEscape()
	case tWord:
		if p.tok.word != notReserved {
			return p.keywordPrimary(conditions)
		}
		if p.word("NEXT") && p.spells(p.peek(1), "VALUE") && p.peek(2).word == wFor {
			return p.nextValue()
		}
		return p.nameExpr()
	case tQuoted:
		return p.nameExpr()
	case tDot: // ..t.c
		if next := p.peek(1); next.kind == tDot || isIdent(next) {
			return p.nameExpr()
		}
	}
	p.fail()
	return nil
}

// literal takes a constant other than NULL.
func (p *parser) literal() *Literal {
	l := &Literal{Pos: p.pos()}
	raw := p.raw(p.tok)
	switch p.tok.kind {
	case tInt:
		l.Kind, l.Text = LitInt, raw
	case tDecimal:
		l.Kind, l.Text = LitDecimal, strings.TrimSuffix(raw, ".")
	case tFloat:
		l.Kind, l.Text = LitFloat, raw
		if c := raw[len(raw)-1]; !isDigit(c) {
			l.Text += "0" // 1e is 1e0
		}
	case tMoney:
		_, n := utf8.DecodeRuneInString(raw)
		l.Kind, l.Text = LitMoney, strings.TrimSuffix(raw[n:], ".")
		if l.Text == "" {
			l.Text = "0"
		}
	case tBinary:
		l.Kind, l.Text = LitBinary, raw[2:]
		if p.tok.escaped {
			l.Text = continuation.Replace(l.Text)
		}
	case tString:
		l.Kind, l.Text = LitString, p.lex.decode(p.tok)
	case tNString:
		l.Kind, l.Text = LitNString, p.lex.decode(p.tok)
	default:
		p.fail()
	}
	p.next()
	return l
}

// globals are the system functions that begin with @@; any other @@x is an
// ordinary variable.
var globals = map[string]bool{
	"@@CONNECTIONS": true, "@@CPU_BUSY": true, "@@CURSOR_ROWS": true, "@@DATEFIRST": true, "@@DBTS": true,
	"@@DEF_SORTORDER_ID": true, "@@DEFAULT_LANGID": true, "@@ERROR": true, "@@FETCH_STATUS": true,
	"@@IDENTITY": true, "@@IDLE": true, "@@IO_BUSY": true, "@@LANGID": true, "@@LANGUAGE": true,
	"@@LOCK_TIMEOUT": true, "@@MAX_CONNECTIONS": true, "@@MAX_PRECISION": true, "@@MICROSOFTVERSION": true,
	"@@NESTLEVEL": true, "@@OPTIONS": true, "@@PACK_RECEIVED": true, "@@PACK_SENT": true,
	"@@PACKET_ERRORS": true, "@@PROCID": true, "@@REMSERVER": true, "@@ROWCOUNT": true, "@@SERVERNAME": true,
	"@@SERVICENAME": true, "@@SPID": true, "@@TEXTSIZE": true, "@@TIMETICKS": true, "@@TOTAL_ERRORS": true,
	"@@TOTAL_READ": true, "@@TOTAL_WRITE": true, "@@TRANCOUNT": true, "@@VERSION": true,
}

func isGlobal(raw string) bool { return globals[strings.ToUpper(raw)] }

func (p *parser) global() Expr {
	upper := strings.ToUpper(p.raw(p.tok))
	if !globals[upper] {
		return p.variableExpr()
	}
	g := &GlobalVariable{Pos: p.pos(), Name: upper}
	p.next()
	return g
}

// odbcEscape takes {fn x}, {d '…'}, {t '…'}, {ts '…'} and {guid '…'}.
func (p *parser) odbcEscape() Expr {
	pos := p.pos()
	p.expect(tLBrace)
	var x Expr
	if p.acceptWord("FN") {
		x = p.expr()
	} else {
		typ := ""
		switch {
		case p.acceptWord("D"), p.acceptWord("T"), p.acceptWord("TS"):
			typ = "datetime"
		case p.acceptWord("GUID"):
			typ = "uniqueidentifier"
		default:
			p.fail()
		}
		if !p.isString() {
			p.fail()
		}
		id := Ident{Pos: pos, Name: typ}
		x = &Cast{Pos: pos, X: p.literal(), Type: DataType{Pos: pos, Name: Name{Pos: pos, Object: id}}}
	}
	p.expect(tRBrace)
	return x
}

func (p *parser) nextValue() Expr {
	n := &NextValue{Pos: p.pos()}
	p.next()
	p.next()
	p.next()
	n.Sequence = p.name(3)
	if p.kw(wOver) {
		n.Over = p.over()
	}
	return n
}

// keywordPrimary takes an operand that begins with a reserved word.
func (p *parser) keywordPrimary(conditions bool) Expr {
	pos := p.pos()
	switch p.tok.word {
	case wNull:
		p.next()
		return &Literal{Pos: pos, Kind: LitNull, Text: ""}
	case wCase:
		return p.caseExpr()
	case wConvert, wTryConvert:
		return p.convert()
	case wCurrentTimestamp, wUser, wCurrentUser, wSessionUser, wSystemUser:
		id := p.takeIdent()
		return &Call{Pos: pos, Name: Name{Pos: pos, Object: id}, NoParens: true}
	case wCoalesce, wNullif, wLeft, wRight:
		if p.peek(1).kind != tLParen {
			p.next()
			p.fail()
		}
		id := p.takeIdent()
		return p.call(Name{Pos: pos, Object: id})
	case wIdentitycol, wRowguidcol:
		return &ColumnRef{Pos: pos, Parts: []Ident{p.pseudoColumn()}}
	case wIdentity:
		return p.identityFunction()
	case wCurrentDate:
		p.notSupported("CURRENT_DATE")
		id := p.takeIdent()
		return &Call{Pos: pos, Name: Name{Pos: pos, Object: id}, NoParens: true}
	}
	if conditions {
		if x := p.keywordCondition(); x != nil {
			return x
		}
	}
	p.fail()
	return nil
}

// pseudoColumn takes IDENTITYCOL or ROWGUIDCOL as $IDENTITY or $ROWGUID.
func (p *parser) pseudoColumn() Ident {
	id := p.takeIdent()
	if len(id.Name) == len("IDENTITYCOL") {
		id.Name = "$IDENTITY"
	} else {
		id.Name = "$ROWGUID"
	}
	return id
}

// keywordCondition takes a condition that begins with a reserved word, or
// returns nil.
func (p *parser) keywordCondition() Expr {
	pos := p.pos()
	switch p.tok.word {
	case wExists:
		e := &Exists{Pos: pos}
		p.next()
		e.Query = p.subquery()
		return e
	case wUpdate:
		if p.peek(1).kind != tLParen {
			return nil
		}
		id := p.takeIdent()
		c := &Call{Pos: pos, Name: Name{Pos: pos, Object: id}, Predicate: true}
		p.next()
		col := p.ident()
		c.Args = []Expr{&ColumnRef{Pos: col.Pos, Parts: []Ident{col}}}
		p.expect(tRParen)
		return c
	case wContains, wFreetext, wTsequal:
		p.notSupported("full-text search")
		id := p.takeIdent()
		p.expect(tLParen)
		p.skipParens()
		return &Call{Pos: pos, Name: Name{Pos: pos, Object: id}, Predicate: true}
	}
	return nil
}

// identityFunction takes IDENTITY(type, seed, increment) of SELECT INTO.
func (p *parser) identityFunction() Expr {
	pos := p.pos()
	id := p.takeIdent()
	c := &Call{Pos: pos, Name: Name{Pos: pos, Object: id}}
	p.expect(tLParen)
	p.dataType()
	p.notSupported("IDENTITY function in SELECT INTO")
	for p.accept(tComma) {
		c.Args = append(c.Args, p.expr())
	}
	p.expect(tRParen)
	return c
}

// nameExpr takes a column reference or a call that begins with a name.
func (p *parser) nameExpr() Expr {
	start := p.tok
	var parts [4]Ident
	parts[0] = p.namePart()
	n := 1
	for p.accept(tDot) {
		if n == len(parts) {
			p.tooManyParts(start, len(parts))
		}
		if p.kw(wIdentitycol) || p.kw(wRowguidcol) {
			parts[n] = p.pseudoColumn()
		} else {
			parts[n] = p.namePart()
		}
		n++
	}
	if parts[n-1].Name == "" {
		p.fail()
	}
	switch {
	case p.is(tLParen) && n > 1 && isXMLMethod(parts[n-1]):
		c := &Call{Pos: parts[n-1].Pos, Receiver: columnRef(parts[:n-1])}
		c.Name = Name{Pos: c.Pos, Object: parts[n-1]}
		p.next()
		c.Args = p.arguments(false)
		return c
	case p.is(tLParen):
		return p.call(nameOf(parts[:n]))
	case p.is(tColonColon):
		p.notSupported("static methods of CLR types")
		p.next()
		name := nameOf(append(parts[:n:n], p.ident())[n:])
		if !p.is(tLParen) {
			return &Call{Pos: name.Pos, Name: name, NoParens: true}
		}
		return p.call(name)
	}
	return columnRef(parts[:n])
}

func columnRef(parts []Ident) *ColumnRef {
	return &ColumnRef{Pos: parts[0].Pos, Parts: append([]Ident(nil), parts...)}
}

// isXMLMethod reports whether a.x(…) is a method of the xml type; their names
// are case-sensitive.
func isXMLMethod(id Ident) bool {
	switch id.Name {
	case "value", "query", "exist", "nodes", "modify":
		return true
	}
	return false
}
