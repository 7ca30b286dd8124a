package session

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

func init() {
	registerProcedures(&sysProc{
		name: "sp_sequence_get_range",
		params: []sysParam{
			required("@sequence_name", types.NVarChar(776)), required("@range_size", types.TypeBigInt),
			required("@range_first_value", types.TypeVariant), optional("@range_last_value", types.TypeVariant),
			optional("@range_cycle_count", types.TypeInt), optional("@sequence_increment", types.TypeVariant),
			optional("@sequence_min_value", types.TypeVariant), optional("@sequence_max_value", types.TypeVariant),
		},
		run: sequenceRange,
	})
}

// sequenceRange takes a range of numbers of a sequence, error 11732. A range
// never goes around a cycle.
func sequenceRange(x *Session, c *sysCall) (int32, error) {
	n, ok := parseName(c.text(0))
	if !ok {
		return 1, sqlerr.New(208, c.text(0))
	}
	o, db, err := x.lookup(n, "")
	if err != nil {
		return 1, err
	}
	q, ok := o.(*catalog.Sequence)
	if !ok {
		return 1, sqlerr.New(208, c.text(0))
	}
	if user := x.userIn(db); user == nil || !x.owns(db) && !db.Allowed(user.ID, "UPDATE", q) {
		return 1, sqlerr.New(229, "UPDATE", q.Name, db.Name, q.Schema)
	}
	size := c.values[1].Int()
	if c.values[1].IsNull() || size < 1 {
		return 1, sqlerr.New(11733)
	}
	first, last, ok, err := q.Counter.Take(size, q.Min, q.Max)
	switch {
	case err != nil:
		return 1, err
	case !ok:
		return 1, sqlerr.New(11732, q.Name)
	}
	for i, v := range []int64{first, last, 0, q.Increment, q.Min, q.Max} {
		if err := c.output(i+2, types.NewBigInt(v)); err != nil {
			return 1, err
		}
	}
	return 0, nil
}
