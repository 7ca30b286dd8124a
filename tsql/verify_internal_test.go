package tsql

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"loopbroker"
)

// catalogOf returns the shape as a catalog would have it.
func catalogOf(s Shape) tableShape {
	t := tableShape{Columns: slices.Clone(s.Columns)}
	for _, i := range s.Indexes {
		t.Indexes = append(t.Indexes, catalogIndex{Index: i})
	}
	return t
}

func shapeOf(t *testing.T, table string) Shape {
	t.Helper()
	for _, s := range Shapes() {
		if s.Table == table {
			return s
		}
	}
	t.Fatalf("no shape of %s", table)
	return Shape{}
}

// change returns the catalog with one column changed.
func change(s Shape, name string, f func(*Column)) tableShape {
	t := catalogOf(s)
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			f(&t.Columns[i])
		}
	}
	return t
}

func TestVerifyTableAcceptsItsOwnShape(t *testing.T) {
	t.Parallel()
	schema := Schema{name: "dbo"}
	for _, s := range Shapes() {
		if got := verifyTable(s, catalogOf(s), schema); len(got) != 0 {
			t.Errorf("%s: %v", s.Table, got)
		}
	}
}

func TestVerifyTableFindsDifferences(t *testing.T) {
	t.Parallel()
	queue := shapeOf(t, TableTransportMessages)
	reply := shapeOf(t, TableReply)
	channel := shapeOf(t, "asyncresponse_channel_messages")
	tests := []struct {
		name    string
		want    Shape
		got     tableShape
		problem string // empty: accepted
		repair  string
	}{
		{"a reduced scale", queue, change(queue, "available_at", func(c *Column) { c.Scale = 3 }),
			"column available_at has a scale of 3, not 7", "ALTER COLUMN [available_at] datetime2(7) NOT NULL"},
		{"another type", reply, change(reply, "attempts", func(c *Column) { c.Type = "smallint" }),
			"column attempts is smallint, not int", "ALTER COLUMN [attempts] int NOT NULL"},
		{"takes NULL", queue, change(queue, "attempts", func(c *Column) { c.Nullable = true }),
			"column attempts takes NULL", "int NOT NULL"},
		{"takes no NULL", queue, change(queue, "lock_id", func(c *Column) { c.Nullable = false }),
			"column lock_id takes no NULL", "uniqueidentifier NULL"},
		{"no default", queue, change(queue, "headers_json", func(c *Column) { c.Default = false }),
			"column headers_json has no default", "nvarchar(max) NOT NULL"},
		{"a folding collation", channel, change(channel, "correlation_id", func(c *Column) { c.Collation = "Latin1_General_CI_AS" }),
			"column correlation_id has the collation Latin1_General_CI_AS", "COLLATE Latin1_General_100_BIN2"},
		{"a narrower text", channel, change(channel, "correlation_id", func(c *Column) { c.Length = 100 }),
			"column correlation_id is shorter than nvarchar(400)", "nvarchar(400)"},
		{"not max", queue, change(queue, "payload_json", func(c *Column) { c.Length = 4000 }),
			"column payload_json is shorter", "nvarchar(max)"},
		{"a wider text is fine", channel, change(channel, "correlation_id", func(c *Column) { c.Length = 800 }), "", ""},
		{"a name in another case is fine", channel, change(channel, "correlation_id", func(c *Column) { c.Name = "Correlation_Id" }), "", ""},
		{"an identity lost", shapeOf(t, TableCall), change(shapeOf(t, TableCall), "id", func(c *Column) { c.Identity = false }),
			"column id is an identity: false, not true", "bigint NOT NULL"},
		{"the queue name may fold", queue, change(queue, "queue", func(c *Column) { c.Type, c.Collation = "varchar", "Latin1_General_CI_AS" }), "", ""},
		{"the queue name may not be padded", queue, change(queue, "queue", func(c *Column) { c.Type = "nchar" }),
			"cannot be matched exactly", ""},
		{"a missing column", reply, tableShape{Columns: reply.Columns[1:], Indexes: catalogOf(reply).Indexes},
			"column request_id is missing", "ADD [request_id] bigint NOT NULL"},
		{"a column that cannot be filled", reply, tableShape{Columns: append(slices.Clone(reply.Columns), Column{Name: "extra", Type: "int"}), Indexes: catalogOf(reply).Indexes},
			"column extra is not ours", "Give it a default"},
		{"a rowversion is fine", reply, tableShape{Columns: append(slices.Clone(reply.Columns), Column{Name: "rv", Type: "timestamp"}), Indexes: catalogOf(reply).Indexes}, "", ""},
		{"no primary key", reply, tableShape{Columns: reply.Columns}, "its primary key is not (request_id)", "ADD PRIMARY KEY (request_id)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := verifyTable(tt.want, tt.got, Schema{name: "dbo"})
			if tt.problem == "" {
				if len(got) != 0 {
					t.Errorf("got %v, want nothing", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0].Problem, tt.problem) || !strings.Contains(got[0].Repair, tt.repair) || got[0].Warning {
				t.Errorf("got %v, want one finding: %s; repair: %s", got, tt.problem, tt.repair)
			}
		})
	}
}

