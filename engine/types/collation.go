package types

import (
	"encoding/binary"
	"sort"
	"strings"
)

// Collation says how character data is compared, sorted and hashed. There is
// one Collation for each supported name, so that pointers can be compared.
//
// Non-Unicode data in all supported collations is in code page 1252. The SQL_
// collations compare char and varchar data by their sort order (no word sort,
// no expansions such as ß = ss) and nchar and nvarchar data by the Windows
// rules, as documented under "Collation and Unicode support".
type Collation struct {
	// Name is the name as SQL Server spells it.
	Name string
	// CaseSensitive and AccentSensitive are false for CI and AI. Both are true
	// for a binary collation.
	CaseSensitive, AccentSensitive bool
	// Binary is true for _BIN and _BIN2: comparison by code.
	Binary bool

	firstUnit bool  // _BIN: only the first character is compared as a code unit
	sortID    uint8 // of a SQL_ collation, else zero
	version   uint8 // 0 for the first Windows version, 2 for _100_
}

const (
	latin1LCID     = 0x0409
	latin1CodePage = 1252

	// Bits of the collation flags, [MS-TDS] 2.2.5.1.2.
	flagIgnoreCase   = 0x01
	flagIgnoreAccent = 0x02
	flagIgnoreWidth  = 0x04
	flagIgnoreKana   = 0x08
	flagBinary       = 0x10
	flagBinary2      = 0x20
)

// DefaultCollation is the collation of a new server: not case-sensitive,
// accent-sensitive.
var DefaultCollation = &Collation{Name: "SQL_Latin1_General_CP1_CI_AS", AccentSensitive: true, sortID: 52}

// BinaryCollation is Latin1_General_BIN2, which compares code units.
var BinaryCollation = &Collation{Name: "Latin1_General_BIN2", CaseSensitive: true, AccentSensitive: true, Binary: true}

var collations = func() map[string]*Collation {
	list := []*Collation{
		DefaultCollation, BinaryCollation,
		{Name: "SQL_Latin1_General_CP1_CS_AS", CaseSensitive: true, AccentSensitive: true, sortID: 51},
		{Name: "SQL_Latin1_General_CP1_CI_AI", sortID: 54},
		{Name: "Latin1_General_BIN", CaseSensitive: true, AccentSensitive: true, Binary: true, firstUnit: true},
		{Name: "Latin1_General_100_BIN", CaseSensitive: true, AccentSensitive: true, Binary: true, firstUnit: true, version: 2},
		{Name: "Latin1_General_100_BIN2", CaseSensitive: true, AccentSensitive: true, Binary: true, version: 2},
	}
	for _, family := range []struct {
		prefix  string
		version uint8
	}{{"Latin1_General_", 0}, {"Latin1_General_100_", 2}} {
		for _, s := range []struct {
			suffix string
			cs, as bool
		}{{"CI_AS", false, true}, {"CS_AS", true, true}, {"CI_AI", false, false}, {"CS_AI", true, false}} {
			list = append(list, &Collation{Name: family.prefix + s.suffix, CaseSensitive: s.cs, AccentSensitive: s.as, version: family.version})
		}
	}
	m := make(map[string]*Collation, len(list))
	for _, c := range list {
		m[strings.ToLower(c.Name)] = c
	}
	return m
}()

// LookupCollation returns the collation of a name, in any case. The caller
// reports one that is not found with error 448. The supplementary-character
// (_SC), UTF-8 and kana- or width-sensitive collations are not among them.
func LookupCollation(name string) (*Collation, bool) {
	c, ok := collations[strings.ToLower(name)]
	return c, ok
}

// Collations returns all supported collations, sorted by name.
func Collations() []*Collation {
	list := make([]*Collation, 0, len(collations))
	for _, c := range collations {
		list = append(list, c)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// LCID returns the locale identifier, 1033 for all supported collations.
func (c *Collation) LCID() int { return latin1LCID }

// CodePage returns the code page of non-Unicode data.
func (c *Collation) CodePage() int { return latin1CodePage }

// Version returns what COLLATIONPROPERTY(name, 'Version') shows.
func (c *Collation) Version() int { return int(c.version) }

// ComparisonStyle returns what COLLATIONPROPERTY(name, 'ComparisonStyle') shows:
// the Windows flags for ignoring case (1), accents (2), kana type (65536) and
// width (131072), zero for a binary collation.
func (c *Collation) ComparisonStyle() int {
	if c.Binary {
		return 0
	}
	style := 0x30000
	if !c.CaseSensitive {
		style |= 1
	}
	if !c.AccentSensitive {
		style |= 2
	}
	return style
}

// Description returns the text that sys.fn_helpcollations shows.
func (c *Collation) Description() string {
	if c.Binary {
		if c.firstUnit {
			return "Latin1-General, binary sort"
		}
		return "Latin1-General, binary code point comparison sort"
	}
	d := "Latin1-General, case-insensitive"
	if c.CaseSensitive {
		d = "Latin1-General, case-sensitive"
	}
	if c.AccentSensitive {
		d += ", accent-sensitive"
	} else {
		d += ", accent-insensitive"
	}
	d += ", kanatype-insensitive, width-insensitive"
	switch c.sortID {
	case 51:
		d += " for Unicode Data, SQL Server Sort Order 51 on Code Page 1252 for non-Unicode Data"
	case 52:
		d += " for Unicode Data, SQL Server Sort Order 52 on Code Page 1252 for non-Unicode Data"
	case 54:
		d += " for Unicode Data, SQL Server Sort Order 54 on Code Page 1252 for non-Unicode Data"
	}
	return d
}

// TDS returns the five bytes that stand for c on the wire: locale, flags and
// version in four bytes, then the sort order ([MS-TDS] 2.2.5.1.2). The default
// collation is 09 04 D0 00 34.
func (c *Collation) TDS() [5]byte {
	var flags uint32
	switch {
	case c.firstUnit:
		flags = flagBinary
	case c.Binary:
		flags = flagBinary2
	default:
		flags = flagIgnoreWidth | flagIgnoreKana
		if !c.CaseSensitive {
			flags |= flagIgnoreCase
		}
		if !c.AccentSensitive {
			flags |= flagIgnoreAccent
		}
	}
	var b [5]byte
	binary.LittleEndian.PutUint32(b[:4], latin1LCID|flags<<20|uint32(c.version)<<28)
	b[4] = c.sortID
	return b
}

var collationsByTDS = func() map[[5]byte]*Collation {
	m := make(map[[5]byte]*Collation, len(collations))
	for _, c := range collations {
		m[c.TDS()] = c
	}
	return m
}()

// CollationFromTDS returns the collation of the five bytes on the wire. Five
// zero bytes, which drivers send to mean the server's own, are the default.
func CollationFromTDS(b [5]byte) (*Collation, bool) {
	if b == ([5]byte{}) {
		return DefaultCollation, true
	}
	c, ok := collationsByTDS[b]
	return c, ok
}
