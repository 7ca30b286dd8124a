package syntax

import "strings"

// labelSet are the labels of one batch or module.
type labelSet struct {
	defined []Ident
	uses    []Ident
}

func (l *labelSet) has(id Ident) bool {
	for _, d := range l.defined {
		if strings.EqualFold(d.Name, id.Name) {
			return true
		}
	}
	return false
}

func (l *labelSet) define(p *parser, id Ident) {
	if l.has(id) {
		p.failWith(token{line: id.Line}, 132, id.Name)
	}
	l.defined = append(l.defined, id)
}

// check fails at a GOTO whose label does not exist.
func (l *labelSet) check(p *parser) {
	for _, use := range l.uses {
		if !l.has(use) {
			p.failWith(token{line: use.Line}, 133, use.Name)
		}
	}
}
