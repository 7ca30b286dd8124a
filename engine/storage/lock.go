package storage

import "fmt"

// LockMode is a mode in which a resource is locked. The zero LockMode is None.
type LockMode uint8

// The lock modes. Key-range modes are not asked for by name: Access.Range and
// Insert take them. They show in LockInfo.
const (
	None LockMode = iota
	SchS          // schema stability: the definition may not change
	SchM          // schema modification: nobody else may touch the object
	IS            // intent shared
	S             // shared
	U             // update: shared now, exclusive soon
	IX            // intent exclusive
	SIX           // shared with intent exclusive
	UIX           // update with intent exclusive
	X             // exclusive

	gapS // nothing may be inserted into the gap: RangeS-S
	gapU // as gapS, and only one may hold it: RangeS-U
	gapX // as gapS, and nobody else may lock the gap: RangeX-X
	gapI // insert intention, held for an instant: RangeI-N

	lockModes
)

var modeNames = [lockModes]string{
	"NULL", "Sch-S", "Sch-M", "IS", "S", "U", "IX", "SIX", "UIX", "X", "RangeS-S", "RangeS-U", "RangeX-X", "RangeI-N",
}

// String returns the name of m as sys.dm_tran_locks shows it.
func (m LockMode) String() string {
	if m < lockModes {
		return modeNames[m]
	}
	return fmt.Sprintf("LockMode(%d)", uint8(m))
}

// isGap reports whether m locks a gap to the end of the transaction.
func (m LockMode) isGap() bool { return m == gapS || m == gapU || m == gapX }

type modeSet uint16

func setOf(modes ...LockMode) modeSet {
	var s modeSet
	for _, m := range modes {
		s |= 1 << m
	}
	return s
}

func (s modeSet) has(m LockMode) bool { return s&(1<<m) != 0 }

// compatibleWith is the compatibility matrix: what others may hold beside each
// mode. Source: "Lock compatibility" in Microsoft's Transaction locking and row
// versioning guide; the gap modes are the range halves of its key-range table.
var compatibleWith = [lockModes]modeSet{
	None: setOf(None, SchS, SchM, IS, S, U, IX, SIX, UIX, X, gapS, gapU, gapX, gapI),
	SchS: setOf(None, SchS, IS, S, U, IX, SIX, UIX, X),
	SchM: setOf(None),
	IS:   setOf(None, SchS, IS, S, U, IX, SIX, UIX),
	S:    setOf(None, SchS, IS, S, U),
	U:    setOf(None, SchS, IS, S),
	IX:   setOf(None, SchS, IS, IX),
	SIX:  setOf(None, SchS, IS),
	UIX:  setOf(None, SchS, IS),
	X:    setOf(None, SchS),
	gapS: setOf(None, gapS, gapU),
	gapU: setOf(None, gapS),
	gapX: setOf(None),
	gapI: setOf(None, gapI),
}

// coveredBy lists the modes that a holder of each mode need not ask for.
var coveredBy = [lockModes]modeSet{
	None: setOf(None),
	SchS: setOf(None, SchS),
	SchM: setOf(None, SchS, SchM, IS, S, U, IX, SIX, UIX, X),
	IS:   setOf(None, SchS, IS),
	S:    setOf(None, SchS, IS, S),
	U:    setOf(None, SchS, IS, S, U),
	IX:   setOf(None, SchS, IS, IX),
	SIX:  setOf(None, SchS, IS, S, IX, SIX),
	UIX:  setOf(None, SchS, IS, S, U, IX, SIX, UIX),
	X:    setOf(None, SchS, IS, S, U, IX, SIX, UIX, X),
	gapS: setOf(None, gapS),
	gapU: setOf(None, gapS, gapU),
	gapX: setOf(None, gapS, gapU, gapX, gapI),
	gapI: setOf(None, gapI),
}

// Compatible reports whether two parties may hold a and b on one resource.
func Compatible(a, b LockMode) bool { return compatibleWith[a].has(b) }

// Covers reports whether a holder of m need not ask for want.
func (m LockMode) Covers(want LockMode) bool { return coveredBy[m].has(want) }

// Combine returns the weakest mode that covers both a and b: what a conversion
// asks for.
func Combine(a, b LockMode) LockMode {
	switch {
	case a.Covers(b):
		return a
	case b.Covers(a):
		return b
	}
	for m := IS; m <= gapX; m++ { // ordered from weak to strong
		if m.Covers(a) && m.Covers(b) {
			return m
		}
	}
	return SchM
}

type resourceKind uint8

const (
	kindDatabase resourceKind = iota + 1
	kindObject
	kindMetadata
	kindApplication
	kindRow
	kindGap
)

// Resource is something that can be locked. Resources are equal if they are ==.
type Resource struct {
	kind   resourceKind
	space  uint32
	index  uint32 // gap: index id
	object ObjectID
	row    RowID  // row; gap: row of the entry after the gap
	name   string // application, metadata: name; gap: key of the entry after the gap
}

// DatabaseResource is a database as a whole.
func DatabaseResource(space uint32) Resource { return Resource{kind: kindDatabase, space: space} }

// ObjectResource is a table, or another object that the caller numbers.
func ObjectResource(space uint32, id ObjectID) Resource {
	return Resource{kind: kindObject, space: space, object: id}
}

// ApplicationResource is what sp_getapplock locks. The caller puts the
// principal into the name.
func ApplicationResource(space uint32, name string) Resource {
	return Resource{kind: kindApplication, space: space, name: name}
}

// MetadataResource is a part of the catalog, such as the name of an object.
func MetadataResource(space uint32, name string) Resource {
	return Resource{kind: kindMetadata, space: space, name: name}
}

func rowResource(t *Table, id RowID) Resource {
	return Resource{kind: kindRow, space: t.space, object: t.id, row: id}
}

// gapResource is the gap before the entry (key, id) of an index. The gap after
// the last entry is the one before ("", 0): rows count from 1.
func gapResource(t *Table, index uint32, key string, id RowID) Resource {
	return Resource{kind: kindGap, space: t.space, object: t.id, index: index, row: id, name: key}
}
