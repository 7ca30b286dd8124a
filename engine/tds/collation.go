package tds

import (
	"encoding/binary"
	"strings"

	"loopbroker/engine/types"
)

// collationSize is the size of COLLATION: 20 bits of LCID, 8 bits of flags, 4
// bits of version, a byte with the sort order of a SQL_ collation ([MS-TDS] 2.2.5.1.2).
const collationSize = 5

// The flags of COLLATION.
const (
	collationIgnoreCase   = 1 << 20
	collationIgnoreAccent = 1 << 21
	collationIgnoreKana   = 1 << 22
	collationIgnoreWidth  = 1 << 23
	collationBinary       = 1 << 24
	collationBinary2      = 1 << 25
	collationUTF8         = 1 << 26
	collationFlags        = collationIgnoreCase | collationIgnoreAccent | collationIgnoreKana | collationIgnoreWidth |
		collationBinary | collationBinary2 | collationUTF8
	collationLCID         = 0xFFFFF
	collationVersionShift = 28
)

// lcids are the locale ids of the Windows collations, by the name's beginning.
var lcids = map[string]uint32{
	"Albanian": 0x041C, "Arabic": 0x0401, "Chinese_PRC": 0x0804, "Chinese_Taiwan_Stroke": 0x0404, "Croatian": 0x041A,
	"Cyrillic_General": 0x0419, "Czech": 0x0405, "Danish_Greenlandic": 0x0406, "Danish_Norwegian": 0x0406, "Estonian": 0x0425,
	"Finnish_Swedish": 0x040B, "French": 0x040C, "German_PhoneBook": 0x10407, "Greek": 0x0408, "Hebrew": 0x040D,
	"Hungarian": 0x040E, "Icelandic": 0x040F, "Japanese": 0x0411, "Korean_Wansung": 0x0412, "Latin1_General": 0x0409,
	"Latvian": 0x0426, "Lithuanian": 0x0427, "Modern_Spanish": 0x0C0A, "Polish": 0x0415, "Romanian": 0x0418,
	"Slovak": 0x041B, "Slovenian": 0x0424, "Thai": 0x041E, "Traditional_Spanish": 0x040A, "Turkish": 0x041F,
	"Ukrainian": 0x0422, "Vietnamese": 0x042A,
}

// sqlSortIDs are the sort orders of the SQL_ collations; all have LCID 0x409
// but for those of other scripts, which the engine does not offer.
var sqlSortIDs = map[string]byte{
	"SQL_Latin1_General_CP437_BIN":      30,
	"SQL_Latin1_General_CP437_CS_AS":    31,
	"SQL_Latin1_General_CP437_CI_AS":    32,
	"SQL_Latin1_General_CP437_CI_AI":    34,
	"SQL_Latin1_General_CP850_BIN":      40,
	"SQL_Latin1_General_CP850_CS_AS":    41,
	"SQL_Latin1_General_CP850_CI_AS":    42,
	"SQL_Latin1_General_CP850_CI_AI":    44,
	"SQL_Latin1_General_CP1_CS_AS":      51,
	"SQL_Latin1_General_CP1_CI_AS":      52,
	"SQL_Latin1_General_Pref_CP1_CI_AS": 53,
	"SQL_Latin1_General_CP1_CI_AI":      54,
}

// wireCollation is COLLATION.
type wireCollation struct {
	info uint32
	sort byte
}

// defaultCollation is SQL_Latin1_General_CP1_CI_AS, 09 04 D0 00 34.
var defaultCollation = collationOf(types.DefaultCollation)

