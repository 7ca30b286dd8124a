package syntax

import (
	"strings"

	"loopbroker/engine/sqlerr"
)

// Options says how a text is to be read.
type Options struct {
	// QuotedIdentifier makes "x" an identifier; otherwise it is a string. A SET
	// QUOTED_IDENTIFIER outside a module changes it from there on.
	QuotedIdentifier bool
	// MaxDepth bounds the nesting of expressions, queries and statements; more
	// is error 191. Zero means DefaultMaxDepth.
	MaxDepth int
}

// DefaultMaxDepth is the nesting that Parse allows unless told otherwise.
const DefaultMaxDepth = 1000

// maxHeight bounds the height of a tree that repetition without nesting
// builds, such as a + a + a, so that later stages can walk it recursively.
const maxHeight = 10000

// maxIdentifier is the longest identifier, in UTF-16 units.
const maxIdentifier = 128

// Parse reads a whole batch. The error is a *sqlerr.Error with its line.
func Parse(text string, opts Options) (*Batch, error) {
	p := newParser(text, opts)
	b := &Batch{Text: text}
	err := p.run(func() { b.Statements = p.batch() })
	if err != nil {
		return nil, err
	}
	return b, nil
}

// ParseModule reads the text of one module, as the catalog stores it: a single
// CREATE or ALTER of a procedure, function, view or trigger.
func ParseModule(text string, opts Options) (Statement, error) {
	b, err := Parse(text, opts)
	if err != nil {
		return nil, err
	}
	if len(b.Statements) != 1 {
		return nil, sqlerr.New(102, clip(text)).At(1)
	}
	switch s := b.Statements[0].(type) {
	case *CreateProcedure, *CreateFunction, *CreateView, *CreateTrigger:
		return s, nil
	case *Unsupported:
		return nil, sqlerr.Unsupported(s.Feature).At(s.Line)
	default:
		return nil, sqlerr.New(102, clip(text)).At(s.At().Line)
	}
}

// ParseExpr reads one expression or condition, such as the stored text of a
// default or a check.
func ParseExpr(text string, opts Options) (Expr, error) {
	p := newParser(text, opts)
	var x Expr
	err := p.run(func() {
		x = p.anyExpr()
		p.expectEOF()
	})
	if err == nil && p.feature != "" {
		err = sqlerr.Unsupported(p.feature).At(1)
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// ParseDataType reads one type, such as nvarchar(max).
func ParseDataType(text string, opts Options) (DataType, error) {
	p := newParser(text, opts)
	var t DataType
	err := p.run(func() {
		t = p.dataType()
		p.expectEOF()
	})
	if err == nil && p.feature != "" {
		err = sqlerr.Unsupported(p.feature).At(1)
	}
	return t, err
}

// lookahead is how many tokens beyond the current one can be looked at. The
// longest question is whether a select item is a.b.c.*: eight.
const lookahead = 8

// parser reads one text by recursive descent. Its methods panic with a bailout
// at the first error.
type parser struct {
	lex  lexer
	tok  token // the current token
	last token // the one before it

	ahead     [lookahead]token // tokens after tok
	aheadAt   int              // index of the first
	aheadSize int

	maxDepth int
	depth    int
	height   int // of the tallest expression finished in the node being read

	// feature names the first thing in the current statement that is T-SQL but
	// not in the tree.
	feature string

	module moduleKind
	first  int32 // offset of the first token
	nested int   // depth of blocks and branches within the batch or module
	loops  int
	catch  int
	labels labelSet

	windows    []windowUse // uses of named windows in the current query
	windowDefs []windowDef // named windows of the query just read
}

// moduleKind is what encloses the statements being read.
type moduleKind uint8

const (
	noModule moduleKind = iota
	inProcedure
	inScalarFunction
	inTableFunction
	inTrigger
)

// bailout carries the first error out of the parser.
type bailout struct{ err *sqlerr.Error }

func newParser(text string, opts Options) *parser {
	p := &parser{lex: lexer{text: text, line: 1, quoted: opts.QuotedIdentifier}, maxDepth: opts.MaxDepth}
	if p.maxDepth <= 0 {
		p.maxDepth = DefaultMaxDepth
	}
	return p
}

// run reads the first token, calls f and turns a bailout into an error.
func (p *parser) run(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case bailout:
			err = r.err
		default:
			panic(r)
		}
	}()
	if len(p.lex.text) > maxText {
		return sqlerr.New(191).At(1)
	}
	p.tok = p.lex.next()
	p.first = p.tok.off
	p.checkToken()
	f()
	return nil
}

// maxText keeps offsets within an int32.
const maxText = 1<<31 - 1

func (p *parser) bail(e *sqlerr.Error) { panic(bailout{e}) }

// ---------------------------------------------------------------- tokens

// next moves on to the next token.
func (p *parser) next() {
	p.last = p.tok
	if p.aheadSize > 0 {
		p.tok = p.ahead[p.aheadAt]
		p.aheadAt = (p.aheadAt + 1) % lookahead
		p.aheadSize--
	} else {
		p.tok = p.lex.next()
	}
	p.checkToken()
}

