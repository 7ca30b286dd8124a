package syntax

import "strings"

// maxGroupingSets is the number of grouping sets that SQL Server allows.
const maxGroupingSets = 4096

// groupBy takes what follows GROUP. Several grouping elements multiply: their
// sets are combined into one list.
func (p *parser) groupBy() *GroupBy {
	g := &GroupBy{Pos: p.pos()}
	p.expectKw(wBy)
	if p.acceptKw(wAll) {
		p.notSupported("GROUP BY ALL")
	}
	sets, plain := [][]Expr{nil}, true
	for {
		element, isSets := p.groupingElement()
		plain = plain && !isSets
		if plain {
			g.Items = append(g.Items, element[0]...)
		}
		sets = p.multiply(sets, element)
		if !p.accept(tComma) {
			break
		}
	}
	if plain && p.kw(wWith) {
		if next := p.peek(1); p.spells(next, "ROLLUP") || p.spells(next, "CUBE") {
			p.next()
			cube := p.anyWord() == "CUBE"
			sets, plain = p.rollup(singletons(g.Items), cube), false
		}
	}
	if !plain {
		g.Items, g.Sets = nil, sets
	}
	return g
}

// multiply pairs every set of a with every set of b.
func (p *parser) multiply(a, b [][]Expr) [][]Expr {
	p.checkSets(len(a) * len(b))
	product := make([][]Expr, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			product = append(product, append(append([]Expr{}, x...), y...))
		}
	}
	return product
}

func (p *parser) checkSets(n int) {
	if n > maxGroupingSets {
		p.failWith(p.tok, 10703, maxGroupingSets)
	}
}

func singletons(items []Expr) [][]Expr {
	sets := make([][]Expr, len(items))
	for i, x := range items {
		sets[i] = []Expr{x}
	}
	return sets
}

// groupingElement takes one element of GROUP BY as the list of its sets.
// isSets tells ROLLUP, CUBE, GROUPING SETS and () from a plain expression.
func (p *parser) groupingElement() (sets [][]Expr, isSets bool) {
	p.enter()
	defer p.leave()
	switch {
	case (p.word("ROLLUP") || p.word("CUBE")) && p.peek(1).kind == tLParen:
		cube := p.anyWord() == "CUBE"
		p.next()
		var parts [][]Expr
		for {
			parts = append(parts, p.groupingColumns())
			if !p.accept(tComma) {
				break
			}
		}
		p.expect(tRParen)
		return p.rollup(parts, cube), true
	case p.word("GROUPING") && p.spells(p.peek(1), "SETS") && p.peek(2).kind == tLParen:
		p.next()
		p.next()
		p.next()
		for {
			sets = append(sets, p.groupingSet()...)
			p.checkSets(len(sets))
			if !p.accept(tComma) {
				break
			}
		}
		p.expect(tRParen)
		return sets, true
	case p.is(tLParen) && p.peek(1).kind == tRParen:
		p.next()
		p.next()
		return [][]Expr{{}}, true
	}
	return [][]Expr{{p.expr()}}, false
}

// groupingSet takes one element of GROUPING SETS.
func (p *parser) groupingSet() [][]Expr {
	if p.is(tLParen) && p.peek(1).kind != tRParen {
		return [][]Expr{p.groupingColumns()}
	}
	sets, _ := p.groupingElement()
	return sets
}

// groupingColumns takes a column, or columns in parentheses that stand
// together.
func (p *parser) groupingColumns() []Expr {
	if !p.is(tLParen) {
		return []Expr{p.expr()}
	}
	p.next()
	cols := p.exprList()
	p.expect(tRParen)
	return cols
}

// rollup returns the sets of ROLLUP or CUBE over parts.
func (p *parser) rollup(parts [][]Expr, cube bool) [][]Expr {
	var sets [][]Expr
	if !cube {
		for n := len(parts); n >= 0; n-- {
			sets = append(sets, concat(parts[:n]))
		}
		p.checkSets(len(sets))
		return sets
	}
	if len(parts) > 12 {
		p.checkSets(maxGroupingSets + 1)
	}
	for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
		var chosen [][]Expr
		for i, part := range parts {
			if mask>>(len(parts)-1-i)&1 == 1 {
				chosen = append(chosen, part)
			}
		}
		sets = append(sets, concat(chosen))
	}
	return sets
}

func concat(parts [][]Expr) []Expr {
	all := []Expr{}
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// ---------------------------------------------------------------- named windows

// windowUse is an OVER clause that refers to a named window.
type windowUse struct {
	over *Over
	at   token
	name string
}

// windowDef is one definition of a WINDOW clause.
type windowDef struct {
	name string
	over *Over
}

// atWindowClause tells the clause WINDOW w AS (…) from an alias.
func (p *parser) atWindowClause() bool {
	return p.word("WINDOW") && isIdent(p.peek(1)) && p.peek(2).word == wAs && p.peek(3).kind == tLParen
}

// windowClause takes WINDOW and its definitions.
func (p *parser) windowClause() {
	p.next()
	for {
		def := windowDef{name: p.ident().Name}
		def.over = &Over{Pos: p.pos()}
		p.expectKw(wAs)
		p.window(def.over)
		p.windowDefs = append(p.windowDefs, def)
		if !p.accept(tComma) {
			return
		}
	}
}

// resolveWindows gives every OVER that names a window the parts of its
// definition. A name may refer to another name; a circle is a syntax error.
func (p *parser) resolveWindows() {
	uses := p.windows
	p.windows = nil
	for range len(p.windowDefs) + 1 {
		var waiting []windowUse
		for _, use := range uses {
			def := p.windowDef(use)
			if names(uses, def) {
				waiting = append(waiting, use)
				continue
			}
			inherit(use.over, def)
		}
		if uses = waiting; len(uses) == 0 {
			return
		}
	}
	p.failAt(uses[0].at)
}

// windowDef finds the definition that use names.
func (p *parser) windowDef(use windowUse) *Over {
	for _, def := range p.windowDefs {
		if strings.EqualFold(def.name, use.name) {
			return def.over
		}
	}
	p.failAt(use.at)
	return nil
}

// names reports whether o itself still refers to a named window.
func names(uses []windowUse, o *Over) bool {
	for _, use := range uses {
		if use.over == o {
			return true
		}
	}
	return false
}

func inherit(o, def *Over) {
	if o.PartitionBy == nil {
		o.PartitionBy = def.PartitionBy
	}
	if o.OrderBy == nil {
		o.OrderBy = def.OrderBy
	}
	if o.Frame == nil {
		o.Frame = def.Frame
	}
}
