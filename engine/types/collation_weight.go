package types

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A sort key of text is a sequence of levels: base letters (primary), accents
// (secondary), case (tertiary), and hyphens and apostrophes, which the Windows
// rules ("word sort") pass over at first. The comparison of two texts is, by
// construction, the comparison of the bytes of their keys; the loops in
// collation_compare.go are short cuts for ASCII.
//
// Trailing blanks do not count, and the end of a text compares like a blank:
// weights of characters below the blank are below weightEnd, all others above.
// A blank inside of a text is weightBlankLow or weightBlankHigh, by what the
// next character that is not a blank is like.
const (
	weightLow       = 0x04 // first of the characters below the blank
	weightBlankLow  = 0x30
	weightEnd       = 0x31
	weightBlankHigh = 0x32
	weightControl   = 0x33 // and the code, in the Windows rules
	weightTab       = 0x34 // to CR
	weightPunct     = 0x39
	weightPunctMore = 0x53 // and the code point in three bytes
	weightMath      = 0x54 // + < = >
	weightSymbol    = 0x58 // and the code point in three bytes
	weightDigit     = 0x59
	weightNumber    = 0x63 // and the code point in three bytes
	weightLetter    = 0x64 // a; each further letter is letterStep more
	letterStep      = 4
	weightLatin     = 0xCC // other Latin letters, and the code point in three bytes
	weightScript    = 0xCD // letters of other scripts, and the code point
	weightOther     = 0xCE // all else, and the code point

	weightBinaryLow  = 0x04 // code units below the blank: one byte in all
	weightBinaryHigh = 0x33 // code units 0x21 to 0x7E: one byte in all
	weightBinaryUnit = 0xF0 // and the code unit in two bytes

	levelEnd      = 0x00
	levelPlain    = 0x02 // no accent; the case that sorts first
	levelSecond   = 0x03 // the case that sorts second
	levelMark     = 0x03 // and the mark in two bytes
	punctHyphen   = 0x02
	punctQuote    = 0x03
	markStroke    = 0x0338 // ø is o and a stroke
	markDotless   = 0x0001 // ı is i without its dot
	kanaDistance  = 0x60
	windowsPuncts = "!\"#$%&()*,./:;?@[\\]^_`{|}~"
	mathSymbols   = "+<=>"
)

// weights holds the one-byte primary weights of ASCII by rule; zero is a
// character that needs more than that.
type weights [utf8.RuneSelf]byte

var windowsWeights, sqlWeights = asciiWeights()

func asciiWeights() (windows, sql *weights) {
	windows, sql = new(weights), new(weights)
	for i := range 26 {
		w := byte(weightLetter + letterStep*i)
		windows['a'+i], windows['A'+i], sql['a'+i], sql['A'+i] = w, w, w, w
	}
	for i := range 10 {
		windows['0'+i], sql['0'+i] = byte(weightDigit+i), byte(weightDigit+i)
	}
	windows[' '], sql[' '] = weightEnd, weightEnd
	for i := range 5 {
		windows['\t'+i] = byte(weightTab + i)
	}
	for i, c := range windowsPuncts {
		windows[c] = byte(weightPunct + i)
	}
	for i, c := range mathSymbols {
		windows[c] = byte(weightMath + i)
	}
	next := byte(weightControl)
	for c := range utf8.RuneSelf {
		switch {
		case c < ' ':
			sql[c] = byte(weightLow + c)
		case sql[c] == 0:
			sql[c] = next
			next++
		}
	}
	return windows, sql
}

// expansions are the characters that the Windows rules compare like a pair of
// letters, and that Unicode does not decompose.
var expansions = map[rune]string{
	'ß': "ss", 'ẞ': "SS", 'æ': "ae", 'Æ': "AE", 'œ': "oe", 'Œ': "OE", 'þ': "th", 'Þ': "TH",
}

// strokes are letters that compare like a base letter with an accent, and that
// Unicode does not decompose.
var strokes = map[rune]rune{
	'ø': 'o', 'Ø': 'O', 'ł': 'l', 'Ł': 'L', 'đ': 'd', 'Đ': 'D', 'ħ': 'h', 'Ħ': 'H', 'ŧ': 't', 'Ŧ': 'T',
}

