package syntax

import (
	"strconv"
	"strings"
)

// Format returns T-SQL that parses, with QUOTED_IDENTIFIER on, to the same tree
// as n but for positions and source texts. Comments and spelling are not kept.
func Format(n Node) string {
	var w printer
	w.put(n)
	return w.b.String()
}

// printer writes nodes as text.
type printer struct{ b strings.Builder }

// put writes its arguments one after the other: text as it is, nodes and lists
// of nodes as T-SQL.
func (w *printer) put(args ...any) {
	for _, arg := range args {
		switch x := arg.(type) {
		case nil:
		case string:
			w.b.WriteString(x)
		case int:
			w.b.WriteString(strconv.Itoa(x))
		case Ident:
			w.ident(x)
		case *Ident:
			w.ident(*x)
		case Name:
			w.name(x)
		case *Name:
			w.name(*x)
		case DataType:
			w.dataType(x)
		case []Ident:
			putList(w, x)
		case []Name:
			putList(w, x)
		case []Expr:
			putList(w, x)
		case []string:
			putList(w, x)
		case []TableExpr:
			putList(w, x)
		case Statement:
			w.statement(x)
		case Expr:
			w.expr(x)
		case QueryExpr:
			w.query(x)
		case TableExpr:
			w.table(x)
		}
	}
}

// putList writes a list with commas.
func putList[T any](w *printer, list []T) {
	for i, x := range list {
		if i > 0 {
			w.put(", ")
		}
		w.put(x)
	}
}

// each writes a list with commas, by f.
func each[T any](w *printer, list []T, f func(T)) {
	for i, x := range list {
		if i > 0 {
			w.put(", ")
		}
		f(x)
	}
}

// when writes args if the condition holds.
func (w *printer) when(cond bool, args ...any) {
	if cond {
		w.put(args...)
	}
}

// optional writes prefix and x, or nothing when x is absent.
func (w *printer) optional(prefix string, x any) {
	switch v := x.(type) {
	case nil:
		return
	case Ident:
		if v.Name == "" {
			return
		}
	case string:
		if v == "" {
			return
		}
	case []Ident:
		if v == nil {
			return
		}
		w.put(prefix, "(", v, ")")
		return
	}
	w.put(prefix, x)
}

func (w *printer) ident(id Ident) {
	if id.Quoted {
		w.put(bracketed(id.Name))
	} else {
		w.put(id.Name)
	}
}

