package plan

import (
	"errors"
	"strings"

	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

// statement is what all binders of one statement share.
type statement struct {
	sources, states int
	tables          []*catalog.Table
	modules         []*catalog.Module
	uses            []Use
	assigns         bool
}

func (s *statement) source() int { s.sources++; return s.sources - 1 }
func (s *statement) state() int  { s.states++; return s.states - 1 }

func (s *statement) addTable(t *catalog.Table) {
	for _, o := range s.tables {
		if o == t {
			return
		}
	}
	s.tables = append(s.tables, t)
}

func (s *statement) addModule(m *catalog.Module) {
	for _, o := range s.modules {
		if o == m {
			return
		}
	}
	s.modules = append(s.modules, m)
}

func (s *statement) use(o catalog.Object, permission string) {
	for _, u := range s.uses {
		if u.Object == o && u.Permission == permission {
			return
		}
	}
	s.uses = append(s.uses, Use{Object: o, Permission: permission})
}

// clause is the part of a query that is being bound.
type clause uint8

const (
	clauseNone clause = iota
	clauseWhere
	clauseOn
	clauseGroup
	clauseSelect
	clauseHaving
	clauseOrder
	clauseAggregate // inside the arguments of an aggregate
)

// scope is what the names of columns mean in one query.
type scope struct {
	parent *scope
	rels   []*relation
	clause clause
	// windows are allowed in the select list and ORDER BY.
	aggregated bool // an aggregate was bound
}

// relation is one range variable.
type relation struct {
	name             string // exposed name
	database, schema string // of a table without an alias
	aliased          bool
	object           catalog.Object
	cols             []relColumn
	scan             *Scan // the table behind it, nil for others
	inline           Rel   // the merged query behind it
}

// relColumn is one column of a relation: an expression over sources.
type relColumn struct {
	name   string
	x      Expr
	out    OutColumn
	hidden bool // not part of *
}

// binder binds names and types in one environment: the statement itself, or the
// text of a view or inline function.
type binder struct {
	*statement
	env    Binder
	params map[string]func() (Expr, error) // parameters of an inline function
	ctes   *cteScope
	scope  *scope
	depth  int // of views within views
	// outermost is set while the statement's own text is bound.
	outermost bool
	option    options
	// target is the name that an UPDATE or DELETE changes, while its FROM
	// clause is bound.
	target string
}

// with returns a binder for another scope.
func (b *binder) with(s *scope) *binder {
	c := *b
	c.scope = s
	return &c
}

// lineOf gives an error the line of n, unless it has one.
func lineOf(n syntax.Node, err error) error {
	if e, ok := errors.AsType[*sqlerr.Error](err); ok && n != nil {
		return e.At(n.At().Line)
	}
	return err
}

func fail(n syntax.Node, number int32, args ...any) error {
	return lineOf(n, sqlerr.New(number, args...))
}

func unsupported(n syntax.Node, feature string) error { return lineOf(n, sqlerr.Unsupported(feature)) }

// fold compares identifiers as the default collation does for ASCII.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }

func dotted(parts []syntax.Ident) string {
	s := make([]string, len(parts))
	for i, p := range parts {
		s[i] = p.Name
	}
	return strings.Join(s, ".")
}

// matches reports whether the qualifier of a column names r.
func (r *relation) matches(q []syntax.Ident) bool {
	if !sameName(q[len(q)-1].Name, r.name) {
		return false
	}
	if len(q) == 1 {
		return true
	}
	if r.aliased || !sameName(q[len(q)-2].Name, r.schema) {
		return false
	}
	return len(q) == 2 || sameName(q[len(q)-3].Name, r.database) || q[len(q)-3].Name == ""
}

func (r *relation) find(name string) (*relColumn, bool, error) {
	var found *relColumn
	for i := range r.cols {
		if sameName(r.cols[i].name, name) {
			if found != nil {
				return nil, false, sqlerr.New(209, name)
			}
			found = &r.cols[i]
		}
	}
	return found, found != nil, nil
}

// column resolves a column reference to an expression.
func (b *binder) column(n *syntax.ColumnRef) (Expr, error) {
	c, err := b.lookup(n)
	if err != nil {
		return nil, lineOf(n, err)
	}
	x, ok := substitute(c.x, func(*Column) Expr { return nil })
	if !ok {
		return nil, unsupported(n, "a query behind this column")
	}
	return x, nil
}

func (b *binder) lookup(n *syntax.ColumnRef) (*relColumn, error) {
	last := n.Parts[len(n.Parts)-1].Name
	if len(n.Parts) == 1 {
		for s := b.scope; s != nil; s = s.parent {
			var found *relColumn
			for _, r := range s.rels {
				c, ok, err := r.pick(last)
				if err != nil {
					return nil, err
				}
				if !ok {
					continue
				}
				if found != nil {
					return nil, sqlerr.New(209, last)
				}
				found = c
			}
			if found != nil {
				return found, nil
			}
		}
		if b.scope == nil || b.scope.clause == clauseNone {
			return nil, b.noColumns(n)
		}
		return nil, sqlerr.New(207, last)
	}
	q := n.Parts[:len(n.Parts)-1]
	for s := b.scope; s != nil; s = s.parent {
		for _, r := range s.rels {
			if !r.matches(q) {
				continue
			}
			c, ok, err := r.pick(last)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, sqlerr.New(207, last)
			}
			return c, nil
		}
	}
	return nil, sqlerr.New(4104, dotted(n.Parts))
}

