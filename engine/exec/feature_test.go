package exec_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"loopbroker/engine/types"
)

const views = sample + `
GO
CREATE VIEW adult AS SELECT id, name, team, age FROM person WHERE age >= 30
GO
CREATE VIEW named AS SELECT a.id, UPPER(a.name) AS name, t.name AS team FROM adult a LEFT JOIN team t ON t.id = a.team
GO
CREATE VIEW everyone AS SELECT id, name FROM person UNION ALL SELECT id + 100, name FROM team
GO
CREATE VIEW counted AS SELECT team, COUNT(*) AS n, (SELECT MAX(id) FROM team) AS m FROM person GROUP BY team
GO
CREATE FUNCTION dbo.of_team (@team int, @least int = 0) RETURNS TABLE AS RETURN (SELECT id, name FROM person WHERE team = @team AND age >= @least)
GO
CREATE FUNCTION dbo.twice (@n int) RETURNS int AS BEGIN RETURN 2 * @n END
GO
`

func TestViewsAndFunctions(t *testing.T) {
	t.Parallel()
	runQueries(t, views, []queryCase{
		{name: "view", sql: "SELECT name FROM adult WHERE id > 1 ORDER BY id", want: []string{"cid", "eve"}},
		{name: "view on view", sql: "SELECT name, team FROM named WHERE id = 3", want: []string{"CID|blue"}},
		{name: "view joined", sql: "SELECT t.id, a.id FROM team t LEFT JOIN adult a ON a.team = t.id ORDER BY t.id, a.id", want: []string{"1|1", "2|3", "2|5", "3|NULL"}},
		{name: "expression column on the null side", sql: "SELECT t.id, n.name FROM team t LEFT JOIN named n ON n.id = t.id AND n.id = 1 ORDER BY t.id", want: []string{"1|ANN", "2|NULL", "3|NULL"}},
		{name: "union view", sql: "SELECT name FROM everyone WHERE id IN (2, 102) ORDER BY id", want: []string{"bob", "blue"}},
		{name: "grouped view", sql: "SELECT n, m FROM counted WHERE team = 2", want: []string{"2|3"}},
		{name: "grouped view, condition on the count", sql: "SELECT team FROM counted WHERE n = 1", want: []string{"NULL"}},
		{name: "inline function", sql: "SELECT name FROM dbo.of_team(1, 26)", want: []string{"ann"}},
		{name: "inline function with default", sql: "SELECT name FROM dbo.of_team(1, DEFAULT) ORDER BY id", want: []string{"ann", "bob"}},
		{name: "inline function applied", sql: "SELECT t.name, f.name FROM team t CROSS APPLY dbo.of_team(t.id, t.id * 20) f ORDER BY t.id, f.id", want: []string{"red|ann", "red|bob", "blue|cid", "blue|eve"}},
		{name: "inline function outer applied", sql: "SELECT t.id, f.id FROM team t OUTER APPLY dbo.of_team(t.id, 41) f ORDER BY t.id, f.id", want: []string{"1|NULL", "2|3", "2|5", "3|NULL"}},
		{name: "scalar function", sql: "SELECT dbo.twice(age) FROM person WHERE dbo.twice(id) = 6", want: []string{"82"}},
		{name: "update through a view", sql: "UPDATE adult SET age = 99 WHERE id = 1; SELECT age FROM person WHERE id = 1", want: []string{"99"}},
		{name: "delete through a view", sql: "DELETE adult WHERE team = 2; SELECT COUNT(*) FROM person", want: []string{"3"}},
	})
}

