package syntax

import "loopbroker/engine/sqlerr"

// mustBeFirst fails when the statement that began at start is not the first of
// the batch: with error 111 at the level of the batch, near its second word
// inside a block.
func (p *parser) mustBeFirst(start token, what string) {
	if start.off == p.first {
		return
	}
	if p.nested > 0 {
		p.fail()
	}
	p.bail(sqlerr.New(111, what).At(start.line))
}

// createModule takes CREATE, ALTER or CREATE OR ALTER of a module; the current
// token is its kind. The module ends where the batch ends.
func (p *parser) createModule(start token, form ModuleForm) Statement {
	verb := "CREATE "
	if form == FormAlter {
		verb = "ALTER "
	}
	switch p.tok.word {
	case wProc, wProcedure:
		p.mustBeFirst(start, "CREATE/ALTER PROCEDURE")
		return p.createProcedure(start.pos(), form)
	case wFunction:
		p.mustBeFirst(start, verb+"FUNCTION")
		return p.createFunction(start.pos(), form)
	case wView:
		p.mustBeFirst(start, verb+"VIEW")
		return p.createView(start.pos(), form)
	}
	p.mustBeFirst(start, verb+"TRIGGER")
	return p.createTrigger(start.pos(), form)
}

// moduleName takes a name of at most two parts; a database is error 166.
func (p *parser) moduleName(what string) Name {
	n := p.name(3)
	if n.Database.Name != "" {
		p.failWith(token{line: n.Line}, 166, what)
	}
	return n
}

func (p *parser) createProcedure(pos Pos, form ModuleForm) Statement {
	s := &CreateProcedure{Pos: pos, Form: form, Text: p.lex.text}
	p.next()
	s.Name = p.moduleName("CREATE/ALTER PROCEDURE")
	if p.is(tSemi) && p.peek(1).kind == tInt {
		p.next()
		if p.raw(p.tok) != "1" {
			p.notSupported("numbered procedures")
		}
		p.next()
	}
	if p.accept(tLParen) {
		s.Params = p.parameters()
		p.expect(tRParen)
	} else if p.isVariable() {
		s.Params = p.parameters()
	}
	if p.kw(wWith) {
		s.Options = p.moduleOptions()
	}
	if p.kw(wFor) {
		p.notSupported("FOR REPLICATION procedures")
		p.replication()
	}
	p.expectKw(wAs)
	s.Body = p.moduleBody(inProcedure)
	return s
}

// moduleBody takes the statements of a module up to the end of the batch.
func (p *parser) moduleBody(kind moduleKind) []Statement {
	if p.kw(wExternal) {
		p.unsupportedRest("CLR modules")
		return nil
	}
	p.module = kind
	body := p.statements(func() bool { return false })
	if body == nil {
		p.fail()
	}
	return body
}

// parameters takes the parameters of a procedure or function.
func (p *parser) parameters() []Parameter {
	var list []Parameter
	for {
		list = append(list, p.parameter())
		if !p.accept(tComma) {
			return list
		}
	}
}

func (p *parser) parameter() Parameter {
	a := Parameter{Pos: p.pos(), Name: p.variable()}
	p.acceptKw(wAs)
	a.Type = p.dataType()
	a.Varying = p.acceptKw(wVarying)
	if p.kw(wNull) || p.kw(wNot) {
		if p.acceptKw(wNot) {
			p.notSupported("NOT NULL parameters")
		}
		p.expectKw(wNull)
	}
	if p.accept(tEq) {
		a.Default = p.wordOrConstant()
	}
	for {
		switch {
		case p.acceptWord("OUTPUT"), p.acceptWord("OUT"):
			a.Output = true
		case p.acceptWord("READONLY"):
			a.ReadOnly = true
		default:
			return a
		}
	}
}

// moduleOptions takes WITH and the options of a module.
func (p *parser) moduleOptions() ModuleOptions {
	var o ModuleOptions
	p.expectKw(wWith)
	for {
		p.moduleOption(&o)
		if !p.accept(tComma) {
			return o
		}
	}
}

func (p *parser) moduleOption(o *ModuleOptions) {
	switch {
	case p.kw(wExec), p.kw(wExecute):
		p.next()
		p.expectKw(wAs)
		c := p.executeContext()
		o.ExecuteAs = &c
	case p.acceptWord("RECOMPILE"):
		o.Recompile = true
	case p.acceptWord("ENCRYPTION"):
		o.Encryption = true
	case p.acceptWord("SCHEMABINDING"):
		o.SchemaBinding = true
	case p.acceptWord("VIEW_METADATA"):
		o.ViewMetadata = true
	case p.acceptWord("NATIVE_COMPILATION"):
		p.notSupported("NATIVE_COMPILATION")
	case p.acceptWord("INLINE"):
		p.expect(tEq)
		on := p.onOff()
		o.Inline = &on
	case p.acceptWord("RETURNS"):
		p.expectKw(wNull)
		p.nullInput()
		o.ReturnsNullOnNullInput = true
	case p.acceptWord("CALLED"):
		p.nullInput()
	default:
		p.fail()
	}
}

// nullInput takes ON NULL INPUT.
func (p *parser) nullInput() {
	p.expectKw(wOn)
	p.expectKw(wNull)
	p.expectWord("INPUT")
}

