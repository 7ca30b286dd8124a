package storage

// opKind is the kind of a change.
type opKind uint8

const (
	opHook opKind = iota
	opInsert
	opUpdate
	opDelete
	opSchema
)

// op is one thing that a transaction did: what rollback undoes and commit logs.
type op struct {
	kind   opKind
	data   *tableData
	rec    *record
	ver    *version
	undo   func()      // hook, schema
	schema *schemaItem // schema: what goes to the log, nil for temporary tables
	settle func()      // schema: what is to be done after the commit
}

func (tx *Tx) did(o op) {
	tx.ops = append(tx.ops, o)
	tx.cost.Add(1)
	if o.isLogged() {
		tx.logged++
	}
}

func (o *op) isLogged() bool {
	switch o.kind {
	case opHook:
		return false
	case opSchema:
		return o.schema != nil
	}
	return !o.data.table.temporary
}

// undo takes back what was done after the first n operations.
func (tx *Tx) undo(n int) {
	for len(tx.ops) > n {
		o := tx.ops[len(tx.ops)-1]
		tx.ops[len(tx.ops)-1] = op{}
		tx.ops = tx.ops[:len(tx.ops)-1]
		if o.isLogged() {
			tx.logged--
		}
		if o.kind != opHook {
			tx.cost.Add(-1)
		}
		switch o.kind {
		case opHook, opSchema:
			if o.undo != nil {
				o.undo()
			}
		case opInsert:
			tx.store.undoInsert(&o)
		case opUpdate, opDelete:
			tx.store.undoChange(&o)
		}
	}
}

// settle tidies up after a commit: versions that no view needs are cut off, the
// others are left to the sweeper.
func (tx *Tx) settle() {
	s := tx.store
	csn := tx.w.csn.Load()
	var buf [viewBuffer]uint64
	p := s.views.points(&s.lastCommit, buf[:0])
	for i := range tx.ops {
		o := &tx.ops[i]
		t := (*Table)(nil)
		if o.data != nil {
			t = o.data.table
		}
		switch o.kind {
		case opInsert:
			t.live.Add(1)
			continue
		case opDelete:
			t.live.Add(-1)
		case opSchema:
			if o.settle != nil {
				o.settle()
			}
			continue
		case opHook:
			continue
		}
		if o.rec.head.Load() != o.ver {
			continue // a later change of the same row settles it
		}
		if s.prune(o.data, o.rec, p) != pruned {
			s.garbage.add(garbageItem{data: o.data, rec: o.rec, csn: csn})
		}
	}
	s.collect(p, settleShare)
}

// settleShare is how many items of others' garbage a commit looks at.
const settleShare = 8
