package tsql_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loopbroker/engine/syntax"
	"loopbroker/tsql"
)

// TestShapesAreWhatTheFilesSay reads every table's file with a real parser and
// compares.
func TestShapesAreWhatTheFilesSay(t *testing.T) {
	t.Parallel()
	byName := map[string]tsql.Shape{}
	for _, s := range tsql.Shapes() {
		byName[s.Table] = s
	}
	tables := 0
	for _, o := range tsql.Objects() {
		if o.Kind != tsql.KindTable {
			continue
		}
		tables++
		want := parsedShape(t, o)
		if diff := cmp.Diff(want, byName[o.Name]); diff != "" {
			t.Errorf("%s: -parsed +shape\n%s", o.File, diff)
		}
	}
	if tables != len(byName) {
		t.Errorf("got %d shapes, want %d", len(byName), tables)
	}
}

// parsedShape reads a table's shape from the parser's tree.
func parsedShape(t *testing.T, o tsql.Object) tsql.Shape {
	t.Helper()
	batches, err := tsql.Split(o.Text)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := syntax.Parse(batches[len(batches)-1].Text, syntax.Options{QuotedIdentifier: true})
	if err != nil {
		t.Fatalf("%s: %v", o.File, err)
	}
	shape := tsql.Shape{Table: o.Name}
	var visit func(s syntax.Statement)
	visit = func(s syntax.Statement) {
		switch s := s.(type) {
		case *syntax.If:
			visit(s.Then)
		case *syntax.Block:
			for _, one := range s.Body {
				visit(one)
			}
		case *syntax.CreateTable:
			addTable(&shape, s.Body)
		case *syntax.CreateIndex:
			shape.Indexes = append(shape.Indexes, tsql.Index{
				Name: s.Index.Name.Name, Columns: keyColumns(s.Index.Columns), Clustered: s.Index.Clustered, Unique: s.Index.Unique,
			})
		}
	}
	for _, s := range tree.Statements {
		visit(s)
	}
	return shape
}

func addTable(shape *tsql.Shape, body syntax.TableBody) {
	for _, c := range body.Columns {
		column := tsql.Column{
			Name: c.Name.Name, Type: strings.ToLower(c.Type.Name.Object.Name), Collation: c.Collation.Name,
			Nullable: *c.Null, Identity: c.Identity != nil,
		}
		switch {
		case c.Type.Max:
			column.Length = -1
		case len(c.Type.Args) == 1 && column.Type == "datetime2":
			column.Scale = c.Type.Args[0]
		case len(c.Type.Args) == 1:
			column.Length = c.Type.Args[0]
		}
		for _, k := range c.Constraints {
			switch k.Kind {
			case syntax.DefaultConstraint:
				column.Default = true
			case syntax.PrimaryKey:
				shape.Indexes = append(shape.Indexes, tsql.Index{
					Name: k.Name.Name, Columns: []string{column.Name}, Clustered: *k.Clustered, Unique: true, Primary: true,
				})
			}
		}
		shape.Columns = append(shape.Columns, column)
	}
	for _, k := range body.Constraints {
		if k.Kind == syntax.PrimaryKey {
			shape.Indexes = append(shape.Indexes, tsql.Index{
				Name: k.Name.Name, Columns: keyColumns(k.Columns), Clustered: *k.Clustered, Unique: true, Primary: true,
			})
		}
	}
}

func keyColumns(columns []syntax.IndexColumn) []string {
	var out []string
	for _, c := range columns {
		out = append(out, c.Name.Name)
	}
	return out
}

// TestSharedShapes holds the tables that .NET programs share against their
// published columns.
func TestSharedShapes(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"asyncresponse_transport_messages":  "id queue payload_json headers_json created_at available_at locked_until lock_id attempts dead_letter_reason",
		"asyncresponse_channel_messages":    "id correlation_id envelope_json created_at expires_at acked_at acked_seq recovery_claimed",
		"asyncresponse_channel_subscribers": "correlation_id registration_id instance_id expires_at",
		"asyncresponse_recovery_state":      "correlation_id registration_id state_json expires_at registered_at",
		"asyncresponse_flow_state":          "flow_id state_json expires_at_utc updated_at_utc revision lease_id lease_expires_at_utc",
	}
	got := map[string]string{}
	for _, s := range tsql.Shapes() {
		if !strings.HasPrefix(s.Table, "asyncresponse_") {
			continue
		}
		var names []string
		for _, c := range s.Columns {
			names = append(names, c.Name)
			if c.Type == "datetime2" && c.Scale != 7 {
				t.Errorf("%s.%s has a scale of %d, want 7", s.Table, c.Name, c.Scale)
			}
			if (c.Name == "correlation_id" || c.Name == "flow_id" || c.Name == "queue") && c.Collation != "Latin1_General_100_BIN2" {
				t.Errorf("%s.%s has the collation %q, want a binary one", s.Table, c.Name, c.Collation)
			}
		}
		got[s.Table] = strings.Join(names, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestEveryTableIsClustered refuses heaps, which never give pages back.
func TestEveryTableIsClustered(t *testing.T) {
	t.Parallel()
	for _, s := range tsql.Shapes() {
		clustered, primary := 0, 0
		for _, i := range s.Indexes {
			if i.Clustered {
				clustered++
			}
			if i.Primary {
				primary++
			}
		}
		if clustered != 1 || primary != 1 {
			t.Errorf("%s: got %d clustered indexes and %d primary keys, want one of each", s.Table, clustered, primary)
		}
	}
}
