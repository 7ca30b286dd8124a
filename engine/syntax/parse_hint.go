package syntax

import (
	"slices"
	"strings"
)

// tableHints are the hints of a table.
var tableHints = map[string]bool{
	"FORCESCAN": true, "FORCESEEK": true, "HOLDLOCK": true, "IGNORE_CONSTRAINTS": true, "IGNORE_TRIGGERS": true,
	"INDEX": true, "KEEPDEFAULTS": true, "KEEPIDENTITY": true, "NOEXPAND": true, "NOLOCK": true, "NOWAIT": true,
	"PAGLOCK": true, "READCOMMITTED": true, "READCOMMITTEDLOCK": true, "READPAST": true, "READUNCOMMITTED": true,
	"REPEATABLEREAD": true, "ROWLOCK": true, "SERIALIZABLE": true, "SNAPSHOT": true,
	"SPATIAL_WINDOW_MAX_CELLS": true, "TABLOCK": true, "TABLOCKX": true, "UPDLOCK": true, "XLOCK": true,
}

// isHint reports whether t is the name of a table hint.
func (p *parser) isHint(t token) bool {
	return t.kind == tWord && tableHints[strings.ToUpper(p.raw(t))]
}

// atLegacyHints tells t (NOLOCK) from f (x).
func (p *parser) atLegacyHints() bool {
	if !p.isHint(p.peek(1)) {
		return false
	}
	after := p.peek(2).kind
	return after == tRParen || after == tComma || p.peek(1).word == wIndex
}

// hints takes WITH (…), (NOLOCK) and a bare HOLDLOCK, or nothing.
func (p *parser) hints() []Hint {
	switch {
	case p.kw(wWith):
		next := p.peek(1)
		if next.kind != tLParen {
			if isIdent(next) {
				p.failWith(next, 336, clip(p.lex.near(next)))
			}
			return nil
		}
		p.next()
	case p.is(tLParen) && p.atLegacyHints():
	case p.kw(wHoldlock):
		h := Hint{Pos: p.pos(), Name: "HOLDLOCK"}
		p.next()
		return []Hint{h}
	default:
		return nil
	}
	p.expect(tLParen)
	var list []Hint
	for {
		list = append(list, p.hint())
		// A comma between hints is customary but not required.
		if !p.accept(tComma) && !p.isHint(p.tok) {
			break
		}
	}
	p.expect(tRParen)
	p.checkHints(list)
	return list
}

// hint takes one hint; INDEX with several indexes gives one Hint.
func (p *parser) hint() Hint {
	t := p.tok
	h := Hint{Pos: t.pos()}
	if t.kind != tWord {
		p.fail()
	}
	h.Name = strings.ToUpper(p.raw(t))
	if !tableHints[h.Name] {
		if t.word != notReserved {
			p.fail()
		}
		p.failWith(t, 321, p.raw(t))
	}
	p.next()
	switch h.Name {
	case "INDEX":
		if p.accept(tEq) && !p.is(tLParen) {
			h.Args = []Ident{p.indexName()}
			break
		}
		p.expect(tLParen)
		h.Args = append(h.Args, p.indexName())
		for p.accept(tComma) {
			h.Args = append(h.Args, p.indexName())
		}
		p.expect(tRParen)
	case "FORCESEEK":
		if p.accept(tLParen) {
			h.Args = append(h.Args, p.indexName())
			p.expect(tLParen)
			h.Args = append(h.Args, p.identList()...)
			p.expect(tRParen)
			p.expect(tRParen)
		}
	case "SPATIAL_WINDOW_MAX_CELLS":
		p.expect(tEq)
		h.Args = []Ident{p.indexName()}
	}
	return h
}

// indexName takes the name or the number of an index.
func (p *parser) indexName() Ident {
	if p.is(tInt) {
		id := Ident{Pos: p.pos(), Name: p.raw(p.tok)}
		p.next()
		return id
	}
	return p.ident()
}

