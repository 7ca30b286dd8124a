package session

import (
	"strconv"
	"strings"

	"loopbroker/engine/builtin"
	"loopbroker/engine/catalog"
	"loopbroker/engine/types"
)

// Random implements builtin.Randomizer: RAND goes on from the session's last
// number.
func (r *runtime) Random() *builtin.Random { return &r.x.random }

func init() {
	registerProperties(map[string]propertyFunc{
		"@@CPU_BUSY":         intProperty(func(*Session, *frame) int64 { return 0 }),
		"@@TIMETICKS":        intProperty(func(*Session, *frame) int64 { return 31250 }), // microseconds a tick, as documented
		"@@MICROSOFTVERSION": intProperty(func(*Session, *frame) int64 { return 16<<24 | 1000 }),
		"@@REMSERVER": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			if x.loopback {
				return text(x.srv.cat.Name)
			}
			return nothing()
		},
		"COLUMNS_UPDATED": columnsUpdated,
		"CURSOR_STATUS":   cursorStatus,
		"MIN_ACTIVE_ROWVERSION": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			return types.NewBinary(types.KindBinary, rowVersionValue(x.srv.cat.LastRowVersion()+1).Raw()), nil
		},
		"HOST_ID": func(x *Session, _ *frame, _ []types.Value) (types.Value, error) {
			id := strconv.FormatUint(uint64(x.info.snapshot(x).ProcessID), 10)
			return types.NewString(types.KindChar, id+strings.Repeat(" ", max(10-len(id), 0))), nil
		},
		"STATS_DATE": func(*Session, *frame, []types.Value) (types.Value, error) { return nothing() }, // there are no statistics
		"FILE_NAME":  func(*Session, *frame, []types.Value) (types.Value, error) { return nothing() }, // nor database files
		"TYPEPROPERTY": func(x *Session, _ *frame, a []types.Value) (types.Value, error) {
			name, _ := argText(a[0])
			property, _ := argText(a[1])
			t, err := types.TypeFromName(name, nil, false, 1)
			if err != nil {
				return nothing()
			}
			precision, scale := t.MetaPrecision()
			switch strings.ToLower(property) {
			case "precision":
				return whole(int64(precision))
			case "scale":
				return whole(int64(scale))
			case "allowsnull":
				return whole(1)
			}
			return nothing()
		},
	})
}

// columnsUpdated answers COLUMNS_UPDATED(): a bit a column, eight a byte, the
// first column lowest.
func columnsUpdated(_ *Session, f *frame, _ []types.Value) (types.Value, error) {
	if f == nil || !f.trigger {
		return nothing()
	}
	n := len(f.prog.trigger.Columns)
	bits := make([]byte, (n+7)/8)
	set := func(at int) { bits[at/8] |= 1 << (at % 8) }
	if len(f.deleted) == 0 {
		for at := range n {
			set(at)
		}
	}
	for _, at := range f.updated {
		set(at)
	}
	return types.NewVarBinary(bits), nil
}

// cursorStatus answers CURSOR_STATUS: 1 open with rows, 0 open and empty, -1
// closed, -2 not allocated to the variable, -3 no such cursor.
func cursorStatus(x *Session, f *frame, a []types.Value) (types.Value, error) {
	kind, _ := argText(a[0])
	name, _ := argText(a[1])
	cur, ok := x.cursors[catalog.Fold(name)]
	if catalog.Fold(kind) == "variable" {
		slot, declared := f.prog.index[catalog.Fold(name)]
		if cur, ok = f.cursorVars[slot], declared; ok && cur == nil {
			return types.NewSmallInt(-2), nil
		}
	}
	switch {
	case !ok:
		return types.NewSmallInt(-3), nil
	case !cur.open:
		return types.NewSmallInt(-1), nil
	case len(cur.rows) == 0:
		return types.NewSmallInt(0), nil
	}
	return types.NewSmallInt(1), nil
}
