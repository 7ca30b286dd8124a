package history

import "fmt"

// reading draws the reading of a query: that of the level, or with a hint.
func (s *session) reading() reading {
	level := s.plan.txn.level
	r := plain(level, s.p.RCSI)
	if s.p.Hints && s.rnd.IntN(3) == 0 {
		h := pick(s.rnd, hints)
		if hinted, ok := r.with(&h, level); ok {
			return hinted
		}
	}
	return r
}

// searching draws the reading of the target of a change.
func (s *session) searching() reading {
	level := s.plan.txn.level
	r := searching(level)
	if s.p.Hints && s.rnd.IntN(4) == 0 {
		h := pick(s.rnd, targetHints)
		if hinted, ok := r.with(&h, level); ok {
			return hinted
		}
	}
	return r
}

// read is a query for rows.
func (s *session) read(t table, where predicate) step {
	return func(s *session) *statement {
		order := ""
		if where.kind != byVal && where.kind != byCode && s.rnd.IntN(3) == 0 {
			order = " ORDER BY id DESC"
			if where.kind == byGrp {
				order = " ORDER BY grp DESC"
			}
		}
		return selectRows(t, where, s.reading(), order)
	}
}

func selectRows(t table, where predicate, r reading, order string) *statement {
	return &statement{
		kind: query, table: t, where: where, searches: true, reading: r, inserts: -1,
		text: fmt.Sprintf("SELECT %s FROM dbo.%s%s WHERE %s%s", columns, t, r.WITH(), where.SQL(), order),
	}
}

// sum is a query for an aggregate, and for the versions in it.
func (s *session) sum(t table, where predicate) step {
	return func(s *session) *statement {
		r := s.reading()
		return &statement{
			kind: aggregate, table: t, where: where, searches: true, reading: r, inserts: -1,
			text: fmt.Sprintf("SELECT COUNT(*), COALESCE(SUM(val), 0), STRING_AGG(CONCAT(id, ':', ver), ',') FROM dbo.%s%s WHERE %s", t, r.WITH(), where.SQL()),
		}
	}
}

const (
	deletedColumns  = "deleted.id, deleted.grp, deleted.code, deleted.val, deleted.ver, deleted.prev"
	insertedColumns = "inserted.id, inserted.grp, inserted.code, inserted.val, inserted.ver, inserted.prev"
	noColumns       = "NULL, NULL, NULL, NULL, NULL, NULL"
)

// version is the ver of the statement that is being made.
func (s *session) version() int64 {
	return versionOf(s.n, s.plan.txn.n, len(s.plan.txn.statements))
}

func (s *session) change(t table, where predicate, r reading) *statement {
	return &statement{kind: dml, table: t, where: where, searches: true, reading: r, inserts: -1, version: s.version()}
}

func (s *session) update(t table, where predicate, set string) *statement {
	st := s.change(t, where, s.searching())
	st.text = fmt.Sprintf("UPDATE dbo.%s%s SET %s, ver = %d, prev = ver OUTPUT %s, %s WHERE %s",
		t, st.reading.WITH(), set, st.version, deletedColumns, insertedColumns, where.SQL())
	return st
}

func (s *session) remove(t table, where predicate) *statement {
	st := s.change(t, where, s.searching())
	st.text = fmt.Sprintf("DELETE FROM dbo.%s%s OUTPUT %s, %s WHERE %s", t, st.reading.WITH(), deletedColumns, noColumns, where.SQL())
	return st
}

// insert adds a row, sometimes two.
func (s *session) insert(t table, id, grp int64) *statement {
	st := s.change(t, predicate{}, searching(s.plan.txn.level))
	st.searches, st.inserts = false, id
	code := id
	if t == item {
		code = s.code()
	}
	values := fmt.Sprintf("(%d, %d, %d, %d, %d, 0)", id, grp, code, s.rnd.Int64N(50), st.version)
	if t == item && s.rnd.IntN(4) == 0 {
		st.inserts = -1
		values += fmt.Sprintf(", (%d, %d, %d, %d, %d, 0)", (id+1)%int64(s.p.Items), grp, s.code(), s.rnd.Int64N(50), st.version)
	}
	st.text = fmt.Sprintf("INSERT INTO dbo.%s (%s) OUTPUT %s, %s VALUES %s", t, columns, noColumns, insertedColumns, values)
	return st
}

// merge updates an item, or inserts it.
func (s *session) merge(id int64) *statement {
	st := s.change(item, predicate{}, searching(s.plan.txn.level))
	st.searches = false
	with := ""
	if s.plan.txn.level != Snapshot && s.rnd.IntN(2) == 0 {
		with = " WITH (HOLDLOCK)"
	}
	st.text = fmt.Sprintf(`MERGE dbo.item%s AS t USING (VALUES (%d)) AS s(id) ON t.id = s.id `+
		`WHEN MATCHED THEN UPDATE SET val = t.val + 5, ver = %d, prev = t.ver `+
		`WHEN NOT MATCHED THEN INSERT (%s) VALUES (s.id, %d, %d, 5, %d, 0) OUTPUT %s, %s;`,
		with, id, st.version, columns, s.rnd.Int64N(4), s.code(), st.version, deletedColumns, insertedColumns)
	return st
}

// claimed takes the first free job that nobody has locked.
func (s *session) claimed() *statement {
	st := s.change(job, predicate{byGrp, 0, 0}, searching(s.plan.txn.level))
	st.reading.complete = false
	set := fmt.Sprintf("grp = 1, val = %d, ver = %d, prev = ver OUTPUT %s, %s", s.n, st.version, deletedColumns, insertedColumns)
	st.text = "UPDATE TOP (1) dbo.job WITH (UPDLOCK, ROWLOCK, READPAST) SET " + set + " WHERE grp = 0"
	if s.rnd.IntN(2) == 0 {
		st.text = "WITH c AS (SELECT TOP (1) " + columns + " FROM dbo.job WITH (UPDLOCK, ROWLOCK, READPAST) WHERE grp = 0 ORDER BY id) UPDATE c SET " + set
	}
	return st
}
