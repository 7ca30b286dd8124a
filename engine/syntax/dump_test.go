package syntax_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"loopbroker/engine/syntax"
)

var binaryNames = map[syntax.BinaryOp]string{
	syntax.OpAdd: "+", syntax.OpSub: "-", syntax.OpMul: "*", syntax.OpDiv: "/", syntax.OpMod: "%",
	syntax.OpBitAnd: "&", syntax.OpBitOr: "|", syntax.OpBitXor: "^", syntax.OpAnd: "and", syntax.OpOr: "or",
	syntax.OpEq: "=", syntax.OpNe: "<>", syntax.OpLt: "<", syntax.OpLe: "<=", syntax.OpGt: ">", syntax.OpGe: ">=",
}

// dump writes a tree without positions and source texts: small nodes as one
// would write them, (op left right) for operators, and Type{Field: value} with
// the fields that are set for everything else.
func dump(x any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(x))
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dumpValue(b, v.Elem())
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			dumpValue(b, v.Index(i))
		}
		b.WriteByte(']')
	case reflect.Struct:
		dumpStruct(b, v)
	case reflect.String:
		b.WriteString(strconv.Quote(v.String()))
	default:
		if op, ok := v.Interface().(syntax.BinaryOp); ok {
			b.WriteString(binaryNames[op])
			return
		}
		fmt.Fprint(b, v.Interface())
	}
}

func dumpStruct(b *strings.Builder, v reflect.Value) {
	switch n := v.Interface().(type) {
	case syntax.Ident:
		b.WriteString(identText(n))
	case syntax.Name:
		b.WriteString(nameText(n))
	case syntax.ColumnRef:
		var parts []string
		for _, id := range n.Parts {
			parts = append(parts, identText(id))
		}
		b.WriteString(strings.Join(parts, "."))
	case syntax.Literal:
		b.WriteString(literalText(n))
	case syntax.Variable:
		b.WriteString(n.Name)
	case syntax.GlobalVariable:
		b.WriteString(n.Name)
	case syntax.Binary:
		fmt.Fprintf(b, "(%s %s %s)", binaryNames[n.Op], dump(n.L), dump(n.R))
	case syntax.Unary:
		fmt.Fprintf(b, "(%s %s)", [...]string{"+", "-", "~", "not"}[n.Op], dump(n.X))
	default:
		dumpFields(b, v)
	}
}

// sourceFields hold source text that repeats what the tree says.
var sourceFields = map[string]bool{
	"Pos": true, "Constraint.Text": true, "IndexDef.WhereText": true, "ColumnDef.ComputedText": true,
	"CreateProcedure.Text": true, "CreateFunction.Text": true, "CreateView.Text": true, "CreateTrigger.Text": true,
}

func dumpFields(b *strings.Builder, v reflect.Value) {
	t := v.Type()
	b.WriteString(t.Name())
	b.WriteByte('{')
	first := true
	for i := range v.NumField() {
		name := t.Field(i).Name
		if sourceFields[name] || sourceFields[t.Name()+"."+name] || v.Field(i).IsZero() || isNoIdent(v.Field(i)) {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(name + ":")
		dumpValue(b, v.Field(i))
	}
	b.WriteByte('}')
}

// isNoIdent reports whether v is a name that is not there, though its position
// may be.
func isNoIdent(v reflect.Value) bool {
	switch n := v.Interface().(type) {
	case syntax.Ident:
		return n.Name == ""
	case syntax.Name:
		return n.Object.Name == ""
	case syntax.DataType:
		return n.Name.Object.Name == ""
	}
	return false
}

func identText(id syntax.Ident) string {
	if id.Quoted {
		return "[" + id.Name + "]"
	}
	return id.Name
}

func nameText(n syntax.Name) string {
	text := ""
	for _, id := range []syntax.Ident{n.Server, n.Database, n.Schema} {
		if id.Name != "" || text != "" {
			text += identText(id) + "."
		}
	}
	return text + identText(n.Object)
}

func literalText(n syntax.Literal) string {
	switch n.Kind {
	case syntax.LitNull:
		return "NULL"
	case syntax.LitDefault:
		return "DEFAULT"
	case syntax.LitString:
		return "'" + n.Text + "'"
	case syntax.LitNString:
		return "N'" + n.Text + "'"
	case syntax.LitBinary:
		return "0x" + n.Text
	case syntax.LitMoney:
		return "$" + n.Text
	case syntax.LitFloat:
		return "float:" + n.Text
	case syntax.LitDecimal:
		return "decimal:" + n.Text
	}
	return n.Text
}
