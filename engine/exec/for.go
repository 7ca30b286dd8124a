package exec

import (
	"strings"

	"loopbroker/engine/builtin/json"
	"loopbroker/engine/plan"
	"loopbroker/engine/types"
)

// forWriter makes the text of FOR JSON and FOR XML PATH.
type forWriter struct {
	columns []json.Column
	options json.Options
	xml     *xmlShape // nil for JSON
}

func (c *compiler) forWriter(q *plan.Query) *forWriter {
	cl := q.For.Clause
	w := &forWriter{}
	for i, o := range q.Columns {
		w.columns = append(w.columns, json.Column{Name: o.Name, Raw: rawJSON(q.Items[i]), Source: q.For.Levels[i]})
	}
	if cl.XML {
		w.xml = newXMLShape(q)
		return w
	}
	w.options = json.Options{Auto: cl.Mode == "AUTO", IncludeNulls: cl.IncludeNullValues, NoWrapper: cl.WithoutArrayWrapper}
	if cl.Root != nil {
		root := *cl.Root
		if root == "" {
			root = "root"
		}
		w.options.Root = &root
	}
	if _, err := json.NewWriter(w.columns, w.options); err != nil {
		c.fail(err)
	}
	return w
}

// rawJSON reports whether an item is JSON text already.
func rawJSON(x plan.Expr) bool {
	switch n := x.(type) {
	case *plan.Func:
		return n.F.ReturnsJSON
	case *plan.ScalarQuery:
		return n.Query.For != nil && !n.Query.For.Clause.XML
	case *plan.Convert:
		return n.Implicit && rawJSON(n.X)
	}
	return false
}

// text runs the query and returns the document, NULL when there is none.
func (w *forWriter) text(r *run, q *query) (types.Value, error) {
	if w.xml != nil {
		return w.xml.text(r, q)
	}
	out, err := json.NewWriter(w.columns, w.options)
	if err != nil {
		return types.Null, err
	}
	err = q.root.run(r, func() error {
		row, err := q.row(r)
		if err != nil {
			return err
		}
		return out.Row(row)
	})
	if err != nil {
		return types.Null, err
	}
	text, ok := out.Text()
	if !ok {
		return types.Null, nil
	}
	return types.NewNVarChar(text), nil
}

// chunkLength is the number of characters of one row of a document that goes to
// a client.
const chunkLength = 2033

// chunks cuts a document into rows.
func chunks(text string, out func(types.Row) error) error {
	for text != "" {
		n := types.UTF16Substring(text, 0, chunkLength)
		if len(n) == 0 {
			n = text
		}
		if err := out(types.Row{types.NewNVarChar(n)}); err != nil {
			return err
		}
		text = text[len(n):]
	}
	return nil
}

// xmlShape is FOR XML PATH and RAW, as far as they join strings and make plain
// elements.
type xmlShape struct {
	element, root string
	names         []string
	raw           bool
	kind          types.Kind
}

func newXMLShape(q *plan.Query) *xmlShape {
	cl := q.For.Clause
	s := &xmlShape{element: "row", raw: cl.Mode == "RAW", kind: types.KindNVarChar}
	if cl.ElementName != nil {
		s.element = *cl.ElementName
	}
	if cl.Root != nil {
		s.root = *cl.Root
		if s.root == "" {
			s.root = "root"
		}
	}
	for _, c := range q.Columns {
		s.names = append(s.names, c.Name)
	}
	return s
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
var xmlAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func (s *xmlShape) text(r *run, q *query) (types.Value, error) {
	var b strings.Builder
	rows := 0
	err := q.root.run(r, func() error {
		row, err := q.row(r)
		if err != nil {
			return err
		}
		rows++
		s.row(&b, row)
		return nil
	})
	if err != nil || rows == 0 && s.root == "" {
		return types.Null, err
	}
	text := b.String()
	if s.root != "" {
		text = "<" + s.root + ">" + text + "</" + s.root + ">"
	}
	return types.NewNVarChar(text), nil
}

func (s *xmlShape) row(b *strings.Builder, row types.Row) {
	if s.raw {
		b.WriteString("<" + s.element)
		for i, v := range row {
			if !v.IsNull() {
				b.WriteString(" " + s.names[i] + `="` + xmlAttribute.Replace(v.String()) + `"`)
			}
		}
		b.WriteString("/>")
		return
	}
	var attributes, body strings.Builder
	for i, v := range row {
		if v.IsNull() {
			continue
		}
		name := s.names[i]
		switch {
		case strings.HasPrefix(name, "@"):
			attributes.WriteString(" " + name[1:] + `="` + xmlAttribute.Replace(v.String()) + `"`)
		case name == "" || name == "text()" || name == "*" || name == "data()":
			body.WriteString(xmlText.Replace(v.String()))
		default:
			body.WriteString("<" + name + ">" + xmlText.Replace(v.String()) + "</" + name + ">")
		}
	}
	if s.element == "" {
		b.WriteString(body.String())
		return
	}
	b.WriteString("<" + s.element + attributes.String())
	if body.Len() == 0 {
		b.WriteString("/>")
		return
	}
	b.WriteString(">" + body.String() + "</" + s.element + ">")
}