// checkToken fails when the current token is one that the lexer could not read.
func (p *parser) checkToken() {
	if p.tok.kind >= tBadQuote {
		p.bail(p.lex.lexError(p.tok))
	}
}

// peek returns the token n places after the current one, n from 1.
func (p *parser) peek(n int) token {
	for p.aheadSize < n {
		p.ahead[(p.aheadAt+p.aheadSize)%lookahead] = p.lex.next()
		p.aheadSize++
	}
	return p.ahead[(p.aheadAt+n-1)%lookahead]
}

// setQuoted changes what a double quote means from the token after the current
// one on.
func (p *parser) setQuoted(on bool) {
	if p.aheadSize > 0 {
		p.lex.pos, p.lex.line = int(p.tok.end), p.tok.line
		p.aheadSize = 0
	}
	p.lex.quoted = on
}

// pos returns the place of the current token.
func (p *parser) pos() Pos { return Pos{Offset: p.tok.off, Line: p.tok.line} }

func (t token) pos() Pos { return Pos{Offset: t.off, Line: t.line} }

// raw returns the text of a token as written.
func (p *parser) raw(t token) string { return p.lex.text[t.off:t.end] }

// textFrom returns the source text from off to the end of the last token.
func (p *parser) textFrom(off int32) string {
	if p.last.end <= off {
		return ""
	}
	return p.lex.text[off:p.last.end]
}

func (p *parser) is(k tokenKind) bool { return p.tok.kind == k }

func (p *parser) kw(w word) bool { return p.tok.word == w }

func (p *parser) accept(k tokenKind) bool {
	if p.tok.kind != k {
		return false
	}
	p.next()
	return true
}

func (p *parser) acceptKw(w word) bool {
	if p.tok.word != w {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(k tokenKind) {
	if p.tok.kind != k {
		p.fail()
	}
	p.next()
}

func (p *parser) expectKw(w word) {
	if p.tok.word != w {
		p.fail()
	}
	p.next()
}

func (p *parser) expectEOF() {
	if p.tok.kind != tEOF {
		p.fail()
	}
}

// spells reports whether t is the unquoted word s, s in upper case.
func (p *parser) spells(t token, s string) bool {
	return t.kind == tWord && int(t.end-t.off) == len(s) && equalFold(p.lex.text[t.off:t.end], s)
}

// equalFold compares a text with an upper-case ASCII word of the same length.
func equalFold(s, upper string) bool {
	for i := 0; i < len(upper); i++ {
		c := s[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}

// word reports whether the current token is the word s, reserved or not; s is
// in upper case.
func (p *parser) word(s string) bool { return p.spells(p.tok, s) }

func (p *parser) acceptWord(s string) bool {
	if !p.word(s) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expectWord(s string) {
	if !p.acceptWord(s) {
		p.fail()
	}
}

// acceptWords takes a sequence of words, or nothing of it.
func (p *parser) acceptWords(words ...string) bool {
	for i, w := range words {
		t := p.tok
		if i > 0 {
			t = p.peek(i)
		}
		if !p.spells(t, w) {
			return false
		}
	}
	for range words {
		p.next()
	}
	return true
}

// anyWord takes an unquoted word, reserved or not, and returns it in upper case.
func (p *parser) anyWord() string {
	if p.tok.kind != tWord {
		p.fail()
	}
	s := strings.ToUpper(p.raw(p.tok))
	p.next()
	return s
}

// ---------------------------------------------------------------- errors

// fail reports a syntax error at the current token.
func (p *parser) fail() { p.failAt(p.tok) }

// failAt reports a syntax error at t. The end of the text is reported by the
// last token before it.
func (p *parser) failAt(t token) {
	if t.kind >= tBadQuote {
		p.bail(p.lex.lexError(t))
	}
	if t.kind == tEOF {
		last := p.last
		p.bail(sqlerr.New(102, clip(p.lex.near(last))).At(max(last.line, 1)))
	}
	switch {
	case t.word == wWith:
		p.bail(sqlerr.New(319).At(t.line))
	case t.word != notReserved:
		p.bail(sqlerr.New(156, p.raw(t)).At(t.line))
	}
	p.bail(sqlerr.New(102, clip(p.lex.near(t))).At(t.line))
}

// failWith reports message number at t.
func (p *parser) failWith(t token, number int32, args ...any) {
	p.bail(sqlerr.New(number, args...).At(max(t.line, 1)))
}

// notSupported notes that the current statement needs a feature that the tree
// cannot express.
func (p *parser) notSupported(feature string) {
	if p.feature == "" {
		p.feature = feature
	}
}

// enter counts one level of nesting; leave ends it.
func (p *parser) enter() {
	p.depth++
	if p.depth > p.maxDepth {
		p.failWith(p.tok, 191)
	}
}

func (p *parser) leave() { p.depth-- }