// TestVerifyTableAcceptsAHandMadeQueue takes the published shape: a heap with the
// index that cannot serve the claim's order.
func TestVerifyTableAcceptsAHandMadeQueue(t *testing.T) {
	t.Parallel()
	want := shapeOf(t, TableTransportMessages)
	got := tableShape{Columns: want.Columns, Indexes: []catalogIndex{
		{Index: Index{Name: "pk", Columns: []string{"id"}, Unique: true, Primary: true}},
		{Index: Index{Name: "claim", Columns: []string{"queue", "available_at", "locked_until", "created_at"}}},
	}}
	findings := verifyTable(want, got, Schema{name: "dbo"})
	if len(findings) != 1 || !findings[0].Warning || !strings.Contains(findings[0].Repair, "CREATE CLUSTERED INDEX") {
		t.Errorf("got %v, want one warning with the index to make", findings)
	}
	if err := findings.Err(); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	for name, spoil := range map[string]func(*catalogIndex){
		"disabled": func(i *catalogIndex) { i.Disabled = true },
		"filtered": func(i *catalogIndex) { i.Filtered = true },
	} {
		i := catalogIndex{Index: Index{Name: "ready", Columns: []string{"queue", "available_at", "created_at"}}}
		spoil(&i)
		if f := verifyTable(want, tableShape{Columns: want.Columns, Indexes: append(slices.Clone(got.Indexes), i)}, Schema{name: "dbo"}); len(f) != 1 {
			t.Errorf("a %s index counts: %v", name, f)
		}
	}
}

func TestVerifyKinds(t *testing.T) {
	t.Parallel()
	findings := verifyKinds(map[string]Kind{TableCall: KindView, TableReply: KindTable}, Schema{name: "dbo"})
	if len(findings) != 1 || findings[0].Problem != "is a view, not a table" {
		t.Errorf("got %v, want one finding", findings)
	}
	var verify *VerifyError
	if err := findings.Err(); !errors.As(err, &verify) || !errors.Is(err, loopbroker.ErrSchema) {
		t.Errorf("got %v, want a *VerifyError that wraps %v", err, loopbroker.ErrSchema)
	}
	if got := len(verifyPresence(map[string]Kind{}, Schema{name: "dbo"})); got != len(Objects()) {
		t.Errorf("got %d missing objects, want all %d", got, len(Objects()))
	}
}

func TestSameTextAsSQLServerKeepsIt(t *testing.T) {
	t.Parallel()
	schema := Schema{name: "broker"}
	for _, o := range Objects() {
		if !o.Kind.Module() {
			continue
		}
		batches, err := Split(schema.Render(o.Text))
		if err != nil {
			t.Fatal(err)
		}
		text := batches[len(batches)-1].Text
		kept := module{Definition: strings.Replace(text, "CREATE OR ALTER ", "CREATE   ", 1), AnsiNulls: true, QuotedIdentifier: true}
		if !kept.matches(o, schema) {
			t.Errorf("%s: its own text does not match", o.Name)
		}
		for name, m := range map[string]module{
			"changed":         {Definition: kept.Definition + " -- changed", AnsiNulls: true, QuotedIdentifier: true},
			"of dbo":          {Definition: strings.ReplaceAll(kept.Definition, "[broker]", "[dbo]"), AnsiNulls: true, QuotedIdentifier: true},
			"ANSI_NULLS off":  {Definition: kept.Definition, QuotedIdentifier: true},
			"QUOTED_ID… off":  {Definition: kept.Definition, AnsiNulls: true},
			"without comment": {Definition: kept.Definition[strings.Index(kept.Definition, "*/")+2:], AnsiNulls: true, QuotedIdentifier: true},
		} {
			if m.matches(o, schema) {
				t.Errorf("%s: a text that is %s matches", o.Name, name)
			}
		}
	}
}

func TestVerifySequences(t *testing.T) {
	t.Parallel()
	name := "asyncresponse_channel_messages_ack_seq"
	good := sequence{Type: "bigint", Start: 1, Increment: 1}
	if f := verifySequences(map[string]sequence{name: good}, Schema{name: "dbo"}); len(f) != 0 {
		t.Errorf("got %v, want nothing", f)
	}
	for _, bad := range []sequence{
		{Type: "int", Start: 1, Increment: 1}, {Type: "bigint", Start: 5, Increment: 1},
		{Type: "bigint", Start: 1, Increment: 2}, {Type: "bigint", Start: 1, Increment: 1, Cycling: true},
	} {
		if f := verifySequences(map[string]sequence{name: bad}, Schema{name: "dbo"}); len(f) != 1 {
			t.Errorf("%+v: got %v, want one finding", bad, f)
		}
	}
}