// ownLetters are letters of their own, with the letter they follow.
var ownLetters = map[rune]byte{'ð': 'd', 'ŋ': 'n'}

// sqlLetters are the letters of code page 1252 that the SQL_ sort orders keep
// as letters of their own, with the letter they follow.
var sqlLetters = map[rune]byte{'ß': 's', 'æ': 'a', 'œ': 'o', 'þ': 't', 'ð': 'd'}

// keyBuilder collects the levels of one text.
type keyBuilder struct {
	primary   []byte
	secondary []byte
	tertiary  []byte
	punct     []byte
	c         *Collation
	sql       bool // rules of a SQL_ sort order
	blanks    int  // pending
	elements  int
	plain2    int // pending plain weights of the secondary level
	plain3    int // and of the tertiary
}

// reset empties k for a text in c.
func (k *keyBuilder) reset(c *Collation, sql bool) {
	*k = keyBuilder{
		primary: k.primary[:0], secondary: k.secondary[:0], tertiary: k.tertiary[:0], punct: k.punct[:0],
		c: c, sql: sql,
	}
}

// text adds all of s, which has no trailing blanks.
func (k *keyBuilder) text(s string) {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			k.ascii(c)
			i++
			continue
		}
		r, size := decodeRune(s[i:])
		k.rune(r)
		i += size
	}
}

func (k *keyBuilder) ascii(c byte) {
	w := windowsWeights[c]
	if k.sql {
		w = sqlWeights[c]
	}
	switch {
	case c == ' ':
		k.blanks++
	case w != 0:
		k.element(w, isUpperASCII(c), isLowerASCII(c))
	default:
		k.special(c)
	}
}

