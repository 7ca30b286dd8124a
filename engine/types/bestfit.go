package types

// bestFits are characters that Windows replaces by one of code page 1252 when
// the page lacks them, apart from letters with accents and wide forms.
var bestFits = func() map[rune]byte {
	m := map[rune]byte{
		// Letters with strokes and the like.
		'Đ': 0xD0, 'đ': 'd', 'Ħ': 'H', 'ħ': 'h', 'ı': 'i', 'Ł': 'L', 'ł': 'l', 'Ŧ': 'T', 'ŧ': 't', 'ƀ': 'b', 'Ɖ': 0xD0, 'Ɨ': 'I',
		'ƚ': 'l', 'Ɵ': 'O', 'ƫ': 't', 'Ʈ': 'T', 'ƶ': 'z', 'ǀ': '|', 'ǃ': '!', 'ǥ': 'g', 'ɡ': 'g',
		// Modifiers and combining marks.
		'ʹ': '\'', 'ʺ': '"', 'ʼ': '\'', '˄': '^', 'ˈ': '\'', 'ˉ': 0xAF, 'ˊ': 0xB4, 'ˋ': '`', 'ˍ': '_', '˚': 0xB0,
		'\u0300': '`', '\u0301': 0xB4, '\u0302': '^', '\u0303': '~', '\u0304': 0xAF, '\u0305': 0xAF, '\u0308': 0xA8,
		'\u030E': '"', '\u0327': 0xB8, '\u0331': '_', '\u0332': '_',
		// Greek.
		'Γ': 'G', 'Θ': 'T', 'Σ': 'S', 'Φ': 'F', 'Ω': 'O', 'α': 'a', 'δ': 'd', 'ε': 'e', 'π': 'p', 'σ': 's', 'τ': 't', 'φ': 'f',
		// Punctuation.
		'\u2010': '-', '\u2011': '-', '\u2017': '=', '\u2032': '\'', '\u2035': '`', '\u2044': '/', '\u2215': '/', '\u2216': '\\',
		'\u2217': '*', '\u2219': 0xB7, '\u221A': 'v', '\u221E': '8', '\u2223': '|', '\u2229': 'n', '\u2236': ':', '\u223C': '~',
		'\u2248': 0x98, '\u2261': '=', '\u2264': '=', '\u2265': '=', '\u226A': 0xAB, '\u226B': 0xBB, '\u2212': '-', '\u207F': 'n',
	}
	for i := range rune(7) { // en quad to six-per-em space
		m['\u2000'+i] = ' '
	}
	for i := range rune(6) {
		m['\u2074'+i] = byte('4' + i) // superscript 4 to 9
	}
	for i := range rune(10) {
		m['\u2080'+i] = byte('0' + i) // subscripts
	}
	for r := rune(0x100); r < 0x234; r++ { // letters with accents: the letter
		if _, ok := m[r]; ok {
			continue
		}
		if base := []rune(decomposition(r)); len(base) > 0 && base[0] < 0x80 && base[0] >= 'A' {
			m[r] = byte(base[0])
		}
	}
	return m
}()

// bestFit returns the byte that Windows takes for a character that code page
// 1252 lacks, zero for none.
func bestFit(r rune) byte {
	if r >= '！' && r <= '～' { // wide forms of ASCII
		return byte(r - '！' + '!')
	}
	return bestFits[r]
}
