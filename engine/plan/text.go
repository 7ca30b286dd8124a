package plan

import (
	"fmt"
	"strconv"
	"strings"

	"loopbroker/engine/syntax"
)

// text renders an expression. Equal texts of expressions of one statement mean
// equal expressions; an expression with a query equals only itself.
func text(e Expr) string {
	var w printer
	w.expr(e)
	return w.String()
}

// printer renders expressions: by source and position, or with names.
type printer struct {
	strings.Builder
	names bool
}

var opText = map[syntax.BinaryOp]string{
	syntax.OpAdd: "+", syntax.OpSub: "-", syntax.OpMul: "*", syntax.OpDiv: "/", syntax.OpMod: "%",
	syntax.OpBitAnd: "&", syntax.OpBitOr: "|", syntax.OpBitXor: "^", syntax.OpEq: "=", syntax.OpNe: "<>",
	syntax.OpLt: "<", syntax.OpLe: "<=", syntax.OpGt: ">", syntax.OpGe: ">=",
}

func (w *printer) list(open string, list []Expr, closing string) {
	w.WriteString(open)
	for i, e := range list {
		if i > 0 {
			w.WriteString(", ")
		}
		if e == nil {
			w.WriteString("DEFAULT")
			continue
		}
		w.expr(e)
	}
	w.WriteString(closing)
}

func (w *printer) keys(keys []SortKey) {
	for i, k := range keys {
		if i > 0 {
			w.WriteString(", ")
		}
		w.expr(k.X)
		if k.Desc {
			w.WriteString(" DESC")
		}
	}
}

func (w *printer) not(n bool) {
	if n {
		w.WriteString("NOT ")
	}
}

func (w *printer) pair(l Expr, op string, r Expr) {
	w.WriteByte('(')
	w.expr(l)
	w.WriteString(" " + op + " ")
	w.expr(r)
	w.WriteByte(')')
}

func (w *printer) query(kind string, q *Query) {
	if w.names {
		w.WriteString(kind + "(query " + strconv.Itoa(q.ID) + ")")
		return
	}
	fmt.Fprintf(w, "%s(%p)", kind, q)
}

func (w *printer) expr(e Expr) {
	switch n := e.(type) {
	case *Const:
		if n.Value.IsNull() {
			w.WriteString("NULL")
			return
		}
		if n.T.Kind.IsChar() {
			w.WriteString("'" + n.Value.String() + "'")
			return
		}
		w.WriteString(n.Value.String())
	case *Column:
		if w.names {
			w.WriteString(n.Label)
			return
		}
		fmt.Fprintf(w, "#%d.%d", n.Src, n.Col)
	case *Variable:
		w.WriteString(n.Name)
	case *Convert:
		if w.names && n.Implicit {
			w.expr(n.X)
			return
		}
		fmt.Fprintf(w, "convert%d(%s, ", n.Mode, n.T)
		w.expr(n.X)
		if n.Style != nil {
			w.WriteString(", ")
			w.expr(n.Style)
		}
		w.WriteByte(')')
	case *Arith:
		w.pair(n.L, opText[n.Op], n.R)
	case *Negate:
		w.list("-(", []Expr{n.X}, ")")
	case *BitNot:
		w.list("~(", []Expr{n.X}, ")")
	case *Collated:
		w.list("(", []Expr{n.X}, " COLLATE "+n.T.Collation.Name+")")
	case *Case:
		w.WriteString("CASE")
		for _, c := range n.Whens {
			w.list(" WHEN ", []Expr{c.Cond}, " THEN ")
			w.expr(c.Then)
		}
		if n.Else != nil {
			w.list(" ELSE ", []Expr{n.Else}, "")
		}
		w.WriteString(" END")
	case *Coalesce:
		w.list("COALESCE(", n.Args, ")")
	case *Func:
		w.list(n.F.Name+"(", n.Args, ")")
	case *UserFunc:
		w.list(n.Module.Schema+"."+n.Module.Name+"(", n.Args, ")")
	case *NextValue:
		w.WriteString("NEXT VALUE FOR " + n.Sequence.Name)
	case *ScalarQuery:
		w.query("", n.Query)
	case *Aggregate:
		w.WriteString(n.Name)
		if n.Distinct {
			w.WriteString(" DISTINCT")
		}
		if n.F == nil {
			w.WriteString("(*)")
		} else {
			w.list("(", n.Args, ")")
		}
		w.keys(n.Within)
	case *Window:
		w.list(n.Name+"(", n.Args, ")")
		w.list(" OVER (", n.Partition, " ORDER BY ")
		w.keys(n.Order)
		if n.Frame != nil {
			fmt.Fprintf(w, " %v", *n.Frame)
		}
		w.WriteByte(')')
	default:
		w.condition(e)
	}
}

func (w *printer) condition(e Expr) {
	switch n := e.(type) {
	case *Compare:
		w.pair(n.L, opText[n.Op], n.R)
	case *Distinct:
		w.not(n.Not)
		w.pair(n.L, "IS DISTINCT FROM", n.R)
	case *And:
		w.junction(" AND ", n.List)
	case *Or:
		w.junction(" OR ", n.List)
	case *Not:
		w.list("NOT (", []Expr{n.X}, ")")
	case *IsNull:
		w.not(n.Not)
		w.list("", []Expr{n.X}, " IS NULL")
	case *InList:
		w.not(n.Not)
		w.expr(n.X)
		w.list(" IN (", n.List, ")")
	case *InQuery:
		w.not(n.Not)
		w.expr(n.X)
		w.query(" IN ", n.Query)
	case *Like:
		w.not(n.Not)
		w.pair(n.X, "LIKE", n.Pattern)
		if n.Escape != nil {
			w.expr(n.Escape)
		}
	case *Exists:
		w.query("EXISTS", n.Query)
	case *Quantified:
		w.expr(n.L)
		w.query(" "+opText[n.Op]+" ", n.Query)
	}
}

func (w *printer) junction(op string, list []Expr) {
	w.WriteByte('(')
	for i, e := range list {
		if i > 0 {
			w.WriteString(op)
		}
		w.expr(e)
	}
	w.WriteByte(')')
}
