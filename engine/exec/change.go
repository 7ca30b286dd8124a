package exec

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// changeSet are the rows that a modification has found; a nil new row is a
// deletion.
type changeSet struct {
	ids        []storage.RowID
	olds, news []types.Row
	seen       map[storage.RowID]struct{}
}

func (s *changeSet) add(id storage.RowID, old, next types.Row) {
	s.ids = append(s.ids, id)
	s.olds = append(s.olds, old)
	s.news = append(s.news, next)
}

// first reports whether the row was not taken before, and remembers it.
func (s *changeSet) first(id storage.RowID) bool {
	if s.seen == nil {
		s.seen = map[storage.RowID]struct{}{}
	}
	if _, ok := s.seen[id]; ok {
		return false
	}
	s.seen[id] = struct{}{}
	return true
}

// insertAll stores new rows, looks up their parents and fires the triggers. It
// returns the rows that were stored. after runs between storing and triggers.
func (w *writer) insertAll(r *run, p place, rows []types.Row, columns []int, verb string, after func()) ([]types.Row, error) {
	stored := make([]types.Row, 0, len(rows))
	for _, row := range rows {
		ok, err := w.insert(r, p, row)
		if err != nil {
			return nil, err
		}
		if ok {
			stored = append(stored, row)
		}
	}
	for _, k := range w.keys {
		if err := k.present(r, stored, nil, verb); err != nil {
			return nil, err
		}
	}
	after()
	if triggers(p.table, ActionInsert, false) {
		return stored, r.rt.AfterTriggers(p.table, ActionInsert, stored, nil, columns)
	}
	return stored, nil
}

// updateAll stores changed rows, sees to the foreign keys on both sides and
// fires the triggers.
func (w *writer) updateAll(r *run, p place, s *changeSet, columns []int, verb string) error {
	if len(s.ids) > 1 && touchesUnique(p.table, columns) {
		// Keys may change places: all old rows go before the new ones come.
		for _, id := range s.ids {
			if err := p.tx.Delete(r.ctx, p.table.Store, id, r.timeout); err != nil {
				return err
			}
		}
		for _, row := range s.news {
			if _, err := p.tx.Insert(r.ctx, p.table.Store, row, r.timeout); err != nil {
				return named(err, p.table)
			}
		}
	} else {
		for i, id := range s.ids {
			if err := p.tx.Update(r.ctx, p.table.Store, id, s.news[i], r.timeout); err != nil {
				return named(err, p.table)
			}
		}
	}
	for _, k := range w.keys {
		if err := k.present(r, s.news, s.olds, verb); err != nil {
			return err
		}
	}
	for _, k := range w.references {
		if err := k.parentGone(r, s.olds, s.news, verb); err != nil {
			return err
		}
	}
	if triggers(p.table, ActionUpdate, false) {
		return r.rt.AfterTriggers(p.table, ActionUpdate, s.news, s.olds, columns)
	}
	return nil
}

// deleteAll removes rows, sees to the foreign keys that point to them and fires
// the triggers.
func (w *writer) deleteAll(r *run, p place, s *changeSet, verb string) error {
	for _, id := range s.ids {
		if err := p.tx.Delete(r.ctx, p.table.Store, id, r.timeout); err != nil {
			return err
		}
	}
	for _, k := range w.references {
		if err := k.parentGone(r, s.olds, nil, verb); err != nil {
			return err
		}
	}
	if triggers(p.table, ActionDelete, false) {
		return r.rt.AfterTriggers(p.table, ActionDelete, nil, s.olds, nil)
	}
	return nil
}

// touchesUnique reports whether one of the columns is in the key of a unique
// index.
func touchesUnique(t *catalog.Table, columns []int) bool {
	for _, ix := range t.Indexes {
		if !ix.Unique {
			continue
		}
		for _, k := range ix.Keys {
			for _, c := range columns {
				if c == k.Column {
					return true
				}
			}
		}
	}
	return false
}
