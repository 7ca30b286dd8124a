package syntax

import "strings"

// unsupported takes a statement that T-SQL has and the tree has not, up to its
// sensible end: a semicolon, or a word that can only begin another statement.
// The current token is its first word.
func (p *parser) unsupported(feature string) Statement {
	pos := p.pos()
	p.next()
	return p.unsupportedFrom(pos, feature)
}

// unsupportedFrom is unsupported for a statement that began at pos.
func (p *parser) unsupportedFrom(pos Pos, feature string) Statement {
	p.notSupported(feature)
	// The second word may be one that begins a statement: BULK INSERT.
	if !p.is(tEOF) && !p.is(tSemi) && !p.is(tLParen) && !p.kw(wEnd) {
		p.next()
	}
	for cases := 0; !p.atStatementEnd(cases > 0, strings.HasPrefix(feature, "ALTER ")); p.next() {
		switch {
		case p.is(tLParen):
			p.next()
			p.skipToClosing()
		case p.kw(wCase):
			cases++
		case p.kw(wEnd):
			cases--
		}
	}
	return &Unsupported{Pos: pos, Feature: feature}
}

// atStatementEnd reports whether a statement that is only skipped ends here.
// inCase is set within CASE … END, alter in an ALTER, which may go on with
// DROP, SET or MERGE.
func (p *parser) atStatementEnd(inCase, alter bool) bool {
	switch p.tok.kind {
	case tEOF, tSemi:
		return true
	case tRParen:
		p.fail()
	}
	switch p.tok.word {
	case wElse, wEnd:
		return !inCase
	case wDrop, wMerge:
		return !alter
	case wSet:
		return !alter && p.peek(1).kind != tLParen
	}
	switch p.tok.word {
	case wSelect, wInsert, wUpdate, wDelete, wBegin, wIf, wWhile, wBreak, wContinue, wGoto, wReturn, wDeclare,
		wExec, wExecute, wPrint, wRaiserror, wWaitfor, wCommit, wRollback, wSave, wUse, wOpen, wClose, wDeallocate,
		wFetch, wTruncate, wCreate, wAlter, wGrant, wDeny, wRevoke, wDbcc, wBackup, wRestore,
		wBulk, wKill, wCheckpoint, wReconfigure, wRevert, wShutdown:
		return true
	}
	return false
}

// unsupportedRest takes everything up to the end of the batch.
func (p *parser) unsupportedRest(feature string) {
	p.notSupported(feature)
	for !p.is(tEOF) {
		p.next()
	}
}

// reservedUnsupported takes the statements whose first word is reserved and
// that only a full SQL Server has.
func (p *parser) reservedUnsupported() Statement {
	switch p.tok.word {
	case wBackup:
		return p.backup()
	case wRestore:
		return p.restoreStatement()
	case wDbcc, wShutdown, wReadtext, wWritetext, wUpdatetext, wSetuser, wLineno, wDump, wLoad:
		return p.unsupported(strings.ToUpper(p.raw(p.tok)))
	case wBulk:
		if p.peek(1).word == wInsert {
			return p.unsupported("BULK INSERT")
		}
	case wAdd:
		if next := p.peek(1); p.spells(next, "SIGNATURE") || p.spells(next, "COUNTER") {
			return p.unsupported("ADD SIGNATURE")
		} else if p.spells(next, "SENSITIVITY") {
			return p.unsupported("ADD SENSITIVITY CLASSIFICATION")
		}
	case wEnd:
		if p.spells(p.peek(1), "CONVERSATION") {
			return p.unsupported("END CONVERSATION")
		}
	}
	p.fail()
	return nil
}

// contextualUnsupported takes such statements that begin with an ordinary word,
// or returns nil. next is the token after it.
func (p *parser) contextualUnsupported(next token) Statement {
	switch {
	case p.word("SEND") && next.word == wOn:
		return p.unsupported("SEND")
	case p.word("RECEIVE") && p.tok.off != p.first,
		p.word("RECEIVE") && (next.word == wTop || next.kind == tStar || isIdent(next) && p.peek(2).kind == tComma):
		return p.unsupported("RECEIVE")
	case p.word("GET") && p.spells(next, "CONVERSATION"):
		return p.unsupported("GET CONVERSATION GROUP")
	case p.word("MOVE") && p.spells(next, "CONVERSATION"):
		return p.unsupported("MOVE CONVERSATION")
	}
	return nil
}
