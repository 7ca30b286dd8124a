package syntax

import "strings"

// createLogin takes CREATE and ALTER LOGIN.
func (p *parser) createLogin(pos Pos, alter bool) Statement {
	s := &CreateLogin{Pos: pos, Alter: alter}
	p.next()
	s.Name = p.ident()
	switch {
	case alter && p.acceptWord("ENABLE"):
		s.Enable = true
		return s
	case alter && p.acceptWord("DISABLE"):
		s.Disable = true
		return s
	case alter && (p.kw(wAdd) || p.kw(wDrop)):
		return p.unsupportedFrom(pos, "CREDENTIAL of a login")
	case !alter && p.acceptKw(wFrom):
		if !p.acceptWord("WINDOWS") {
			return p.unsupportedFrom(pos, "CREATE LOGIN FROM "+p.anyWord())
		}
		s.FromWindows = true
		if !p.acceptKw(wWith) {
			return s
		}
	default:
		p.expectKw(wWith)
	}
	for {
		p.loginOption(s)
		if !p.accept(tComma) {
			return s
		}
	}
}

// loginOption takes one NAME = value.
func (p *parser) loginOption(s *CreateLogin) {
	if p.acceptWords("NO", "CREDENTIAL") {
		p.notSupported("CREDENTIAL of a login")
		return
	}
	name := p.anyWord()
	p.expect(tEq)
	if name != "PASSWORD" {
		s.Options = append(s.Options, IndexOption{Name: name, Value: p.loginValue()})
		return
	}
	if p.is(tBinary) {
		p.notSupported("HASHED passwords")
		p.next()
	} else {
		text := p.stringText()
		s.Password = &text
	}
	for {
		switch {
		case p.acceptWord("HASHED"):
			p.notSupported("HASHED passwords")
		case p.acceptWord("MUST_CHANGE"):
			s.Options = append(s.Options, IndexOption{Name: "MUST_CHANGE", Value: "ON"})
		case p.acceptWord("UNLOCK"):
			s.Options = append(s.Options, IndexOption{Name: "UNLOCK", Value: "ON"})
		case p.word("OLD_PASSWORD"):
			p.next()
			p.expect(tEq)
			s.Options = append(s.Options, IndexOption{Name: "OLD_PASSWORD", Value: p.stringText()})
		default:
			return
		}
	}
}

// loginValue takes the value of an option: a name without its quotes, a
// constant as written, or ON and OFF.
func (p *parser) loginValue() string {
	switch {
	case isIdent(p.tok):
		return p.ident().Name
	case p.isString():
		return p.stringText()
	case p.is(tBinary), p.is(tInt), p.kw(wOn), p.kw(wOff), p.kw(wNull):
		s := strings.ToUpper(p.raw(p.tok))
		p.next()
		return s
	}
	p.fail()
	return ""
}

// createUser takes CREATE and ALTER USER.
func (p *parser) createUser(pos Pos, alter bool) Statement {
	s := &CreateUser{Pos: pos, Alter: alter}
	p.next()
	s.Name = p.ident()
	switch {
	case alter:
	case p.kw(wFor), p.kw(wFrom):
		p.next()
		if !p.acceptWord("LOGIN") {
			return p.unsupportedFrom(pos, "CREATE USER FOR "+p.anyWord())
		}
		s.Login = p.ident()
	case p.acceptWord("WITHOUT"):
		p.expectWord("LOGIN")
		s.WithoutLogin = true
	}
	if !p.kw(wWith) {
		if alter {
			p.fail()
		}
		return s
	}
	p.next()
	for {
		p.userOption(s)
		if !p.accept(tComma) {
			return s
		}
	}
}

func (p *parser) userOption(s *CreateUser) {
	t := p.tok
	name := p.anyWord()
	p.expect(tEq)
	switch name {
	case "DEFAULT_SCHEMA":
		if p.kw(wNull) {
			p.notSupported("DEFAULT_SCHEMA = NULL")
			p.next()
			return
		}
		s.DefaultSchema = p.ident()
	case "NAME":
		s.NewName = p.ident()
	case "LOGIN":
		s.Login = p.ident()
	case "PASSWORD", "SID", "DEFAULT_LANGUAGE", "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS":
		p.notSupported(name + " of a user")
		p.loginValue()
		if p.acceptWord("OLD_PASSWORD") {
			p.expect(tEq)
			p.stringText()
		}
	default:
		p.failAt(t)
	}
}