// queryHints are the hints of OPTION by their first word: the second words that
// each takes, "" for none.
var queryHints = map[string][]string{
	"HASH": {"GROUP", "JOIN", "UNION"}, "ORDER": {"GROUP"}, "CONCAT": {"UNION"}, "MERGE": {"JOIN", "UNION"},
	"LOOP": {"JOIN"}, "EXPAND": {"VIEWS"}, "FAST": {""}, "FORCE": {"ORDER", "EXTERNALPUSHDOWN", "SCALEOUTEXECUTION"},
	"DISABLE":                               {"EXTERNALPUSHDOWN", "SCALEOUTEXECUTION", "OPTIMIZED_PLAN_FORCING"},
	"IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX": {""}, "KEEP": {"PLAN"}, "KEEPFIXED": {"PLAN"}, "LABEL": {""},
	"MAXDOP": {""}, "MAXRECURSION": {""}, "MAX_GRANT_PERCENT": {""}, "MIN_GRANT_PERCENT": {""},
	"NO_PERFORMANCE_SPOOL": {""}, "OPTIMIZE": {"FOR"}, "PARAMETERIZATION": {"SIMPLE", "FORCED"},
	"QUERYTRACEON": {""}, "RECOMPILE": {""}, "ROBUST": {"PLAN"}, "TABLE": {"HINT"}, "USE": {"HINT", "PLAN"},
}

// option takes OPTION (…), or nothing.
func (p *parser) option() []QueryHint {
	if !p.acceptKw(wOption) {
		return nil
	}
	p.expect(tLParen)
	var list []QueryHint
	for {
		list = append(list, p.queryHint())
		if !p.accept(tComma) {
			break
		}
	}
	p.expect(tRParen)
	return list
}

func (p *parser) queryHint() QueryHint {
	t := p.tok
	h := QueryHint{Pos: t.pos(), Name: p.anyWord()}
	second, known := queryHints[h.Name]
	if !known {
		p.failAt(t)
	}
	if second[0] != "" {
		w := p.tok
		s := p.anyWord()
		if !slices.Contains(second, s) {
			p.failAt(w)
		}
		h.Name += " " + s
	}
	switch h.Name {
	case "OPTIMIZE FOR":
		if p.acceptWord("UNKNOWN") {
			h.Name += " UNKNOWN"
			break
		}
		h.Args = p.optimizeFor()
	case "USE HINT":
		p.expect(tLParen)
		for {
			h.Args = append(h.Args, &Literal{Pos: p.pos(), Kind: LitString, Text: p.stringText()})
			if !p.accept(tComma) {
				break
			}
		}
		p.expect(tRParen)
	case "USE PLAN":
		if !p.isString() {
			p.fail()
		}
		h.Args = []Expr{p.literal()}
	case "TABLE HINT":
		p.notSupported("OPTION (TABLE HINT)")
		p.expect(tLParen)
		p.skipParens()
	case "LABEL", "MAX_GRANT_PERCENT", "MIN_GRANT_PERCENT":
		p.expect(tEq)
		h.Args = []Expr{p.literal()}
	case "FAST", "MAXDOP", "MAXRECURSION", "QUERYTRACEON":
		if !p.is(tInt) {
			p.fail()
		}
		h.Args = []Expr{p.literal()}
	}
	return h
}

// optimizeFor takes (@a = 1, @b UNKNOWN): an equality, or a variable alone.
func (p *parser) optimizeFor() []Expr {
	p.expect(tLParen)
	var args []Expr
	for {
		v := p.variableExpr()
		if p.acceptWord("UNKNOWN") {
			args = append(args, v)
		} else {
			pos := p.pos()
			p.expect(tEq)
			args = append(args, &Binary{Pos: pos, Op: OpEq, L: v, R: p.constant()})
		}
		if !p.accept(tComma) {
			break
		}
	}
	p.expect(tRParen)
	return args
}
