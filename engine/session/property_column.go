package session

import (
	"slices"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/types"
)

// columnsOf are the columns of an object, nil when it has none.
func columnsOf(o catalog.Object) []*catalog.Column {
	switch o := o.(type) {
	case *catalog.Table:
		return o.Columns
	case *catalog.Module:
		return o.Columns
	case *catalog.SystemView:
		return o.Columns
	}
	return nil
}

func findColumn(list []*catalog.Column, name string) *catalog.Column {
	for _, c := range list {
		if catalog.Fold(c.Name) == catalog.Fold(name) {
			return c
		}
	}
	return nil
}

func colLength(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	table, _ := argText(a[0])
	column, _ := argText(a[1])
	n, ok := parseName(table)
	if !ok {
		return nothing()
	}
	var o catalog.Object
	if t, ok := x.tempTable(n.Object.Name); ok {
		o = t
	} else {
		var err error
		if o, _, err = x.lookup(n, ""); err != nil || o == nil {
			return nothing()
		}
	}
	c := findColumn(columnsOf(o), column)
	if c == nil {
		return nothing()
	}
	return types.NewSmallInt(int64(c.Type.MaxBytes())), nil
}

func colName(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	id, _ := argInt(a[1])
	for _, c := range columnsOf(x.objectByID(a[0])) {
		if int64(c.ID) == id {
			return text(c.Name)
		}
	}
	return nothing()
}

func columnProperty(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[1])
	property, _ := argText(a[2])
	c := findColumn(columnsOf(x.objectByID(a[0])), name)
	if c == nil {
		return nothing()
	}
	switch strings.ToLower(property) {
	case "allowsnull":
		return yesNo(c.Nullable)
	case "columnid", "ordinal":
		return whole(int64(c.ID))
	case "isidentity":
		return yesNo(c.Identity)
	case "iscomputed":
		return yesNo(c.Computed)
	case "isrowguidcol":
		return yesNo(c.RowGUID)
	case "precision":
		return whole(int64(c.Type.Precision))
	case "scale":
		return whole(int64(c.Type.Scale))
	case "charmaxlen":
		return whole(int64(c.Type.Length))
	case "issparse", "ishidden", "iscolumnset":
		return whole(0)
	}
	return nothing()
}

func objectProperty(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	o := x.objectByID(a[0])
	if o == nil {
		return nothing()
	}
	property, _ := argText(a[1])
	k := o.Kind()
	m, _ := o.(*catalog.Module)
	t, _ := o.(*catalog.Table)
	switch strings.ToLower(property) {
	case "istable", "isusertable":
		return yesNo(k == catalog.KindTable)
	case "isview":
		return yesNo(k == catalog.KindView)
	case "isprocedure":
		return yesNo(k == catalog.KindProcedure)
	case "istrigger":
		return yesNo(k == catalog.KindTrigger)
	case "isscalarfunction":
		return yesNo(k == catalog.KindScalarFunction)
	case "isinlinefunction":
		return yesNo(k == catalog.KindInlineFunction)
	case "istablefunction":
		return yesNo(k == catalog.KindInlineFunction || k == catalog.KindTableFunction)
	case "ismsshipped":
		return whole(0)
	case "schemaid":
		return whole(int64(o.Head().SchemaID))
	case "execisquotedidenton":
		return yesNo(m != nil && m.QuotedIdentifier)
	case "execisansinullson":
		return yesNo(m != nil && m.AnsiNulls)
	case "tablehasidentity":
		return yesNo(t != nil && t.Identity != nil)
	case "tablehasprimarykey":
		return yesNo(t != nil && slices.ContainsFunc(t.Indexes, func(i *catalog.Index) bool { return i.PrimaryKey }))
	case "tablehasclustindex":
		return yesNo(t != nil && t.HasClustered)
	}
	return nothing()
}

func indexOf(x *Session, a []types.Value, name string) (*catalog.Table, *catalog.Index) {
	t, ok := x.objectByID(a[0]).(*catalog.Table)
	if !ok {
		return nil, nil
	}
	for _, ix := range t.Indexes {
		if catalog.Fold(ix.Name) == catalog.Fold(name) {
			return t, ix
		}
	}
	return t, nil
}

func indexProperty(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[1])
	property, _ := argText(a[2])
	_, ix := indexOf(x, a, name)
	if ix == nil {
		return nothing()
	}
	switch strings.ToLower(property) {
	case "indexid":
		return whole(int64(ix.ID))
	case "isclustered":
		return yesNo(ix.Clustered)
	case "isunique":
		return yesNo(ix.Unique)
	case "ispagelockdisallowed":
		return yesNo(!ix.AllowPageLocks)
	case "isrowlockdisallowed":
		return yesNo(!ix.AllowRowLocks)
	}
	return nothing()
}

func indexCol(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[0])
	id, _ := argInt(a[1])
	key, _ := argInt(a[2])
	n, ok := parseName(name)
	if !ok {
		return nothing()
	}
	o, _, err := x.lookup(n, "")
	t, isTable := o.(*catalog.Table)
	if err != nil || !isTable {
		return nothing()
	}
	for _, ix := range t.Indexes {
		if int64(ix.ID) == id && key >= 1 && int(key) <= len(ix.Keys) {
			return text(t.Columns[ix.Keys[key-1].Column].Name)
		}
	}
	return nothing()
}

func typeID(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	name, _ := argText(a[0])
	n, ok := parseName(name)
	if !ok {
		return nothing()
	}
	if id, ok := catalog.SystemTypeID(n.Object.Name); ok && n.Schema.Name == "" {
		return whole(int64(id))
	}
	if u, ok := x.userType(n); ok {
		return whole(int64(u.ID))
	}
	return nothing()
}

func typeName(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	id, _ := argInt(a[0])
	if name, ok := catalog.SystemTypeName(int32(id)); ok {
		return text(name)
	}
	for _, u := range x.db.Types() {
		if int64(u.ID) == id {
			return text(u.Name)
		}
	}
	return nothing()
}

func (x *Session) identityTable(a []types.Value) *catalog.Table {
	name, _ := argText(a[0])
	n, ok := parseName(name)
	if !ok {
		return nil
	}
	if t, ok := x.tempTable(n.Object.Name); ok {
		return t
	}
	o, _, err := x.lookup(n, "")
	if t, ok := o.(*catalog.Table); ok && err == nil && t.Identity != nil {
		return t
	}
	return nil
}

func identCurrent(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	t := x.identityTable(a)
	if t == nil || t.Identity == nil {
		return nothing()
	}
	n, used := t.Identity.Last()
	if !used {
		n = t.Identity.Seed()
	}
	return numeric38(types.NewBigInt(n))
}

func identSeed(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if t := x.identityTable(a); t != nil && t.Identity != nil {
		return numeric38(types.NewBigInt(t.Identity.Seed()))
	}
	return nothing()
}

func identIncr(x *Session, _ *frame, a []types.Value) (types.Value, error) {
	if t := x.identityTable(a); t != nil && t.Identity != nil {
		return numeric38(types.NewBigInt(t.Identity.Increment()))
	}
	return nothing()
}
