package builtin

import (
	"slices"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// Pattern is a compiled LIKE pattern. It is immutable and may be shared.
type Pattern struct {
	tokens  []likeToken
	matcher matcher
	// invalid patterns match nothing: one with an unclosed bracket, or one that
	// ends in its escape character.
	invalid bool
	prefix  string
}

type likeKind uint8

const (
	likeUnit likeKind = iota
	likeAny           // _
	likeMany          // %
	likeSet           // [a-z]
)

type likeToken struct {
	kind   likeKind
	unit   uint16
	negate bool
	ranges [][2]uint16
}

// CompileLike compiles a LIKE pattern ("LIKE (Transact-SQL)"). escape is nil
// without ESCAPE; one that is not a single character is error 506. unicode says
// that the pattern or what it is matched with is nchar or nvarchar data, for
// which trailing blanks count.
func CompileLike(pattern string, escape *string, c *types.Collation, unicode bool) (*Pattern, error) {
	p := &Pattern{matcher: matcher{c, unicode}}
	l := likeParser{units: appendUnits(nil, pattern), escape: -1}
	if escape != nil {
		e := appendUnits(nil, *escape)
		if len(e) != 1 {
			return nil, sqlerr.New(506, *escape, "LIKE")
		}
		l.escape = int(e[0])
	}
	var literal []uint16
	literalOnly := true
	for l.pos < len(l.units) {
		t, ok := l.token()
		if !ok {
			p.invalid = true
			return p, nil
		}
		if literalOnly = literalOnly && t.kind == likeUnit; literalOnly {
			literal = append(literal, t.unit)
		}
		if n := len(p.tokens); t.kind == likeMany && n > 0 && p.tokens[n-1].kind == likeMany {
			continue
		}
		p.tokens = append(p.tokens, t)
	}
	p.prefix = unitText(literal)
	return p, nil
}

// Prefix is the text before the first wildcard, with which every match begins.
func (p *Pattern) Prefix() string { return p.prefix }

// Match reports whether s matches the pattern.
func (p *Pattern) Match(s string) bool {
	if p.invalid {
		return false
	}
	var buf [128]uint16
	return p.match(p.tokens, appendUnits(buf[:0], s))
}

// Like is s LIKE pattern ESCAPE escape.
func Like(s, pattern string, escape *string, c *types.Collation, unicode bool) (bool, error) {
	var p *Pattern
	var err error
	if escape == nil {
		p, err = patterns.compile(pattern, c, unicode)
	} else {
		p, err = CompileLike(pattern, escape, c, unicode)
	}
	if err != nil {
		return false, err
	}
	return p.Match(s), nil
}

// match goes through u with one place to come back to: after the last %.
func (p *Pattern) match(tokens []likeToken, u []uint16) bool {
	i, j := 0, 0
	backToken, backUnit := -1, 0
	for {
		if i == len(tokens) {
			if p.rest(u[j:]) {
				return true
			}
		} else if tokens[i].kind == likeMany {
			if i == len(tokens)-1 {
				return true
			}
			i++
			backToken, backUnit = i, j
			continue
		} else if j < len(u) && p.one(&tokens[i], u[j]) {
			i++
			j++
			continue
		}
		if backToken < 0 || backUnit >= len(u) {
			return false
		}
		backUnit++
		i, j = backToken, backUnit
	}
}

// rest reports whether what follows the end of the pattern may be there:
// nothing, or blanks that do not count.
func (p *Pattern) rest(u []uint16) bool {
	if p.matcher.unicode {
		return len(u) == 0
	}
	for _, x := range u {
		if x != ' ' {
			return false
		}
	}
	return true
}

func (p *Pattern) one(t *likeToken, x uint16) bool {
	switch t.kind {
	case likeUnit:
		return p.matcher.equal(x, t.unit)
	case likeSet:
		for _, r := range t.ranges {
			if r[0] == r[1] && p.matcher.equal(x, r[0]) || r[0] != r[1] && p.matcher.between(x, r[0], r[1]) {
				return !t.negate
			}
		}
		return t.negate
	}
	return true
}

// find is the first place where the pattern matches, as PATINDEX counts it from
// one; zero if there is none.
func (p *Pattern) find(u []uint16) int {
	if p.invalid {
		return 0
	}
	tokens := p.tokens
	if len(tokens) == 0 || tokens[0].kind != likeMany {
		if p.match(tokens, u) {
			return 1
		}
		return 0
	}
	tokens = tokens[1:]
	many := slices.IndexFunc(tokens, func(t likeToken) bool { return t.kind == likeMany })
	for i := 0; i <= len(u); i++ {
		if many < 0 {
			if p.match(tokens, u[i:]) {
				return i + 1
			}
			continue
		}
		if !p.starts(tokens[:many], u[i:]) {
			continue
		}
		// What comes after a % is found in every longer rest too: if it is not in
		// this one, it is in none that begins later.
		if p.match(tokens[many:], u[i+many:]) {
			return i + 1
		}
		return 0
	}
	return 0
}

// starts reports whether the tokens, none of them a %, match the first units of u.
func (p *Pattern) starts(tokens []likeToken, u []uint16) bool {
	if len(tokens) > len(u) {
		return false
	}
	for i := range tokens {
		if !p.one(&tokens[i], u[i]) {
			return false
		}
	}
	return true
}

// likeParser reads a pattern.
type likeParser struct {
	units  []uint16
	pos    int
	escape int // -1 for none
}

// next reads one unit; escaped says that it stands for itself.
func (l *likeParser) next() (unit uint16, escaped, ok bool) {
	if l.pos == len(l.units) {
		return 0, false, false
	}
	unit = l.units[l.pos]
	l.pos++
	if int(unit) != l.escape {
		return unit, false, true
	}
	if l.pos == len(l.units) {
		return 0, false, false
	}
	unit = l.units[l.pos]
	l.pos++
	return unit, true, true
}

func (l *likeParser) token() (likeToken, bool) {
	unit, escaped, ok := l.next()
	if !ok {
		return likeToken{}, false
	}
	if !escaped {
		switch unit {
		case '%':
			return likeToken{kind: likeMany}, true
		case '_':
			return likeToken{kind: likeAny}, true
		case '[':
			return l.set()
		}
	}
	return likeToken{unit: unit}, true
}

// set reads a bracket up to its end.
func (l *likeParser) set() (likeToken, bool) {
	t := likeToken{kind: likeSet}
	if l.pos+1 < len(l.units) && l.units[l.pos] == '^' && l.units[l.pos+1] != ']' {
		t.negate = true
		l.pos++
	}
	for {
		lo, escaped, ok := l.next()
		if !ok {
			return t, false
		}
		if lo == ']' && !escaped {
			return t, true
		}
		hi := lo
		if l.pos+1 < len(l.units) && l.units[l.pos] == '-' && l.units[l.pos+1] != ']' {
			l.pos++
			if hi, _, ok = l.next(); !ok {
				return t, false
			}
		}
		t.ranges = append(t.ranges, [2]uint16{lo, hi})
	}
}
