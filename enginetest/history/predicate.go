package history

import "fmt"

// predicate chooses rows of a table.
type predicate struct {
	kind   predicateKind
	lo, hi int64
}

type predicateKind uint8

const (
	everyRow predicateKind = iota
	byID                   // id between lo and hi, by the primary key
	byGrp                  // grp between lo and hi, by an index that is not unique
	byCode                 // code = lo, by a unique index
	byVal                  // val % 3 = lo, by no index
)

// SQL returns the condition.
func (p predicate) SQL() string {
	name := map[predicateKind]string{byID: "id", byGrp: "grp", byCode: "code"}[p.kind]
	switch {
	case p.kind == everyRow:
		return "1 = 1"
	case p.kind == byVal:
		return fmt.Sprintf("val %% 3 = %d", p.lo)
	case p.lo == p.hi:
		return fmt.Sprintf("%s = %d", name, p.lo)
	}
	return fmt.Sprintf("%s BETWEEN %d AND %d", name, p.lo, p.hi)
}

// holds reports whether a row is chosen.
func (p predicate) holds(r *Row) bool {
	v := int64(0)
	switch p.kind {
	case everyRow:
		return true
	case byID:
		v = r.ID
	case byGrp:
		v = r.Grp
	case byCode:
		v = r.Code
	case byVal:
		return r.Val%3 == p.lo
	}
	return v >= p.lo && v <= p.hi
}

// moving reports whether a row can move within what is scanned, so that a scan
// without lasting locks may meet it twice or not at all: a row whose indexed
// column changes, and in a heap one that is removed and inserted again.
func (p predicate) moving(heap bool) bool {
	return p.kind == byGrp && p.lo != p.hi || heap && p.kind != byID && p.kind != byCode
}
