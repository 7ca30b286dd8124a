package plan

import (
	"strconv"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
)

// Hints are the table hints of one reference.
type Hints struct {
	NoLock, ReadCommitted, ReadCommittedLock, RepeatableRead, Serializable, SnapshotLevel bool
	ReadPast, UpdLock, XLock, RowLock, PagLock, TabLock, TabLockX, NoWait                 bool
	ForceSeek, ForceScan                                                                  bool
	// Index is the position of the index of INDEX(…), -1 without the hint;
	// HasIndex tells, so that the zero value means no hint.
	Index    int
	HasIndex bool
}

// levels counts the isolation hints that exclude each other.
func (h Hints) levels() int {
	n := 0
	for _, b := range []bool{h.NoLock, h.ReadCommitted, h.ReadCommittedLock, h.RepeatableRead, h.Serializable, h.SnapshotLevel} {
		if b {
			n++
		}
	}
	return n
}

// bindHints reads the hints of a reference to t, nil for what has no rows of its
// own. The parser has refused those that do not go together.
func bindHints(list []syntax.Hint, t *catalog.Table) (Hints, error) {
	h := Hints{Index: -1}
	for i := range list {
		if err := h.add(&list[i], t); err != nil {
			return h, lineOf(list[i], err)
		}
	}
	return h, nil
}

// conflict reports whether the hints of a table inside a view and those of the
// reference to the view exclude each other: two levels, two granularities,
// UPDLOCK and XLOCK, NOLOCK and what needs a lock. In one list the parser finds
// that.
func (h Hints) conflict() bool {
	granular := 0
	for _, b := range []bool{h.RowLock, h.PagLock, h.TabLock || h.TabLockX} {
		if b {
			granular++
		}
	}
	return h.levels() > 1 || granular > 1 || (h.UpdLock && h.XLock) ||
		(h.NoLock && (h.UpdLock || h.XLock || granular > 0))
}

// with returns the hints of a table inside a view together with those of a
// reference to the view; ok is false if they conflict.
func (h Hints) with(view Hints) (both Hints, ok bool) {
	both = view
	both.Index, both.HasIndex = h.Index, h.HasIndex
	for _, f := range []struct {
		into *bool
		is   bool
	}{
		{&both.NoLock, h.NoLock}, {&both.ReadCommitted, h.ReadCommitted}, {&both.ReadCommittedLock, h.ReadCommittedLock},
		{&both.RepeatableRead, h.RepeatableRead}, {&both.Serializable, h.Serializable}, {&both.ReadPast, h.ReadPast},
		{&both.UpdLock, h.UpdLock}, {&both.XLock, h.XLock}, {&both.RowLock, h.RowLock}, {&both.PagLock, h.PagLock},
		{&both.TabLock, h.TabLock}, {&both.TabLockX, h.TabLockX}, {&both.NoWait, h.NoWait},
		{&both.ForceSeek, h.ForceSeek}, {&both.ForceScan, h.ForceScan},
	} {
		*f.into = *f.into || f.is
	}
	return both, !both.conflict()
}

func (h *Hints) add(n *syntax.Hint, t *catalog.Table) error {
	switch n.Name {
	case "NOLOCK", "READUNCOMMITTED":
		h.NoLock = true
	case "READCOMMITTED":
		h.ReadCommitted = true
	case "READCOMMITTEDLOCK":
		h.ReadCommittedLock = true
	case "REPEATABLEREAD":
		h.RepeatableRead = true
	case "HOLDLOCK", "SERIALIZABLE":
		h.Serializable = true
	case "READPAST":
		h.ReadPast = true
	case "UPDLOCK":
		h.UpdLock = true
	case "XLOCK":
		h.XLock = true
	case "ROWLOCK":
		h.RowLock = true
	case "PAGLOCK":
		h.PagLock = true
	case "TABLOCK":
		h.TabLock = true
	case "TABLOCKX":
		h.TabLockX = true
	case "NOWAIT":
		h.NoWait = true
	case "FORCESEEK":
		h.ForceSeek = true
		if len(n.Args) > 0 {
			return h.index(n.Args[0], t)
		}
	case "FORCESCAN":
		h.ForceScan = true
	case "INDEX":
		if len(n.Args) != 1 {
			return sqlerr.Unsupported("an INDEX hint with more than one index")
		}
		return h.index(n.Args[0], t)
	case "NOEXPAND", "KEEPIDENTITY", "KEEPDEFAULTS", "IGNORE_CONSTRAINTS", "IGNORE_TRIGGERS":
		return sqlerr.Unsupported("table hint " + n.Name)
	default:
		return sqlerr.New(321, n.Name)
	}
	return nil
}

func (h *Hints) index(id syntax.Ident, t *catalog.Table) error {
	if t == nil {
		return sqlerr.New(307, 0, id.Name)
	}
	for i, ix := range t.Indexes {
		if sameName(ix.Name, id.Name) || (!id.Quoted && strconv.Itoa(int(ix.ID)) == id.Name) {
			h.Index, h.HasIndex = i, true
			return nil
		}
	}
	if id.Name == "0" {
		h.ForceScan = true
		return nil
	}
	if id.Name == "1" {
		return sqlerr.New(307, 1, t.Name)
	}
	return sqlerr.New(308, id.Name, t.Schema+"."+t.Name)
}

// bindOptions reads the OPTION clause. Hints that only steer an optimizer are
// taken as advice.
func (b *binder) bindOptions(list []syntax.QueryHint) error {
	b.option.maxRecursion = 100
	for _, h := range list {
		switch name := strings.ToUpper(h.Name); name {
		case "MAXRECURSION":
			if len(h.Args) == 1 {
				x, err := b.value(h.Args[0])
				if err != nil {
					return err
				}
				c, ok := x.(*Const)
				if !ok || !c.T.Kind.IsInteger() || c.Value.Int() < 0 || c.Value.Int() > 32767 {
					return fail(h, 102, "MAXRECURSION")
				}
				b.option.maxRecursion = c.Value.Int()
			}
		case "FORCE ORDER":
			b.option.forceOrder = true
		case "RECOMPILE", "MAXDOP", "FAST", "LOOP JOIN", "HASH JOIN", "MERGE JOIN", "HASH GROUP", "ORDER GROUP", "OPTIMIZE FOR",
			"OPTIMIZE FOR UNKNOWN", "KEEP PLAN", "KEEPFIXED PLAN", "ROBUST PLAN", "CONCAT UNION", "HASH UNION", "MERGE UNION",
			"MAX_GRANT_PERCENT", "MIN_GRANT_PERCENT", "NO_PERFORMANCE_SPOOL", "EXPAND VIEWS", "USE HINT", "QUERYTRACEON", "LABEL",
			"PARAMETERIZATION SIMPLE", "PARAMETERIZATION FORCED", "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX":
		default:
			return unsupported(h, "query hint "+name)
		}
	}
	return nil
}
