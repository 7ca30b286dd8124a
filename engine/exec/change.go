package exec

import (
	"slices"

	"loopbroker/engine/catalog"
	"loopbroker/engine/storage"
	"loopbroker/engine/types"
)

// changeSet are the rows that a modification has found; a nil new row is a
// deletion.
type changeSet struct {
	ids        []storage.RowID
	olds, news []types.Row
	outs       []types.Row                // of the OUTPUT clause
	seen       map[storage.RowID]struct{} // nil while there are few
	// The first ones need no memory of their own: most modifications change one
	// row.
	fewIDs  [1]storage.RowID
	fewOlds [1]types.Row
	fewNews [1]types.Row
}

func (s *changeSet) add(id storage.RowID, old, next types.Row) {
	if s.ids == nil {
		s.ids, s.olds, s.news = s.fewIDs[:0], s.fewOlds[:0], s.fewNews[:0]
	}
	s.ids = append(s.ids, id)
	s.olds = append(s.olds, old)
	s.news = append(s.news, next)
}

// fewRows is up to how many rows a list is as good as a map.
const fewRows = 8

// first reports whether the row was not added before.
func (s *changeSet) first(id storage.RowID) bool {
	if len(s.ids) <= fewRows {
		return !slices.Contains(s.ids, id)
	}
	if s.seen == nil {
		s.seen = make(map[storage.RowID]struct{}, 4*fewRows)
	}
	for _, added := range s.ids[len(s.seen):] {
		s.seen[added] = struct{}{}
	}
	_, ok := s.seen[id]
	return !ok
}

// insertAll stores new rows, looks up their parents and fires the triggers. It
// returns the rows that were stored. after runs between storing and triggers.
func (w *writer) insertAll(r *run, p place, rows []types.Row, columns []int, verb string, after func()) ([]types.Row, error) {
	stored := rows
	for i, row := range rows {
		ok, err := w.insert(r, p, row)
		if err != nil {
			return nil, err
		}
		switch all := len(stored) == len(rows); {
		case all && !ok: // the first that is left out
			stored = append(make([]types.Row, 0, len(rows)-1), rows[:i]...)
		case !all && ok:
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
