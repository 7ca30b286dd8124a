package syntax

import (
	"strconv"
	"strings"
)

// dataType takes a type. The names of several words are replaced by the one
// word they stand for: national character varying is nvarchar.
func (p *parser) dataType() DataType {
	t := DataType{Pos: p.pos()}
	switch p.tok.word {
	case notReserved:
		t.Name = p.name(3)
		p.wordedType(&t)
	case wCursor:
		p.next()
		t.Cursor = true
		t.Name = Name{Pos: t.Pos, Object: Ident{Pos: t.Pos, Name: "cursor"}}
		return t
	case wDouble:
		p.next()
		p.expectWord("PRECISION")
		p.rename(&t, "float")
	case wNational:
		p.next()
		switch {
		case p.acceptWord("CHAR"), p.acceptWord("CHARACTER"):
			p.rename(&t, "nchar")
			if p.acceptKw(wVarying) {
				p.rename(&t, "nvarchar")
			}
		case p.acceptWord("TEXT"):
			p.rename(&t, "ntext")
		default:
			p.fail()
		}
	default:
		p.fail()
	}
	if p.is(tLParen) {
		p.typeArgs(&t)
	}
	return t
}

func (p *parser) rename(t *DataType, name string) {
	t.Name = Name{Pos: t.Pos, Object: Ident{Pos: t.Pos, Name: name}}
}

// wordedType takes the VARYING after char, character and binary.
func (p *parser) wordedType(t *DataType) {
	if !p.kw(wVarying) || t.Name.Schema.Name != "" || t.Name.Object.Quoted {
		return
	}
	switch strings.ToUpper(t.Name.Object.Name) {
	case "CHAR", "CHARACTER":
		p.next()
		p.rename(t, "varchar")
	case "NCHAR":
		p.next()
		p.rename(t, "nvarchar")
	case "BINARY":
		p.next()
		p.rename(t, "varbinary")
	}
}

// typeArgs takes (max), (n) or (p, s).
func (p *parser) typeArgs(t *DataType) {
	p.next()
	switch {
	case p.acceptWord("MAX"):
		t.Max = true
	case p.is(tInt):
		t.Args = append(make([]int, 0, 2), p.typeArg())
		if p.accept(tComma) {
			t.Args = append(t.Args, p.typeArg())
		}
	case isIdent(p.tok) && strings.EqualFold(t.Name.Object.Name, "xml"):
		p.notSupported("typed XML")
		if p.word("CONTENT") || p.word("DOCUMENT") {
			p.next()
		}
		if isIdent(p.tok) {
			p.name(2)
		}
	default:
		p.fail()
	}
	p.expect(tRParen)
}

// typeArg takes a length, a precision or a scale. A number beyond int stays out
// of every type's range.
func (p *parser) typeArg() int {
	if !p.is(tInt) {
		p.fail()
	}
	n, err := strconv.Atoi(p.raw(p.tok))
	if err != nil || n > maxText {
		n = maxText
	}
	p.next()
	return n
}