func TestMore(t *testing.T) {
	t.Parallel()
	runQueries(t, sample, []queryCase{
		{name: "distinct top", sql: "SELECT DISTINCT TOP (2) team FROM person WHERE team IS NOT NULL ORDER BY team DESC", want: []string{"2", "1"}},
		{name: "top of union", sql: "SELECT TOP (2) n FROM (SELECT id AS n FROM team UNION SELECT id FROM person) x ORDER BY n DESC", want: []string{"5", "4"}},
		{name: "assign top", sql: "DECLARE @a int; SELECT TOP (1) @a = id FROM person ORDER BY id DESC; SELECT @a", want: []string{"5"}},
		{name: "assign aggregate", sql: "DECLARE @a int, @b int = 3; SELECT @a = COUNT(*), @b += MAX(id) FROM person; SELECT @a, @b", want: []string{"5|8"}},
		{name: "assign from none", sql: "DECLARE @a int = 1; SELECT @a = MAX(id) FROM person WHERE id > 99; SELECT @a", want: []string{"NULL"}},
		{name: "json into insert", sql: "CREATE TABLE j (t nvarchar(max)); INSERT j (t) SELECT id FROM team ORDER BY id FOR JSON PATH; SELECT t FROM j", want: []string{`[{"id":1},{"id":2},{"id":3}]`}},
		{name: "insert from openjson", sql: `CREATE TABLE j (a int, b varchar(5)); INSERT j SELECT a, b FROM OPENJSON('{"r":[{"a":1,"b":"x"},{"a":2,"b":"y"}]}', '$.r') WITH (a int, b varchar(5)); SELECT * FROM j ORDER BY a`, want: []string{"1|x", "2|y"}},
		{name: "openjson nested path", sql: `SELECT v, o FROM OPENJSON('[{"a":{"b":7},"o":[1]}]') WITH (v int '$.a.b', o nvarchar(max) AS JSON)`, want: []string{"7|[1]"}},
		{name: "json functions", sql: `SELECT JSON_VALUE('{"a":5}', '$.a'), JSON_QUERY('{"a":[1]}', '$.a'), ISJSON('{}')`, want: []string{`5|[1]|1`}},
		{name: "order by two tables", sql: "SELECT t.id, p.id FROM team t JOIN person p ON p.team = t.id ORDER BY t.id, p.id", want: []string{"1|1", "1|2", "2|3", "2|5"}},
		{name: "order by the other table", sql: "SELECT p.id FROM team t JOIN person p ON p.team = t.id WHERE t.id = 1 ORDER BY p.id", want: []string{"1", "2"}},
		{name: "in with mixed types", sql: "SELECT id FROM person WHERE id IN (1, '2', 3.0) ORDER BY id", want: []string{"1", "2", "3"}},
		{name: "decimal key lookup", sql: "SELECT id FROM person WHERE id = 2.0", want: []string{"2"}},
		{name: "decimal key without match", sql: "SELECT id FROM person WHERE id = 2.5"},
		{name: "range beyond the type", sql: "SELECT COUNT(*) FROM person WHERE id < 99999999999 AND id > -99999999999", want: []string{"5"}},
		{name: "fraction bound", sql: "SELECT id FROM person WHERE id > 3.5 ORDER BY id", want: []string{"4", "5"}},
		{name: "null key", sql: "DECLARE @n int; SELECT id FROM person WHERE id = @n"},
		{name: "null range", sql: "DECLARE @n int; SELECT id FROM person WHERE id > @n"},
		{name: "contradiction", sql: "SELECT id FROM person WHERE id > 4 AND id < 2"},
		{name: "blank padding", sql: "SELECT id FROM team WHERE name = N'red  '", want: []string{"1"}},
		{name: "order by not selected", sql: "SELECT name FROM person WHERE team = 1 ORDER BY age", want: []string{"bob", "ann"}},
		{name: "order by table column beside alias", sql: "SELECT name AS id FROM team ORDER BY id", want: []string{"blue", "green", "red"}},
		{name: "having without group", sql: "SELECT COUNT(*) FROM person HAVING COUNT(*) > 99"},
		{name: "count of nothing", sql: "SELECT COUNT(*)", want: []string{"1"}},
		{name: "group by two", sql: "SELECT team, age, COUNT(*) FROM person WHERE team = 2 GROUP BY team, age", want: []string{"2|41|2"}},
		{name: "nested aggregates through derived", sql: "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM person GROUP BY team) x", want: []string{"2"}},
		{name: "is distinct from", sql: "SELECT id FROM person WHERE team IS NOT DISTINCT FROM NULL", want: []string{"4"}},
		{name: "between columns", sql: "SELECT id FROM person WHERE 27 BETWEEN 26 AND age ORDER BY id", want: []string{"1", "3", "5"}},
		{name: "self referencing recursive depth", sql: "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT MAX(i) FROM n OPTION (MAXRECURSION 0)", want: []string{"1000"}},
		{name: "two references to a cte", sql: "WITH a AS (SELECT id FROM team) SELECT COUNT(*) FROM a x CROSS JOIN a y", want: []string{"9"}},
		{name: "first and last value", sql: "SELECT DISTINCT FIRST_VALUE(name) OVER (PARTITION BY team ORDER BY id), LAST_VALUE(name) OVER (PARTITION BY team ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM person WHERE team = 1", want: []string{"ann|bob"}},
		{name: "ntile", sql: "SELECT id, NTILE(2) OVER (ORDER BY id) FROM person ORDER BY id", want: []string{"1|1", "2|1", "3|1", "4|2", "5|2"}},
		{name: "for json auto", sql: "SELECT t.id, p.name FROM team t JOIN person p ON p.team = t.id WHERE t.id = 1 ORDER BY p.id FOR JSON AUTO", want: []string{`[{"id":1,"p":[{"name":"ann"},{"name":"bob"}]}]`}},
		{name: "for json root and nulls", sql: "SELECT id, team FROM person WHERE id = 4 FOR JSON PATH, ROOT('x'), INCLUDE_NULL_VALUES", want: []string{`{"x":[{"id":4,"team":null}]}`}},
		{name: "update of a derived target", sql: "UPDATE x SET age = 1 FROM (SELECT id, age FROM person WHERE team = 1) x; SELECT id FROM person WHERE age = 1 ORDER BY id", want: []string{"1", "2"}},
		{name: "delete with exists", sql: "DELETE t FROM team t WHERE NOT EXISTS (SELECT 1 FROM person p WHERE p.team = t.id); SELECT COUNT(*) FROM team", want: []string{"2"}},
		{name: "case in order", sql: "SELECT id FROM team ORDER BY CASE WHEN id = 2 THEN 0 ELSE 1 END, id", want: []string{"2", "1", "3"}},
		{name: "correlated top", sql: "SELECT t.id, (SELECT TOP (1) p.name FROM person p WHERE p.team = t.id ORDER BY p.age DESC, p.id) FROM team t ORDER BY t.id", want: []string{"1|ann", "2|cid", "3|NULL"}},
		{name: "correlated without index", sql: "SELECT id FROM person p WHERE EXISTS (SELECT 1 FROM person o WHERE o.age = p.age AND o.id <> p.id) ORDER BY id", want: []string{"3", "5"}},
		{name: "subquery in join condition", sql: "SELECT t.id FROM team t JOIN person p ON p.id = (SELECT MAX(id) FROM person q WHERE q.team = t.id) ORDER BY t.id", want: []string{"1", "2"}},
		{name: "aggregate of an outer column", sql: "SELECT t.id FROM team t WHERE (SELECT SUM(p.age) FROM person p WHERE p.team = t.id) > 60", want: []string{"2"}},
	})
}