// collationOf returns the wire form of a collation, from its name.
func collationOf(c *types.Collation) wireCollation {
	if c == nil {
		return wireCollation{info: 0x00D00409, sort: 52}
	}
	w := wireCollation{info: collationIgnoreKana | collationIgnoreWidth}
	name := c.Name
	if strings.HasPrefix(name, "SQL_") {
		w.info |= lcids["Latin1_General"]
		w.sort = sqlSortIDs[name]
	}
	for part := range strings.SplitSeq(name, "_") {
		switch strings.ToUpper(part) {
		case "CI":
			w.info |= collationIgnoreCase
		case "AI":
			w.info |= collationIgnoreAccent
		case "KS":
			w.info &^= collationIgnoreKana
		case "WS":
			w.info &^= collationIgnoreWidth
		case "BIN":
			w.info = w.info&^collationFlags | collationBinary
		case "BIN2":
			w.info = w.info&^collationFlags | collationBinary2
		case "UTF8":
			w.info |= collationUTF8
		case "90":
			w.info |= 1 << collationVersionShift
		case "100":
			w.info |= 2 << collationVersionShift
		case "140":
			w.info |= 3 << collationVersionShift
		}
	}
	if w.info&collationLCID == 0 {
		w.info |= lcids[collationLocale(name)]
	}
	return w
}

// collationLocale returns the longest beginning of name that is a key of lcids.
func collationLocale(name string) string {
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '_') {
		if _, ok := lcids[name[:end]]; ok {
			return name[:end]
		}
	}
	return "Latin1_General"
}

// appendCollation appends COLLATION.
func appendCollation(dst []byte, c *types.Collation) []byte {
	w := defaultCollation
	if c != types.DefaultCollation {
		w = collationOf(c)
	}
	return append(appendU32(dst, w.info), w.sort)
}

// collation reads COLLATION.
func (c *cursor) collation() wireCollation {
	b := c.take(collationSize)
	if b == nil {
		return wireCollation{}
	}
	return wireCollation{info: binary.LittleEndian.Uint32(b), sort: b[4]}
}

// known returns the collation that w stands for, the default if the engine
// does not have it or the client sent none: the collation of a parameter
// decides nothing but its code page.
func (w wireCollation) known() *types.Collation {
	if w == defaultCollation || w.info&collationLCID == 0 {
		return types.DefaultCollation
	}
	if w.sort != 0 {
		for name, id := range sqlSortIDs {
			if id == w.sort {
				return lookupCollation(name)
			}
		}
		return types.DefaultCollation
	}
	return lookupCollation(w.name())
}

func lookupCollation(name string) *types.Collation {
	if c, ok := types.LookupCollation(name); ok {
		return c
	}
	return types.DefaultCollation
}

// name returns the name of a Windows collation.
func (w wireCollation) name() string {
	var b strings.Builder
	for locale, id := range lcids {
		if id == w.info&collationLCID && locale != "Danish_Greenlandic" {
			b.WriteString(locale)
			break
		}
	}
	b.WriteString([]string{"", "_90", "_100", "_140"}[w.info>>collationVersionShift&3])
	switch {
	case w.info&collationBinary2 != 0:
		b.WriteString("_BIN2")
	case w.info&collationBinary != 0:
		b.WriteString("_BIN")
	default:
		b.WriteString(map[bool]string{true: "_CI", false: "_CS"}[w.info&collationIgnoreCase != 0])
		b.WriteString(map[bool]string{true: "_AI", false: "_AS"}[w.info&collationIgnoreAccent != 0])
		if w.info&collationIgnoreKana == 0 {
			b.WriteString("_KS")
		}
		if w.info&collationIgnoreWidth == 0 {
			b.WriteString("_WS")
		}
	}
	if w.info&collationUTF8 != 0 {
		b.WriteString("_UTF8")
	}
	return b.String()
}

// text decodes char and varchar data. UTF-8 goes by its flag; all else that
// the engine offers is code page 1252.
func (w wireCollation) text(b []byte) string {
	if w.info&collationUTF8 != 0 {
		return types.ValidText(string(b))
	}
	return types.DecodeVarChar(b)
}

// isUTF8 reports whether char data in c travels as UTF-8.
func isUTF8(c *types.Collation) bool {
	return c != nil && c != types.DefaultCollation && strings.HasSuffix(strings.ToUpper(c.Name), "_UTF8")
}