func (p *parser) createFunction(pos Pos, form ModuleForm) Statement {
	s := &CreateFunction{Pos: pos, Form: form, Text: p.lex.text}
	p.next()
	s.Name = p.moduleName("CREATE FUNCTION")
	p.expect(tLParen)
	if !p.is(tRParen) {
		s.Params = p.parameters()
	}
	p.expect(tRParen)
	p.expectWord("RETURNS")
	kind := inScalarFunction
	switch {
	case p.isVariable():
		kind = inTableFunction
		s.TableVar = p.variable()
		p.expectKw(wTable)
		body := p.tableBody()
		s.Table = &body
	case p.acceptKw(wTable):
		s.Inline = true
		if p.is(tLParen) { // RETURNS TABLE (…) of a CLR function
			p.tableBody()
			p.unsupportedRest("CLR modules")
			return s
		}
	default:
		s.Returns = p.dataType()
	}
	if p.kw(wWith) {
		s.Options = p.moduleOptions()
	}
	p.acceptKw(wAs)
	if s.Inline {
		p.inlineFunction(s)
		return s
	}
	if p.kw(wExternal) {
		p.unsupportedRest("CLR modules")
		return s
	}
	if !p.kw(wBegin) {
		p.fail()
	}
	p.module = kind
	block, ok := p.statement().(*Block)
	p.accept(tSemi)
	if !p.is(tEOF) {
		p.fail()
	}
	if !ok {
		p.notSupported("BEGIN ATOMIC")
		return s
	}
	s.Body = block.Body
	if !endsInReturn(s.Body) {
		p.failWith(p.last, 455)
	}
	return s
}

// endsInReturn reports whether the last statement is RETURN, or may have been.
func endsInReturn(body []Statement) bool {
	if len(body) == 0 {
		return false
	}
	switch body[len(body)-1].(type) {
	case *Return, *Unsupported:
		return true
	}
	return false
}

// inlineFunction takes RETURN and the query.
func (p *parser) inlineFunction(s *CreateFunction) {
	p.expectKw(wReturn)
	parens := 0
	for p.is(tLParen) && (p.peek(1).word == wWith || p.peek(1).kind == tLParen) {
		p.next()
		if parens++; parens > p.maxDepth {
			p.failWith(p.tok, 191)
		}
	}
	if p.kw(wWith) {
		s.With = p.with()
	}
	s.Query = p.queryExpr()
	for range parens {
		s.Query = p.setOps(s.Query, 0)
		p.expect(tRParen)
	}
	s.Query = p.setOps(s.Query, 0)
	p.accept(tSemi)
	p.expectEOF()
}

func (p *parser) createView(pos Pos, form ModuleForm) Statement {
	s := &CreateView{Pos: pos, Form: form, Text: p.lex.text}
	p.next()
	s.Name = p.moduleName("CREATE VIEW")
	if p.is(tLParen) {
		s.Columns = p.parenIdents()
	}
	if p.kw(wWith) {
		s.Options = p.moduleOptions()
	}
	p.expectKw(wAs)
	if p.kw(wWith) {
		s.With = p.with()
	}
	s.Query = p.queryExpr()
	if p.kw(wWith) && p.peek(1).word == wCheck {
		p.next()
		p.next()
		p.expectKw(wOption)
		s.CheckOption = true
	}
	p.accept(tSemi)
	p.expectEOF()
	return s
}

func (p *parser) createTrigger(pos Pos, form ModuleForm) Statement {
	s := &CreateTrigger{Pos: pos, Form: form, Text: p.lex.text}
	p.next()
	s.Name = p.moduleName("CREATE TRIGGER")
	p.expectKw(wOn)
	if p.kw(wDatabase) || p.kw(wAll) && p.spells(p.peek(1), "SERVER") {
		p.unsupportedRest("DDL triggers")
		return s
	}
	s.Table = p.name(3)
	if p.kw(wWith) {
		s.Options = p.moduleOptions()
	}
	switch {
	case p.acceptWord("INSTEAD"):
		p.expectKw(wOf)
		s.InsteadOf = true
	case p.acceptKw(wFor), p.acceptWord("AFTER"):
	default:
		p.fail()
	}
	for {
		switch {
		case p.acceptKw(wInsert):
			s.Insert = true
		case p.acceptKw(wUpdate):
			s.Update = true
		case p.acceptKw(wDelete):
			s.Delete = true
		default:
			p.fail()
		}
		if !p.accept(tComma) {
			break
		}
	}
	if p.kw(wNot) {
		p.next()
		p.replication()
	}
	p.expectKw(wAs)
	s.Body = p.moduleBody(inTrigger)
	return s
}

// enableTrigger takes ENABLE and DISABLE TRIGGER.
func (p *parser) enableTrigger() Statement {
	s := &EnableTrigger{Pos: p.pos(), Enable: p.word("ENABLE")}
	p.next()
	p.next()
	if s.All = p.acceptKw(wAll); !s.All {
		s.Names = append(s.Names, p.name(3))
		for p.accept(tComma) {
			s.Names = append(s.Names, p.name(3))
		}
	}
	p.expectKw(wOn)
	if p.kw(wDatabase) || p.kw(wAll) {
		p.notSupported("DDL triggers")
		if !p.acceptKw(wDatabase) {
			p.next()
			p.expectWord("SERVER")
		}
		return s
	}
	s.Table = p.name(3)
	return s
}
