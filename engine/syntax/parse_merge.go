package syntax

// merge takes MERGE without the semicolon that it needs.
func (p *parser) merge(with []CTE) Statement {
	s := &Merge{Pos: p.pos(), With: with}
	p.next()
	if p.kw(wTop) {
		s.Top = p.top(false)
	}
	p.acceptKw(wInto)
	s.Target = p.mergeTarget()
	p.expectWord("USING")
	s.Source = p.joined()
	p.expectKw(wOn)
	s.On = p.condition()
	if !p.kw(wWhen) {
		p.fail()
	}
	for p.kw(wWhen) {
		s.Actions = append(s.Actions, p.mergeAction())
	}
	s.Output = p.output()
	s.Option = p.option()
	return s
}

func (p *parser) mergeTarget() TableExpr {
	x := p.target()
	var alias Ident
	if p.acceptKw(wAs) {
		alias = p.ident()
	} else if isIdent(p.tok) && !p.word("USING") {
		alias = p.ident()
	}
	switch t := x.(type) {
	case *TableRef:
		t.Alias = alias
		if t.Hints == nil {
			t.Hints = p.hints()
			p.checkTarget(t.Hints, false)
		}
	case *VariableRef:
		t.Alias = alias
	}
	return x
}

// mergeAction takes one WHEN … THEN.
func (p *parser) mergeAction() MergeAction {
	a := MergeAction{Pos: p.pos()}
	p.next()
	when := "WHEN MATCHED"
	if p.acceptKw(wNot) {
		when = "WHEN NOT MATCHED"
		a.Match = WhenNotMatchedByTarget
		p.expectWord("MATCHED")
		if p.acceptKw(wBy) {
			if p.acceptWord("SOURCE") {
				when = "WHEN NOT MATCHED BY SOURCE"
				a.Match = WhenNotMatchedBySource
			} else {
				p.expectWord("TARGET")
			}
		}
	} else {
		p.expectWord("MATCHED")
	}
	if p.acceptKw(wAnd) {
		a.And = p.condition()
	}
	p.expectKw(wThen)
	t := p.tok
	insert := a.Match == WhenNotMatchedByTarget
	switch t.word {
	case wUpdate, wDelete:
		if insert {
			p.failWith(t, 10710, upperWord(t.word), when)
		}
		p.next()
		if t.word == wDelete {
			a.Delete = true
		} else {
			a.Update = p.setClauses()
		}
	case wInsert:
		if !insert {
			p.failWith(t, 10710, "INSERT", when)
		}
		p.next()
		a.Insert = p.mergeInsert()
	default:
		p.fail()
	}
	return a
}

func upperWord(w word) string {
	if w == wDelete {
		return "DELETE"
	}
	return "UPDATE"
}

func (p *parser) mergeInsert() *MergeInsert {
	m := &MergeInsert{}
	if p.is(tLParen) {
		m.Columns = p.columnList()
	}
	if p.acceptKw(wDefault) {
		p.expectKw(wValues)
		return m
	}
	p.expectKw(wValues)
	p.expect(tLParen)
	m.Values = p.row(true)
	return m
}
