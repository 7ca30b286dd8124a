package session

import (
	"slices"
	"time"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// dynamicViews are the dynamic management views, by folded name.
var dynamicViews = map[string]*catalog.SystemView{}

// field is a column of a dynamic management view with what it shows of a T. A
// column without a value is always NULL.
type field[T any] struct {
	name     string
	typ      types.Type
	nullable bool
	value    func(*T) types.Value
}

// number is a numeric column that is never NULL.
func number[T any](name string, t types.Type, value func(*T) int64) field[T] {
	return field[T]{name, t, false, func(r *T) types.Value { return wholeOf(t, value(r)) }}
}

// fixed is a numeric column that shows the same number everywhere: what it
// counts does not exist in this engine.
func fixed[T any](name string, t types.Type, n int64) field[T] {
	v := wholeOf(t, n)
	return field[T]{name, t, false, func(*T) types.Value { return v }}
}

// word is a character column that is never NULL.
func word[T any](name string, t types.Type, value func(*T) string) field[T] {
	return field[T]{name, t, false, func(r *T) types.Value { return types.NewString(t.Kind, value(r)) }}
}

// wordOrNull is a character column that is NULL where its text is empty.
func wordOrNull[T any](name string, t types.Type, value func(*T) string) field[T] {
	return field[T]{name, t, true, func(r *T) types.Value {
		if s := value(r); s != "" {
			return types.NewString(t.Kind, s)
		}
		return types.Null
	}}
}

// truth is a bit column.
func truth[T any](name string, value func(*T) bool) field[T] {
	return field[T]{name, types.TypeBit, false, func(r *T) types.Value { return types.NewBit(value(r)) }}
}

// moment is a datetime column that is NULL for the zero time.
func moment[T any](name string, value func(*T) time.Time) field[T] {
	return field[T]{name, types.TypeDateTime, true, func(r *T) types.Value {
		if t := value(r); !t.IsZero() {
			return types.FromGoTime(types.KindDateTime, 3, t.UTC())
		}
		return types.Null
	}}
}

// bytesOrNull is a binary column that is NULL where there are no bytes.
func bytesOrNull[T any](name string, t types.Type, value func(*T) []byte) field[T] {
	return field[T]{name, t, true, func(r *T) types.Value {
		if b := value(r); b != nil {
			return types.NewBinary(t.Kind, string(b))
		}
		return types.Null
	}}
}

// computed is a column with a value of its own making.
func computed[T any](name string, t types.Type, value func(*T) types.Value) field[T] {
	return field[T]{name, t, true, value}
}

// unset is a column that is always NULL.
func unset[T any](name string, t types.Type) field[T] {
	return field[T]{name: name, typ: t, nullable: true}
}

// wholeOf is a whole number of a type.
func wholeOf(t types.Type, n int64) types.Value {
	switch t.Kind {
	case types.KindSmallInt:
		return types.NewSmallInt(n)
	case types.KindBigInt:
		return types.NewBigInt(n)
	case types.KindTinyInt:
		return types.NewTinyInt(n)
	case types.KindReal:
		return types.NewReal(float64(n))
	}
	return types.NewInt(n)
}

// columnsOfFields are the columns of a view.
func columnsOfFields[T any](fields []field[T]) []*catalog.Column {
	cols := make([]*catalog.Column, len(fields))
	for i, f := range fields {
		cols[i] = &catalog.Column{ID: int32(i + 1), Name: f.name, Type: f.typ, Nullable: f.nullable}
	}
	return cols
}

// rowsOfFields are the rows that fields show of a list.
func rowsOfFields[T any](fields []field[T], list []T) []types.Row {
	rows := make([]types.Row, len(list))
	for i := range list {
		row := make(types.Row, len(fields))
		for c, f := range fields {
			if f.value != nil {
				row[c] = f.value(&list[i])
			}
		}
		rows[i] = row
	}
	return rows
}

// ownView registers a view in which everybody sees what is his own, and who may
// view the server's state sees all. The source takes care of that.
func ownView[T any](name string, source func(x *Session) []T, fields ...field[T]) {
	register(name, fields, func(x *Session) ([]T, error) { return source(x), nil })
}

// stateView registers a view for those who may view the server's state, error
// 300 and 297.
func stateView[T any](name string, source func(x *Session) []T, fields ...field[T]) {
	guardedView(name, "PERFORMANCE", source, fields...)
}

// guardedView registers a view that takes the permission VIEW SERVER … STATE.
func guardedView[T any](name, kind string, source func(x *Session) []T, fields ...field[T]) {
	register(name, fields, func(x *Session) ([]T, error) {
		if err := x.mayViewState(kind); err != nil {
			return nil, err
		}
		return source(x), nil
	})
}

func register[T any](name string, fields []field[T], source func(x *Session) ([]T, error)) {
	v := &catalog.SystemView{Columns: columnsOfFields(fields), Rows: func(v catalog.Viewer) ([]types.Row, error) {
		list, err := source(v.(viewer).x)
		if err != nil {
			return nil, err
		}
		return rowsOfFields(fields, list), nil
	}}
	v.Name, v.Schema, v.ID = name, "sys", -int32(1000+len(dynamicViews))
	dynamicViews[name] = v
}

// systemFunctions are the dynamic management functions, by folded name, and
// systemRows what computes their rows.
var (
	systemFunctions = map[string]*catalog.Module{}
	systemRows      = map[*catalog.Module]func(x *Session, args []types.Value) ([]types.Row, error){}
)

// systemFunction registers a dynamic management function.
func systemFunction[T any](name string, params []catalog.Parameter, source func(x *Session, args []types.Value) ([]T, error), fields ...field[T]) {
	m := &catalog.Module{ModuleKind: catalog.KindTableFunction, Parameters: params, Columns: columnsOfFields(fields)}
	m.Name, m.Schema, m.ID = name, "sys", -int32(2000+len(systemFunctions))
	systemFunctions[name] = m
	systemRows[m] = func(x *Session, args []types.Value) ([]types.Row, error) {
		list, err := source(x, args)
		if err != nil {
			return nil, err
		}
		return rowsOfFields(fields, list), nil
	}
}

// isSystemFunction reports whether an object is a dynamic management function.
func isSystemFunction(o catalog.Object) bool {
	m, ok := o.(*catalog.Module)
	return ok && systemRows[m] != nil
}

// viewsState reports whether the session has the permission VIEW SERVER STATE:
// that of a member of a server role that brings it, in a context that reaches
// beyond the database.
func (x *Session) viewsState() bool {
	l := x.ident.login
	return x.ident.database == nil && (l.Sysadmin() || slices.Contains(l.Roles, "serveradmin") || slices.Contains(l.Roles, "processadmin"))
}

// mayViewState refuses who may not view the server's state: message 300 names
// the permission, and error 297 follows.
func (x *Session) mayViewState(kind string) error {
	if x.viewsState() {
		return nil
	}
	return x.after(sqlerr.New(300, "VIEW SERVER "+kind+" STATE", "server", "master"), sqlerr.New(297))
}

// visibleSessions are the sessions that a viewer may see.
func visibleSessions(x *Session) []Info {
	x.info.refresh(x)
	all := x.srv.Sessions()
	if x.viewsState() {
		return all
	}
	return slices.DeleteFunc(all, func(i Info) bool { return i.ID != x.id })
}