func TestRowLimit(t *testing.T) {
	t.Parallel()
	c := newConn(t, sample)
	c.rowLimit = 2
	got, err := c.query("SELECT id FROM person ORDER BY id")
	if want := []string{"1", "2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	c.script("DELETE person")
	c.rowLimit = 0
	if got, _ := c.query("SELECT COUNT(*) FROM person"); !slices.Equal(got, []string{"3"}) {
		t.Errorf("%v rows left, want 3", got)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	c := newConn(t, sample+"CREATE TABLE u (a int); CREATE UNIQUE INDEX ix ON u (a) WITH (IGNORE_DUP_KEY = ON)")
	c.script("SELECT COUNT(*) FROM person")
	if len(c.warnings) > 0 {
		t.Errorf("COUNT(*) warned: %v", c.warnings)
	}
	c.script("SELECT SUM(age) FROM person; INSERT u VALUES (1), (2), (1)")
	if want := []int32{8153, 3604}; !slices.Equal(c.warnings, want) {
		t.Errorf("got %v, want %v", c.warnings, want)
	}
	if got, _ := c.query("SELECT a FROM u ORDER BY a"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %v", got)
	}
}

func TestPseudoTables(t *testing.T) {
	t.Parallel()
	c := newConn(t, sample)
	table, _, _ := c.tableOf("team")
	c.pseudoOf = table
	c.pseudo[0] = []types.Row{{types.NewInt(1), types.NewNVarChar("new")}}
	c.pseudo[1] = []types.Row{{types.NewInt(1), types.NewNVarChar("old")}}
	got, err := c.query("SELECT i.name, d.name, p.name FROM inserted i JOIN deleted d ON d.id = i.id JOIN person p ON p.team = i.id ORDER BY p.id")
	if want := []string{"new|old|ann", "new|old|bob"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := c.query("DELETE inserted"); number(err) != 286 {
		t.Errorf("DELETE inserted: %v, want 286", err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	c := newConn(t, sample)
	st := compile(t, c, "SELECT COUNT(*) FROM person a, person b, person c, person d, person e, person f, person g, person h, person i, person j")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("attention")
	cancel(why)
	if _, err := st.Run(cancelled{rt{c}, ctx}, discard); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
}

// cancelled is a runtime with a context of its own.
type cancelled struct {
	rt
	ctx context.Context
}

func (c cancelled) Context() context.Context { return c.ctx }

// TestTableVariableUndo takes back what a failed statement stored in a table
// variable, though its transaction goes on.
func TestTableVariableUndo(t *testing.T) {
	t.Parallel()
	c := newConn(t, "DECLARE @v TABLE (a int PRIMARY KEY); INSERT @v VALUES (1)")
	if _, err := c.query("INSERT @v VALUES (2), (3), (1)"); number(err) != 2627 {
		t.Fatalf("got %v, want 2627", err)
	}
	if got, err := c.query("SELECT a FROM @v"); err != nil || !slices.Equal(got, []string{"1"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAnsiNullsOff(t *testing.T) {
	t.Parallel()
	c := newConn(t, sample+"DECLARE @n int")
	c.ansiNullsOff = true
	got, err := c.query("SELECT id FROM person WHERE team = NULL OR team = @n; SELECT COUNT(*) FROM person WHERE team <> @n")
	if want := []string{"4", "4"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	c := newConn(t, items)
	c.script("SELECT id, code AS c, total, qty + 1, NULL AS n FROM item")
	var got []string
	for _, col := range c.columns {
		s := col.Name + ":" + col.Type.String()
		for _, f := range []struct {
			on   bool
			name string
		}{{col.Nullable, " null"}, {col.Identity, " identity"}, {col.Computed, " computed"}} {
			if f.on {
				s += f.name
			}
		}
		got = append(got, s)
	}
	want := []string{"id:int identity", "c:varchar(10)", "total:decimal(20,2) null", ":int", "n:int null"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
