package syntax

import "strings"

// Backup is BACKUP DATABASE name TO DISK = file [WITH options].
type Backup struct {
	Pos
	// Database is a Literal (string) or a Variable.
	Database Expr
	// File is a Literal (string) or a Variable.
	File    Expr
	Options []BackupOption
}

// BackupOption is one option, such as STATS = 10.
type BackupOption struct {
	Pos
	Name  string // upper case
	Value Expr   // nil without one
}

func (*Backup) statement() {}

// backup takes BACKUP. All but a backup of a database to one file is skipped.
func (p *parser) backup() Statement {
	pos := p.pos()
	if !p.spells(p.peek(1), "DATABASE") {
		return p.unsupported("BACKUP " + strings.ToUpper(p.raw(p.peek(1))))
	}
	p.next()
	p.next()
	s := &Backup{Pos: pos}
	if p.isVariable() {
		s.Database = p.constant()
	} else {
		id := p.ident()
		s.Database = &Literal{Pos: id.Pos, Kind: LitNString, Text: id.Name}
	}
	if p.word("FILE") || p.word("FILEGROUP") || p.word("READ_WRITE_FILEGROUPS") {
		return p.unsupportedFrom(pos, "BACKUP DATABASE "+strings.ToUpper(p.raw(p.tok)))
	}
	p.expectKw(wTo)
	if !p.word("DISK") {
		where := "a backup device"
		if p.word("URL") || p.word("TAPE") {
			where = strings.ToUpper(p.raw(p.tok))
		}
		return p.unsupportedFrom(pos, "BACKUP DATABASE TO "+where)
	}
	p.next()
	p.expect(tEq)
	if !p.isString() && !p.isVariable() {
		p.fail()
	}
	s.File = p.constant()
	if p.is(tComma) {
		return p.unsupportedFrom(pos, "BACKUP DATABASE to more than one file")
	}
	if p.word("MIRROR") {
		return p.unsupportedFrom(pos, "BACKUP DATABASE MIRROR TO")
	}
	if p.acceptKw(wWith) {
		for {
			s.Options = append(s.Options, p.backupOption())
			if !p.accept(tComma) {
				break
			}
		}
	}
	return s
}

// backupValues are the options that have a value, and whether it must be there.
var backupValues = map[string]bool{"NAME": true, "DESCRIPTION": true, "STATS": false}

// backupFlags are the options without one.
var backupFlags = map[string]bool{
	"INIT": true, "NOINIT": true, "FORMAT": true, "NOFORMAT": true, "COPY_ONLY": true, "CHECKSUM": true, "COMPRESSION": true,
	"NO_COMPRESSION": true, "STOP_ON_ERROR": true, "SKIP": true, "NOSKIP": true, "REWIND": true, "NOREWIND": true,
	"UNLOAD": true, "NOUNLOAD": true,
}

func (p *parser) backupOption() BackupOption {
	o := BackupOption{Pos: p.pos(), Name: p.anyWord()}
	must, valued := backupValues[o.Name]
	switch {
	case valued && p.accept(tEq):
		o.Value = p.constant()
	case must:
		p.fail()
	case valued || backupFlags[o.Name]:
	default:
		p.notSupported("BACKUP DATABASE WITH " + o.Name)
		if p.accept(tEq) {
			p.constant()
		}
		if p.accept(tLParen) {
			p.skipParens()
		}
	}
	return o
}

// restoreStatement takes RESTORE, which is for the start of the server.
func (p *parser) restoreStatement() Statement {
	what := "RESTORE"
	if next := p.peek(1); next.kind == tWord {
		what += " " + strings.ToUpper(p.raw(next))
	}
	return p.unsupported(what + " (restore when the server starts: loopbroker serve --restore FILE, or engine.Options.Restore)")
}

func (w *printer) backup(s *Backup) {
	w.put("BACKUP DATABASE ")
	if l, ok := s.Database.(*Literal); ok {
		w.put(bracketed(l.Text))
	} else {
		w.put(s.Database)
	}
	w.put(" TO DISK = ", s.File)
	for i, o := range s.Options {
		w.when(i == 0, " WITH ")
		w.when(i > 0, ", ")
		w.put(o.Name)
		w.optional(" = ", o.Value)
	}
}