func isUpperASCII(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLowerASCII(c byte) bool { return c >= 'a' && c <= 'z' }

// special adds an ASCII character that has no weight of one byte in the Windows
// rules: a hyphen, an apostrophe or a control.
func (k *keyBuilder) special(c byte) {
	switch c {
	case 0: // has no weight
	case '-', '\'':
		p := k.elements + k.blanks + 1
		w := byte(punctHyphen)
		if c == '\'' {
			w = punctQuote
		}
		k.punct = append(k.punct, 1, byte(p>>24), byte(p>>16), byte(p>>8), byte(p), w)
	default:
		k.element(weightControl, false, false, c)
	}
}

// element adds one primary weight with its further bytes, and the case.
func (k *keyBuilder) element(w byte, upper, lower bool, more ...byte) {
	blank := byte(weightBlankHigh)
	if w < weightEnd {
		blank = weightBlankLow
	}
	for ; k.blanks > 0; k.blanks-- {
		k.primary = append(k.primary, blank)
		k.elements++
		k.plain2++
		k.plain3++
	}
	k.primary = append(k.primary, w)
	k.primary = append(k.primary, more...)
	k.elements++
	k.plain2++
	if !k.c.CaseSensitive {
		return
	}
	// Windows sorts the small letter first, the SQL_ sort orders the capital.
	if (upper && !k.sql) || (lower && k.sql) {
		k.tertiary = appendPlain(k.tertiary, &k.plain3)
		k.tertiary = append(k.tertiary, levelSecond)
	} else {
		k.plain3++
	}
}

func appendPlain(dst []byte, n *int) []byte {
	for ; *n > 0; *n-- {
		dst = append(dst, levelPlain)
	}
	return dst
}

// mark adds an accent to the element before.
func (k *keyBuilder) mark(r rune) {
	if !k.c.AccentSensitive {
		return
	}
	k.secondary = appendPlain(k.secondary, &k.plain2)
	k.secondary = append(k.secondary, levelMark, byte(r>>8), byte(r))
}

// rune adds a character outside of ASCII.
func (k *keyBuilder) rune(r rune) {
	if k.sql {
		k.sqlRune(r)
		return
	}
	if pair, ok := expansions[r]; ok {
		k.text(pair)
		return
	}
	if base, ok := strokes[r]; ok {
		k.ascii(byte(base))
		k.mark(markStroke)
		return
	}
	if r == 'ı' {
		k.text("i")
		k.mark(markDotless)
		return
	}
	if r > 0xFFFF || r == utf8.RuneError || (r >= surrogateMin && r <= surrogateMax) {
		// The first version knows no supplementary characters: they have no weight.
		if k.c.version > 0 {
			k.element(weightOther, false, false, byte(r>>16), byte(r>>8), byte(r))
		}
		return
	}
	for _, p := range decomposed(r) {
		k.plainRune(p)
	}
}

// latinParts holds the decompositions of Latin-1 and Latin Extended-A.
var latinParts = func() (parts [0x180]string) {
	for r := range rune(len(parts)) {
		if parts[r] = decomposition(r); parts[r] == "" {
			parts[r] = string(r)
		}
	}
	return parts
}()

// decomposed returns the base letters and marks of r, or r itself.
func decomposed(r rune) string {
	if int(r) < len(latinParts) {
		return latinParts[r]
	}
	if d := decomposition(r); d != "" {
		return d
	}
	return string(r)
}

// decomposition returns the base letters and marks of r, or "": compatibility
// variants (width, superscript, ligature) count if they are letters and digits.
func decomposition(r rune) string {
	var buf [utf8.UTFMax]byte
	b := buf[:utf8.EncodeRune(buf[:], r)]
	p := norm.NFKD.Properties(b).Decomposition()
	if p == nil {
		return ""
	}
	for _, d := range string(p) {
		if !unicode.IsLetter(d) && !unicode.IsMark(d) && !unicode.IsDigit(d) && (d >= utf8.RuneSelf || r < 0xFF00) {
			return string(norm.NFD.Properties(b).Decomposition())
		}
	}
	return string(p)
}

// plainRune adds a character that is decomposed.
func (k *keyBuilder) plainRune(r rune) {
	if r < utf8.RuneSelf {
		k.ascii(byte(r))
		return
	}
	if unicode.Is(unicode.Mn, r) {
		k.mark(r)
		return
	}
	lower := unicode.ToLower(unicode.ToUpper(r))
	if r >= 'ァ' && r <= 'ヶ' {
		lower = r - kanaDistance
	}
	if after, ok := ownLetters[lower]; ok {
		k.element(windowsWeights[after]+1, r != lower, r == lower)
		return
	}
	k.element(primaryClass(lower), unicode.IsUpper(r), unicode.IsLower(r), byte(lower>>16), byte(lower>>8), byte(lower))
}

// primaryClass returns the first byte of the weight of a character that has no
// place of its own.
func primaryClass(r rune) byte {
	switch {
	case unicode.Is(unicode.Latin, r):
		return weightLatin
	case unicode.IsLetter(r):
		return weightScript
	case unicode.IsNumber(r):
		return weightNumber
	case unicode.IsPunct(r), unicode.IsSpace(r):
		return weightPunctMore
	case unicode.IsSymbol(r):
		return weightSymbol
	}
	return weightOther
}

// sqlRune adds a character of code page 1252 by the SQL_ sort orders.
func (k *keyBuilder) sqlRune(r rune) {
	lower := unicode.ToLower(r)
	if after, ok := sqlLetters[lower]; ok {
		k.element(sqlWeights[after]+1, r != lower, r == lower)
		return
	}
	if base, ok := strokes[r]; ok {
		k.ascii(byte(base))
		k.mark(markStroke)
		return
	}
	if int(r) < len(latinParts) && latinParts[r][0] < utf8.RuneSelf && unicode.In(r, unicode.Lu, unicode.Ll) {
		for _, p := range latinParts[r] {
			if p < utf8.RuneSelf {
				k.ascii(byte(p))
			} else {
				k.mark(p)
			}
		}
		return
	}
	b, ok := varCharByte(r)
	if !ok {
		b = '?'
	}
	k.element(weightSymbol, false, false, b)
}
