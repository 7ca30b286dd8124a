package syntax

import "unicode/utf8"

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tEOF        tokenKind = iota
	tWord                 // unquoted identifier or reserved word, #temp, $action
	tQuoted               // [x], or "x" while QUOTED_IDENTIFIER is on
	tVariable             // @x
	tGlobal               // @@x
	tString               // 'x', or "x" while QUOTED_IDENTIFIER is off
	tNString              // N'x'
	tInt                  // 42
	tDecimal              // 4.2
	tFloat                // 4e2
	tMoney                // $4.2
	tBinary               // 0xAB
	tLParen               // (
	tRParen               // )
	tLBrace               // {
	tRBrace               // }
	tComma                // ,
	tDot                  // .
	tSemi                 // ;
	tColon                // :
	tColonColon           // ::
	tEq                   // =
	tLt                   // <
	tGt                   // >
	tLe                   // <=
	tGe                   // >=
	tNe                   // <> and !=
	tShift                // << and >>
	tNotLt                // !<
	tNotGt                // !>
	tBang                 // !
	tPlus                 // +
	tMinus                // -
	tStar                 // *
	tSlash                // /
	tPercent              // %
	tAmp                  // &
	tPipe                 // |
	tCaret                // ^
	tTilde                // ~
	tPlusEq               // +=
	tMinusEq              // -=
	tStarEq               // *=
	tSlashEq              // /=
	tPercentEq            // %=
	tAmpEq                // &=
	tPipeEq               // |=
	tCaretEq              // ^=
	tOther                // a character that begins no token
	tBadQuote             // a quotation mark that is never closed
	tBadComment           // a comment that is never closed
)

// token is one token. off and end bound its text in the batch, quotes included.
type token struct {
	kind    tokenKind
	word    word // of an unquoted identifier
	escaped bool // a doubled quote or a line continuation is inside
	off     int32
	end     int32
	line    int32
}

// operators of one character.
var singles = [utf8.RuneSelf]tokenKind{
	'(': tLParen, ')': tRParen, '{': tLBrace, '}': tRBrace, ',': tComma, '.': tDot, ';': tSemi, ':': tColon,
	'=': tEq, '<': tLt, '>': tGt, '!': tBang, '+': tPlus, '-': tMinus, '*': tStar, '/': tSlash, '%': tPercent,
	'&': tAmp, '|': tPipe, '^': tCaret, '~': tTilde,
}

// pair returns the kind of the operator made of two characters, or tEOF.
func pair(c, d byte) tokenKind {
	if d == '=' {
		switch c {
		case '<':
			return tLe
		case '>':
			return tGe
		case '!':
			return tNe
		case '+':
			return tPlusEq
		case '-':
			return tMinusEq
		case '*':
			return tStarEq
		case '/':
			return tSlashEq
		case '%':
			return tPercentEq
		case '&':
			return tAmpEq
		case '|':
			return tPipeEq
		case '^':
			return tCaretEq
		}
		return tEOF
	}
	switch {
	case c == '<' && d == '>':
		return tNe
	case c == '<' && d == '<', c == '>' && d == '>':
		return tShift
	case c == '!' && d == '<':
		return tNotLt
	case c == '!' && d == '>':
		return tNotGt
	case c == ':' && d == ':':
		return tColonColon
	}
	return tEOF
}