// noColumns is the error for a name where no columns exist.
func (b *binder) noColumns(n *syntax.ColumnRef) error {
	if b.scope == nil {
		return sqlerr.New(128, n.Parts[0].Name)
	}
	return sqlerr.New(207, n.Parts[0].Name)
}

// pick is find with the pseudo columns $IDENTITY and $ROWGUID.
func (r *relation) pick(name string) (*relColumn, bool, error) {
	if !strings.HasPrefix(name, "$") {
		return r.find(name)
	}
	for i := range r.cols {
		c := r.cols[i].out.Base
		if c == nil {
			continue
		}
		if (strings.EqualFold(name, "$IDENTITY") && c.Identity) || (strings.EqualFold(name, "$ROWGUID") && c.RowGUID) {
			return &r.cols[i], true, nil
		}
	}
	return r.find(name)
}

// tableRelation makes the relation of a table whose rows are in source src.
func (b *binder) tableRelation(t *catalog.Table, src int, name string) (*relation, error) {
	r := &relation{name: name, object: t, schema: t.Schema, database: t.Database}
	for i, c := range t.Columns {
		col := &Column{Src: src, Col: i, T: c.Type, Name: c.Name, Label: name + "." + c.Name, Nullable: c.Nullable, Base: c}
		r.cols = append(r.cols, relColumn{name: c.Name, x: col,
			out: OutColumn{Name: c.Name, T: c.Type, Nullable: c.Nullable, Base: c, Computed: c.Computed}})
	}
	for i, c := range t.Columns {
		if !c.Computed || c.Persisted {
			continue
		}
		x, err := b.computed(t, r, c)
		if err != nil {
			return nil, err
		}
		r.cols[i].x = x
	}
	return r, nil
}

// computed binds the expression of a computed column over the columns of r.
func (b *binder) computed(t *catalog.Table, r *relation, c *catalog.Column) (Expr, error) {
	tree, err := syntax.ParseExpr(c.ComputedText, syntax.Options{QuotedIdentifier: true})
	if err != nil {
		return nil, err
	}
	s := &scope{rels: []*relation{{name: t.Name, schema: t.Schema, database: t.Database, cols: r.cols}}, clause: clauseSelect}
	in := *b
	in.scope, in.ctes, in.params, in.outermost = s, nil, nil, false
	x, err := in.value(tree)
	if err != nil {
		return nil, err
	}
	return in.convertTo(x, c.Type), nil
}

// readTable records that a table is read and returns its scan and relation.
func (b *binder) readTable(t *catalog.Table, kind ScanKind, slot int, alias syntax.Ident, hints Hints) (*Scan, *relation, error) {
	src := b.source()
	name := t.Name
	if alias.Name != "" {
		name = alias.Name
	}
	r, err := b.tableRelation(t, src, name)
	if err != nil {
		return nil, nil, err
	}
	r.aliased = alias.Name != ""
	s := &Scan{Src: src, Kind: kind, Slot: slot, Table: t, Name: name, Hints: hints, Path: Path{Index: -1}}
	r.scan = s
	if kind == ScanTable {
		b.addTable(t)
	}
	return s, r, nil
}

// rename gives the columns of a relation the names of a column list.
func rename(n syntax.Node, name string, cols []relColumn, names []syntax.Ident) error {
	if len(names) == 0 {
		return nil
	}
	if len(names) < len(cols) {
		return fail(n, 8158, name)
	}
	if len(names) > len(cols) {
		return fail(n, 8159, name)
	}
	for i := range cols {
		cols[i].name = names[i].Name
	}
	return nil
}

// checkNames requires that all columns have names, each of its own.
func checkNames(n syntax.Node, name string, cols []relColumn) error {
	for i := range cols {
		if cols[i].name == "" {
			return fail(n, 8155, i+1, name)
		}
		for j := range i {
			if sameName(cols[i].name, cols[j].name) {
				return fail(n, 8156, cols[i].name, name)
			}
		}
	}
	return nil
}

// defaultType is the type of a column whose expression is a bare NULL.
func defaultType(t types.Type) types.Type {
	if t.Kind == types.KindNull {
		return types.TypeInt
	}
	return t
}
