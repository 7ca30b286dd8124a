package session

import (
	"errors"
	"io"

	"loopbroker/engine/catalog"
	"loopbroker/engine/exec"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/tds"
	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// bulkChunk is how many rows of a bulk load are stored at a time.
const bulkChunk = 500

// bulkOptions are the options of INSERT BULK; a true one changes what is
// stored, the others only how fast.
var bulkOptions = map[string]bool{
	"CHECK_CONSTRAINTS": true, "FIRE_TRIGGERS": true, "KEEP_NULLS": true,
	"TABLOCK": false, "ROWS_PER_BATCH": false, "KILOBYTES_PER_BATCH": false, "ORDER": false, "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS": false,
}

// announceBulk is INSERT BULK: the rows come with the next request.
func (x *Session) announceBulk(s *syntax.InsertBulk) error {
	for _, o := range s.Options {
		if _, known := bulkOptions[o.Name]; !known {
			return sqlerr.Unsupported("INSERT BULK WITH (" + o.Name + ")")
		}
	}
	x.bulk = s
	return nil
}

// bulkHas reports whether an option of INSERT BULK is set.
func bulkHas(s *syntax.InsertBulk, option string) bool {
	for _, o := range s.Options {
		if o.Name == option {
			return o.Value != "OFF"
		}
	}
	return false
}

// bulkLoad stores the rows of a bulk load as one statement.
func (x *Session) bulkLoad(req wire.BulkRequest) error {
	s := x.bulk
	x.bulk = nil
	if s == nil {
		return sqlerr.New(4002)
	}
	f := x.newFrame(emptyProgram, nil, nil)
	return x.call(f, func() error {
		f.line = 1
		if err := x.bulkInsert(f, s, req); err != nil {
			return x.handle(f, err)
		}
		return nil
	})
}

// bulkBinder binds the INSERT of a bulk load. Without CHECK_CONSTRAINTS the
// table has no checks and no foreign keys for it.
type bulkBinder struct {
	*binder
	unchecked bool
	target    *catalog.Table
}

// Relation implements plan.Binder.
func (b *bulkBinder) Relation(n syntax.Name) (catalog.Object, error) {
	o, err := b.binder.Relation(n)
	if err != nil {
		return nil, err
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		return nil, sqlerr.Unsupported("bulk load into a view")
	}
	b.target = t
	if b.unchecked {
		t = t.Clone()
		t.Checks, t.ForeignKeys = nil, nil
	}
	return t, nil
}

// bulkInsert compiles the INSERT that a bulk load stands for and feeds it.
func (x *Session) bulkInsert(f *frame, s *syntax.InsertBulk, req wire.BulkRequest) error {
	if len(s.Columns) != len(req.Columns) {
		return sqlerr.New(213)
	}
	ins := &syntax.Insert{Pos: s.Pos, Target: &syntax.TableRef{Pos: s.Pos, Name: s.Table}, Exec: &syntax.Exec{Pos: s.Pos, Proc: &s.Table}}
	for i := range s.Columns {
		ins.Columns = append(ins.Columns, s.Columns[i].Name)
	}
	b := &bulkBinder{binder: &binder{x: x, p: emptyProgram}, unchecked: !bulkHas(s, "CHECK_CONSTRAINTS")}
	defer b.close()
	restore, err := x.bulkIdentity(b, s)
	if err != nil {
		return err
	}
	defer restore()
	stmt, err := exec.CompileStatement(b, ins)
	if err != nil {
		return err
	}
	if err := x.permitted(f, stmt); err != nil {
		return err
	}
	nulls, err := x.bulkDefaults(b, s)
	if err != nil {
		return err
	}
	x.quiet = !bulkHas(s, "FIRE_TRIGGERS")
	defer func() { x.quiet = false }()
	var total int64
	err = x.inStatement(f, access{tables: stmt.Tables(), modules: stmt.Modules(), writes: true}, func() error {
		for {
			rows, end, err := bulkRows(f, req, nulls)
			if err != nil {
				return err
			}
			n, err := stmt.RunInsert(&f.rt, rows, nil)
			if total += n; err != nil || end {
				return err
			}
			if err := x.checkInterrupt(); err != nil {
				return err
			}
		}
	})
	return x.finish(f, false, total, tds.CommandBulkInsert, err)
}

// bulkIdentity lets a load that brings values for the identity column store
// them, until the function it returns is called.
func (x *Session) bulkIdentity(b *bulkBinder, s *syntax.InsertBulk) (func(), error) {
	if _, err := b.Relation(s.Table); err != nil {
		return nil, err
	}
	t := b.target
	on, db := x.insertOn, x.insertDB
	restore := func() { x.insertOn, x.insertDB = on, db }
	for i := range s.Columns {
		at := t.Column(s.Columns[i].Name.Name)
		if at >= 0 && t.Columns[at].Identity {
			x.insertOn, x.insertDB = t.ID, t.DatabaseID
			return restore, nil
		}
	}
	x.insertOn, x.insertDB = 0, 0
	return restore, nil
}

// bulkDefaults are what stands for NULL in each column of the stream: the
// column's default, nil for a column without one or with KEEP_NULLS.
func (x *Session) bulkDefaults(b *bulkBinder, s *syntax.InsertBulk) ([]func(f *frame) (types.Value, error), error) {
	out := make([]func(f *frame) (types.Value, error), len(s.Columns))
	if bulkHas(s, "KEEP_NULLS") {
		return out, nil
	}
	defaults, err := exec.CompileDefaults(b.binder, b.target)
	if err != nil {
		return nil, err
	}
	for i := range s.Columns {
		at := b.target.Column(s.Columns[i].Name.Name)
		if at >= 0 && b.target.Columns[at].Default != "" {
			out[i] = func(f *frame) (types.Value, error) { return defaults.Value(&f.rt, at) }
		}
	}
	return out, nil
}

// bulkRows reads the next rows of the stream; end is set after the last.
func bulkRows(f *frame, req wire.BulkRequest, nulls []func(f *frame) (types.Value, error)) (rows []types.Row, end bool, err error) {
	for len(rows) < bulkChunk {
		r, err := req.Next()
		if errors.Is(err, io.EOF) {
			return rows, true, nil
		}
		if err != nil {
			return nil, false, brokenStream(err)
		}
		row := append(types.Row(nil), r...)
		for i, v := range row {
			if v.IsNull() && nulls[i] != nil {
				if row[i], err = nulls[i](f); err != nil {
					return nil, false, err
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, false, nil
}

// brokenStream names an error of the client's data.
func brokenStream(err error) error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e
	}
	return sqlerr.New(4804)
}
