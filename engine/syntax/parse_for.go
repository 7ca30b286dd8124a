package syntax

// forClause takes FOR JSON and FOR XML, and leaves any other FOR to the caller.
func (p *parser) forClause() *ForClause {
	next := p.peek(1)
	f := &ForClause{Pos: p.pos()}
	switch {
	case next.word == wBrowse:
		p.next()
		p.next()
		p.notSupported("FOR BROWSE")
		return nil
	case p.spells(next, "JSON"):
		p.next()
		p.next()
		if f.Mode = p.anyWord(); f.Mode != "AUTO" && f.Mode != "PATH" {
			p.failAt(p.last)
		}
	case p.spells(next, "XML"):
		f.XML = true
		p.next()
		p.next()
		p.xmlMode(f)
	default:
		return nil
	}
	for p.accept(tComma) {
		p.forOption(f)
	}
	return f
}

func (p *parser) xmlMode(f *ForClause) {
	switch f.Mode = p.anyWord(); f.Mode {
	case "PATH", "RAW":
		if p.accept(tLParen) {
			s := p.stringText()
			f.ElementName = &s
			p.expect(tRParen)
		}
	case "AUTO", "EXPLICIT":
	default:
		p.failAt(p.last)
	}
}

// forOption takes one option after the mode.
func (p *parser) forOption(f *ForClause) {
	option := p.anyWord()
	switch {
	case option == "ROOT":
		root := ""
		if p.accept(tLParen) {
			root = p.stringText()
			p.expect(tRParen)
		}
		f.Root = &root
	case option == "INCLUDE_NULL_VALUES" && !f.XML:
		f.IncludeNullValues = true
	case option == "WITHOUT_ARRAY_WRAPPER" && !f.XML:
		f.WithoutArrayWrapper = true
	case option == "TYPE" && f.XML:
		f.Type = true
	case option == "ELEMENTS" && f.XML:
		f.Elements = true
		if p.acceptWord("XSINIL") {
			p.notSupported("FOR XML ELEMENTS XSINIL")
		} else {
			p.acceptWord("ABSENT") // the default
		}
	case option == "BINARY" && f.XML:
		p.expectWord("BASE64")
		p.notSupported("FOR XML BINARY BASE64")
	case (option == "XMLSCHEMA" || option == "XMLDATA") && f.XML:
		p.notSupported("FOR XML " + option)
		if p.accept(tLParen) {
			p.stringText()
			p.expect(tRParen)
		}
	default:
		p.failAt(p.last)
	}
}