func bracketed(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

func (w *printer) name(n Name) {
	dots := false
	for _, id := range [...]Ident{n.Server, n.Database, n.Schema} {
		if dots || id.Name != "" {
			dots = true
			w.put(id, ".")
		}
	}
	w.put(n.Object)
}

func (w *printer) dataType(t DataType) {
	w.put(t.Name)
	switch {
	case t.Max:
		w.put("(max)")
	case t.Args != nil:
		w.put("(")
		putList(w, t.Args)
		w.put(")")
	}
}

// text writes a string constant. A backslash before the end of a line would
// join the lines, so it gets a joint of its own.
func (w *printer) text(s string) {
	s = strings.ReplaceAll(s, "'", "''")
	if strings.Contains(s, "\\\n") || strings.Contains(s, "\\\r\n") {
		s = strings.NewReplacer("\\\r\n", "\\\\\n\r\n", "\\\n", "\\\\\n\n").Replace(s)
	}
	w.put("'", s, "'")
}

// ---------------------------------------------------------------- expressions

var binarySigns = [...]string{
	OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpBitAnd: "&", OpBitOr: "|", OpBitXor: "^",
	OpAnd: "AND", OpOr: "OR", OpEq: "=", OpNe: "<>", OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=",
}

var unarySigns = [...]string{OpPlus: "+", OpMinus: "-", OpBitNot: "~", OpNot: "NOT "}

func (w *printer) expr(x Expr) {
	switch x := x.(type) {
	case *Literal:
		w.literal(x)
	case *Variable:
		w.put(x.Name)
	case *GlobalVariable:
		w.put(x.Name)
	case *ColumnRef:
		for i, id := range x.Parts {
			w.when(i > 0, ".")
			w.put(id)
		}
	case *Star:
		for _, id := range x.Qualifier {
			w.put(id, ".")
		}
		w.put("*")
	case *Unary:
		w.put(unarySigns[x.Op])
		if inner, ok := x.X.(*Unary); ok && inner.Op == x.Op {
			w.put(" ") // two minus signs begin a comment
		}
		w.put(x.X)
	case *Binary:
		w.put(x.L, " ", binarySigns[x.Op], " ", x.R)
	case *Collate:
		w.put(x.X, " COLLATE ", x.Collation)
	case *AtTimeZone:
		w.put(x.X, " AT TIME ZONE ", x.Zone)
	case *Subquery:
		w.put("(", x.Query, ")")
	case *Paren:
		w.put("(", x.X, ")")
	case *Case:
		w.caseExpr(x)
	case *Cast:
		w.cast(x)
	case *Call:
		w.call(x)
	case *NextValue:
		w.put("NEXT VALUE FOR ", x.Sequence)
		w.over(x.Over)
	default:
		w.condition(x)
	}
}

func not(b bool) string {
	if b {
		return "NOT "
	}
	return ""
}

func (w *printer) condition(x Expr) {
	switch x := x.(type) {
	case *IsNull:
		w.put(x.X, " IS ", not(x.Not), "NULL")
	case *IsDistinct:
		w.put(x.L, " IS ", not(x.Not), "DISTINCT FROM ", x.R)
	case *Between:
		w.put(x.X, " ", not(x.Not), "BETWEEN ", x.Low, " AND ", x.High)
	case *In:
		w.put(x.X, " ", not(x.Not), "IN (")
		if x.Query != nil {
			w.put(x.Query, ")")
		} else {
			w.put(x.List, ")")
		}
	case *Like:
		w.put(x.X, " ", not(x.Not), "LIKE ", x.Pattern)
		w.optional(" ESCAPE ", x.Escape)
	case *Exists:
		w.put("EXISTS (", x.Query, ")")
	case *Quantified:
		w.put(x.L, " ", binarySigns[x.Op])
		if x.All {
			w.put(" ALL (", x.Query, ")")
		} else {
			w.put(" ANY (", x.Query, ")")
		}
	}
}

func (w *printer) literal(l *Literal) {
	switch l.Kind {
	case LitNull:
		w.put("NULL")
	case LitDefault:
		w.put("DEFAULT")
	case LitString:
		w.text(l.Text)
	case LitNString:
		w.put("N")
		w.text(l.Text)
	case LitBinary:
		w.put("0x", l.Text)
	case LitMoney:
		w.put("$", l.Text)
	case LitDecimal:
		w.put(l.Text)
		w.when(!strings.Contains(l.Text, "."), ".")
	default:
		w.put(l.Text)
	}
}

func (w *printer) caseExpr(x *Case) {
	w.put("CASE")
	w.optional(" ", x.Input)
	for _, when := range x.Whens {
		w.put(" WHEN ", when.Cond, " THEN ", when.Then)
	}
	w.optional(" ELSE ", x.Else)
	w.put(" END")
}

func (w *printer) cast(x *Cast) {
	w.when(x.Try, "TRY_")
	switch x.Form {
	case FormConvert:
		w.put("CONVERT(", x.Type, ", ", x.X)
		w.optional(", ", x.Style)
	case FormParse:
		w.put("PARSE(", x.X, " AS ", x.Type)
		w.optional(" USING ", x.Style)
	default:
		w.put("CAST(", x.X, " AS ", x.Type)
	}
	w.put(")")
}

func (w *printer) call(x *Call) {
	if x.Receiver != nil {
		w.put(x.Receiver, ".")
	}
	w.put(x.Name)
	switch {
	case x.NoParens:
		return
	case len(x.Args) == 2 && x.Receiver == nil && x.Name.Schema.Name == "" && !x.Name.Object.Quoted &&
		strings.EqualFold(x.Name.Object.Name, "TRIM"):
		w.put("(", x.Args[1], " FROM ", x.Args[0], ")")
	default:
		w.put("(")
		w.when(x.Distinct, "DISTINCT ")
		w.put(x.Args, ")")
	}
	if x.Within != nil {
		w.put(" WITHIN GROUP (")
		w.orderBy("", x.Within)
		w.put(")")
	}
	w.over(x.Over)
}

func (w *printer) over(o *Over) {
	if o == nil {
		return
	}
	w.put(" OVER (")
	space := ""
	if o.PartitionBy != nil {
		w.put("PARTITION BY ", o.PartitionBy)
		space = " "
	}
	if o.OrderBy != nil {
		w.orderBy(space, o.OrderBy)
		space = " "
	}
	if f := o.Frame; f != nil {
		w.put(space)
		if f.Range {
			w.put("RANGE BETWEEN ")
		} else {
			w.put("ROWS BETWEEN ")
		}
		w.frameBound(f.Start)
		w.put(" AND ")
		w.frameBound(f.End)
	}
	w.put(")")
}

func (w *printer) frameBound(b FrameBound) {
	switch b.Kind {
	case UnboundedPreceding:
		w.put("UNBOUNDED PRECEDING")
	case OffsetPreceding:
		w.put(b.Offset, " PRECEDING")
	case CurrentRow:
		w.put("CURRENT ROW")
	case OffsetFollowing:
		w.put(b.Offset, " FOLLOWING")
	case UnboundedFollowing:
		w.put("UNBOUNDED FOLLOWING")
	}
}

// orderBy writes prefix and ORDER BY with its items.
func (w *printer) orderBy(prefix string, items []OrderItem) {
	if items == nil {
		return
	}
	w.put(prefix, "ORDER BY ")
	each(w, items, func(it OrderItem) {
		w.put(it.X)
		w.when(it.Desc, " DESC")
	})
}