func (p *parser) createRole(pos Pos) Statement {
	s := &CreateRole{Pos: pos}
	p.next()
	s.Name = p.ident()
	if p.acceptKw(wAuthorization) {
		s.Owner = p.ident()
	}
	return s
}

// alterRole takes ALTER [SERVER] ROLE name ADD or DROP MEMBER.
func (p *parser) alterRole(pos Pos) Statement {
	s := &AlterRole{Pos: pos}
	s.Server = p.acceptWord("SERVER")
	p.next()
	s.Name = p.ident()
	switch {
	case p.acceptKw(wAdd):
		p.expectWord("MEMBER")
		s.Add = p.ident()
	case p.acceptKw(wDrop):
		p.expectWord("MEMBER")
		s.Drop = p.ident()
	case p.acceptKw(wWith):
		p.notSupported("renaming a role")
		p.expectWord("NAME")
		p.expect(tEq)
		p.ident()
	default:
		p.fail()
	}
	return s
}

func (p *parser) alterAuthorization(pos Pos) Statement {
	s := &AlterAuthorization{Pos: pos}
	p.next()
	p.expectKw(wOn)
	if s.Class = p.securableClass(); s.Class == "" {
		s.Class = "OBJECT"
	}
	s.On = p.name(3)
	p.expectKw(wTo)
	if p.acceptKw(wSchema) {
		p.expectWord("OWNER")
		s.To = Ident{Pos: p.last.pos(), Name: "SCHEMA OWNER"}
	} else {
		s.To = p.ident()
	}
	return s
}

// securableClass takes CLASS:: in upper case, or nothing.
func (p *parser) securableClass() string {
	n := 0
	for ; n < 3; n++ {
		t := p.tok
		if n > 0 {
			t = p.peek(n)
		}
		if t.kind == tColonColon {
			break
		}
		if t.kind != tWord {
			return ""
		}
	}
	if n == 0 || n == 3 && p.peek(3).kind != tColonColon {
		return ""
	}
	var words []string
	for !p.is(tColonColon) {
		words = append(words, p.anyWord())
	}
	p.next()
	return strings.Join(words, " ")
}

// grant takes GRANT, DENY and REVOKE.
func (p *parser) grant() Statement {
	s := &Grant{Pos: p.pos(), Verb: p.anyWord()}
	if s.Verb == "REVOKE" && p.word("GRANT") {
		p.next()
		p.expectKw(wOption)
		p.expectKw(wFor)
		s.GrantOption = true
	}
	for {
		s.Permissions = append(s.Permissions, p.permission(s))
		if !p.accept(tComma) {
			break
		}
	}
	if p.acceptKw(wOn) {
		s.Class = p.securableClass()
		n := p.name(3)
		s.On = &n
		if s.Class == "" {
			s.Class = "OBJECT"
		}
		if p.is(tLParen) {
			s.Columns = append(s.Columns, p.parenIdents()...)
		}
	}
	if s.Verb != "REVOKE" || !p.acceptKw(wFrom) {
		p.expectKw(wTo)
	}
	for {
		s.To = append(s.To, p.principal())
		if !p.accept(tComma) {
			break
		}
	}
	p.grantTail(s)
	return s
}

// grantTail takes WITH GRANT OPTION, CASCADE and AS.
func (p *parser) grantTail(s *Grant) {
	if s.Verb == "GRANT" && p.kw(wWith) && p.peek(1).word == wGrant {
		p.next()
		p.next()
		p.expectKw(wOption)
		s.GrantOption = true
	}
	if s.Verb != "GRANT" && p.acceptKw(wCascade) {
		s.Cascade = true
	}
	if p.acceptKw(wAs) {
		p.notSupported(s.Verb + " AS")
		p.principal()
	}
}

func (p *parser) principal() Ident {
	if p.kw(wPublic) {
		return p.takeIdent()
	}
	return p.ident()
}

// permission takes the words of one permission, with its columns.
func (p *parser) permission(s *Grant) string {
	var words []string
	for p.tok.kind == tWord && !p.kw(wOn) && !p.kw(wTo) && !p.kw(wFrom) {
		words = append(words, p.anyWord())
	}
	if words == nil {
		p.fail()
	}
	if p.is(tLParen) {
		s.Columns = append(s.Columns, p.parenIdents()...)
	}
	name := strings.Join(words, " ")
	switch name {
	case "EXEC":
		return "EXECUTE"
	case "ALL PRIVILEGES":
		return "ALL"
	}
	return name
}
