package syntax

import "strings"

// alterTable takes ALTER TABLE after ALTER.
func (p *parser) alterTable(pos Pos) Statement {
	s := &AlterTable{Pos: pos}
	p.next()
	s.Table = p.name(3)
	a := &s.Action
	withCheck := false
	if p.kw(wWith) && (p.peek(1).word == wCheck || p.peek(1).word == wNocheck) {
		p.next()
		withCheck = p.kw(wCheck)
		a.WithCheck = withCheck
		p.next()
		if !p.kw(wAdd) && !p.kw(wCheck) && !p.kw(wNocheck) {
			p.fail()
		}
		if p.kw(wAdd) {
			a.WithCheck = false
			p.alterAdd(a)
			for i := range a.AddConstraints {
				a.AddConstraints[i].WithNoCheck = !withCheck
			}
			return s
		}
	}
	switch {
	case p.kw(wAdd):
		p.alterAdd(a)
	case p.kw(wDrop):
		p.alterDrop(a)
	case p.kw(wAlter) && p.peek(1).word == wIndex, p.kw(wDrop) && p.peek(1).word == wIndex:
		return p.unsupportedFrom(pos, "ALTER TABLE "+p.anyWord()+" INDEX")
	case p.kw(wAlter):
		p.next()
		p.expectKw(wColumn)
		p.alterColumn(a)
	case p.kw(wCheck), p.kw(wNocheck):
		a.NoCheck = p.kw(wNocheck)
		p.next()
		p.expectKw(wConstraint)
		if a.CheckAll = p.acceptKw(wAll); !a.CheckAll {
			a.CheckConstraints = p.identList()
		}
	case p.kw(wSet):
		p.next()
		a.SetOptions = p.indexOptions()
	case p.word("ENABLE"), p.word("DISABLE"):
		p.alterTrigger(a)
	case p.word("REBUILD"), p.word("SWITCH"):
		return p.unsupportedFrom(pos, "ALTER TABLE "+strings.ToUpper(p.raw(p.tok)))
	default:
		p.fail()
	}
	return s
}

func (p *parser) alterTrigger(a *AlterTableAction) {
	a.EnableTrigger = p.word("ENABLE")
	a.DisableTrigger = !a.EnableTrigger
	p.next()
	if p.word("CHANGE_TRACKING") || p.word("FILETABLE_NAMESPACE") {
		p.notSupported(p.anyWord())
		if p.kw(wWith) && p.peek(1).kind == tLParen {
			p.next()
			p.indexOptions()
		}
		return
	}
	p.expectKw(wTrigger)
	if a.TriggersAll = p.acceptKw(wAll); !a.TriggersAll {
		a.Triggers = p.identList()
	}
}

// alterAdd takes ADD columns and constraints.
func (p *parser) alterAdd(a *AlterTableAction) {
	p.next()
	var b TableBody
	for {
		p.tableElement(&b)
		if !p.accept(tComma) {
			break
		}
	}
	if b.Indexes != nil {
		p.notSupported("ALTER TABLE ADD INDEX")
	}
	a.AddColumns, a.AddConstraints = b.Columns, b.Constraints
}

// alterDrop takes DROP of constraints and columns.
func (p *parser) alterDrop(a *AlterTableAction) {
	p.next()
	column := false
	for {
		switch {
		case p.acceptKw(wConstraint):
			column = false
			p.acceptIfExists(&a.IfExists)
		case p.acceptKw(wColumn):
			column = true
			p.acceptIfExists(&a.IfExists)
		case p.word("PERIOD") && p.peek(1).word == wFor:
			p.notSupported("temporal tables")
			p.next()
			p.next()
			p.expectWord("SYSTEM_TIME")
			return
		}
		id := p.ident()
		if column {
			a.DropColumns = append(a.DropColumns, id)
		} else {
			a.DropConstraints = append(a.DropConstraints, id)
		}
		if p.kw(wWith) && p.peek(1).kind == tLParen {
			p.notSupported("DROP CONSTRAINT WITH")
			p.next()
			p.next()
			p.skipParens()
		}
		if !p.accept(tComma) {
			return
		}
	}
}

func (p *parser) acceptIfExists(flag *bool) {
	if p.acceptKw(wIf) {
		p.expectKw(wExists)
		*flag = true
	}
}

// alterColumn takes the rest of ALTER COLUMN.
func (p *parser) alterColumn(a *AlterTableAction) {
	if isIdent(p.tok) && (p.peek(1).word == wAdd || p.peek(1).word == wDrop) {
		p.notSupported("ALTER COLUMN ADD or DROP")
		p.next()
		p.next()
		if p.acceptKw(wNot) {
			p.replication()
		} else {
			p.anyWord()
		}
		p.alterColumnOptions(a)
		return
	}
	c := p.columnDef()
	if c.Computed != nil || c.Identity != nil || c.Constraints != nil || c.Indexes != nil {
		p.failAt(p.last)
	}
	p.alterColumnOptions(a)
	a.AlterColumn = &c
}

// alterColumnOptions takes WITH (ONLINE = …).
func (p *parser) alterColumnOptions(a *AlterTableAction) {
	if p.kw(wWith) && p.peek(1).kind == tLParen {
		p.next()
		a.AlterOptions = p.indexOptions()
	}
}
