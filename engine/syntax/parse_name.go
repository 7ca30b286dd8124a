package syntax

import "unicode/utf8"

// isIdent reports whether t can be a name.
func isIdent(t token) bool {
	return t.kind == tWord && t.word == notReserved || t.kind == tQuoted
}

// ident takes a name.
func (p *parser) ident() Ident {
	if !isIdent(p.tok) {
		p.fail()
	}
	return p.takeIdent()
}

// takeIdent takes the current token, whatever word it is, as a name.
func (p *parser) takeIdent() Ident {
	t := p.tok
	id := Ident{Pos: t.pos(), Quoted: t.kind == tQuoted}
	if id.Quoted {
		id.Name = p.lex.decode(t)
		if id.Name == "" {
			p.failWith(t, 1038)
		}
	} else {
		id.Name = p.raw(t)
	}
	p.checkLength(id.Name, t)
	p.next()
	return id
}

// checkLength fails when an identifier is too long.
func (p *parser) checkLength(name string, t token) {
	if len(name) <= maxIdentifier {
		return
	}
	units := 0
	for i, r := range name {
		n := 1
		if r > 0xFFFF && r <= utf8.MaxRune {
			n = 2
		}
		if units += n; units > maxIdentifier {
			p.failWith(t, 103, "identifier", name[:i], maxIdentifier)
		}
	}
}

// variable takes @x and returns it with its @.
func (p *parser) variable() string {
	if p.tok.kind != tVariable && !(p.tok.kind == tGlobal && !isGlobal(p.raw(p.tok))) {
		p.fail()
	}
	s := p.raw(p.tok)
	p.checkLength(s, p.tok)
	p.next()
	return s
}

// variableExpr takes @x as an operand.
func (p *parser) variableExpr() *Variable {
	v := &Variable{Pos: p.pos()}
	v.Name = p.variable()
	return v
}

// isVariable reports whether the current token is @x.
func (p *parser) isVariable() bool {
	return p.tok.kind == tVariable || p.tok.kind == tGlobal && !isGlobal(p.raw(p.tok))
}

// identList takes names separated by commas.
func (p *parser) identList() []Ident {
	ids := []Ident{p.ident()}
	for p.accept(tComma) {
		ids = append(ids, p.ident())
	}
	return ids
}

// parenIdents takes (a, b, …).
func (p *parser) parenIdents() []Ident {
	p.expect(tLParen)
	ids := p.identList()
	p.expect(tRParen)
	return ids
}

// name takes an object name of at most maxParts parts.
func (p *parser) name(maxParts int) Name {
	start := p.tok
	parts := [4]Ident{p.namePart()}
	n := 1
	for p.accept(tDot) {
		if n == maxParts {
			p.tooManyParts(start, maxParts)
		}
		parts[n] = p.namePart()
		n++
	}
	if parts[n-1].Name == "" {
		p.fail()
	}
	return nameOf(parts[:n])
}

// namePart takes one part of a name. A part left out before a dot, as in
// db..object and .object, is empty.
func (p *parser) namePart() Ident {
	if p.is(tDot) {
		return Ident{Pos: p.pos()}
	}
	return p.ident()
}

func (p *parser) tooManyParts(start token, maxParts int) {
	for isIdent(p.tok) || p.is(tDot) {
		if p.next(); !p.is(tDot) && p.last.kind != tDot {
			break
		}
	}
	p.failWith(start, 117, clip(p.textFrom(start.off)), maxParts-1)
}

// nameOf makes a name of its parts, the object last.
func nameOf(parts []Ident) Name {
	n := Name{Pos: parts[0].Pos, Object: parts[len(parts)-1]}
	switch len(parts) {
	case 2:
		n.Schema = parts[0]
	case 3:
		n.Database, n.Schema = parts[0], parts[1]
	case 4:
		n.Server, n.Database, n.Schema = parts[0], parts[1], parts[2]
	}
	return n
}

// stringText takes a string constant and returns what it stands for.
func (p *parser) stringText() string {
	if p.tok.kind != tString && p.tok.kind != tNString {
		p.fail()
	}
	s := p.lex.decode(p.tok)
	p.next()
	return s
}

func (p *parser) isString() bool { return p.tok.kind == tString || p.tok.kind == tNString }
