package exec_test

import (
	"slices"
	"strings"
	"testing"

	"loopbroker/engine/catalog"
	"loopbroker/engine/types"
)

// stock is the table of the modification tests.
const stock = `
CREATE TABLE item (
	id int IDENTITY PRIMARY KEY, code varchar(10) NOT NULL CONSTRAINT uq_code UNIQUE, qty int NOT NULL DEFAULT 5,
	price decimal(9,2) NULL CONSTRAINT ck_price CHECK (price > 0), total AS qty * price, twice AS qty * 2 PERSISTED, rv rowversion,
	note nvarchar(5) NULL);
`

const items = stock + "INSERT item (code, qty, price) VALUES ('a', 1, 2), ('b', 2, 3), ('c', 3, NULL);"

func TestInsert(t *testing.T) {
	t.Parallel()
	runQueries(t, stock, []queryCase{
		{name: "defaults", sql: "INSERT item (code) VALUES ('x'); SELECT id, code, qty, price, total, twice FROM item", want: []string{"1|x|5|NULL|NULL|10"}},
		{name: "default keyword", sql: "INSERT item (code, qty) VALUES ('x', DEFAULT); SELECT qty FROM item", want: []string{"5"}},
		{name: "output", sql: "INSERT item (code, qty) OUTPUT inserted.id, inserted.twice VALUES ('x', 7), ('y', 8)", want: []string{"1|14", "2|16"}},
		{name: "select", sql: "INSERT item (code, qty) SELECT v.a, v.b FROM (VALUES ('x', 1), ('y', 2)) v (a, b); SELECT code, qty FROM item ORDER BY id", want: []string{"x|1", "y|2"}},
		{name: "from itself", sql: "INSERT item (code) VALUES ('x'); INSERT item (code) SELECT code + '2' FROM item; SELECT code FROM item ORDER BY id", want: []string{"x", "x2"}},
		{name: "top", sql: "INSERT TOP (1) item (code) SELECT v.a FROM (VALUES ('x'), ('y')) v (a); SELECT code FROM item", want: []string{"x"}},
		{name: "output into", sql: "DECLARE @o TABLE (i int, n int DEFAULT 3); INSERT item (code) OUTPUT inserted.id INTO @o (i) VALUES ('x'); SELECT i, n FROM @o", want: []string{"1|3"}},
		{name: "table variable", sql: "DECLARE @v TABLE (a int PRIMARY KEY, b int); INSERT @v VALUES (2, 1), (1, 5); UPDATE @v SET b += 1; DELETE @v WHERE a = 2; SELECT * FROM @v", want: []string{"1|6"}},
		{name: "identity insert", sql: "SET IDENTITY_INSERT item ON; INSERT item (id, code) VALUES (9, 'x'); SET IDENTITY_INSERT item OFF; INSERT item (code) VALUES ('y'); SELECT id FROM item ORDER BY id", want: []string{"9", "10"}},
		{name: "into", sql: "INSERT item (code) VALUES ('x'); SELECT code, qty * 2 AS q INTO copy FROM item; SELECT * FROM copy", want: []string{"x|10"}},
		{name: "view", sql: "CREATE VIEW v AS SELECT code AS c, qty AS q FROM item\nGO\nINSERT v (q, c) VALUES (4, 'x'); INSERT v VALUES ('y', 5); SELECT code, qty FROM item ORDER BY id", want: []string{"x|4", "y|5"}},
		{name: "sequence", sql: "CREATE SEQUENCE s AS bigint; INSERT item (code, qty) VALUES ('x', NEXT VALUE FOR s), ('y', NEXT VALUE FOR s); SELECT qty FROM item ORDER BY id", want: []string{"1", "2"}},
		{name: "sequence twice in a row", sql: "CREATE SEQUENCE s AS bigint; SELECT NEXT VALUE FOR s, NEXT VALUE FOR s FROM (VALUES (1), (2)) v (a)", want: []string{"1|1", "2|2"}},
	})
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	runQueries(t, items, []queryCase{
		{name: "one", sql: "UPDATE item SET qty = qty + 10, note = N'x' WHERE id = 2; SELECT qty, twice, note FROM item WHERE id = 2", want: []string{"12|24|x"}},
		{name: "compound", sql: "UPDATE item SET qty += 1, price = DEFAULT; SELECT qty, price FROM item ORDER BY id", want: []string{"2|NULL", "3|NULL", "4|NULL"}},
		{name: "output", sql: "UPDATE item SET qty = 9 OUTPUT deleted.qty, inserted.qty, inserted.twice WHERE id = 1", want: []string{"1|9|18"}},
		{name: "from", sql: "UPDATE i SET qty = v.q OUTPUT inserted.id, v.q FROM item i JOIN (VALUES ('a', 70), ('c', 90)) v (c, q) ON v.c = i.code", want: []string{"1|70", "3|90"}},
		{name: "from target by name", sql: "UPDATE item SET qty = 0 FROM item JOIN (SELECT 3 AS n) x ON x.n = item.id; SELECT id FROM item WHERE qty = 0", want: []string{"3"}},
		{name: "variable", sql: "DECLARE @a int, @b int; UPDATE item SET @a = qty = qty * 100, @b = qty WHERE id = 3; SELECT @a, @b", want: []string{"300|3"}},
		{name: "running variable", sql: "DECLARE @n int = 0; UPDATE item SET @n = qty = @n + 1; SELECT qty FROM item ORDER BY id", want: []string{"1", "2", "3"}},
		{name: "cte with top", sql: "WITH c AS (SELECT TOP (1) id, qty FROM item ORDER BY id DESC) UPDATE c SET qty = -1 OUTPUT inserted.id", want: []string{"3"}},
		{name: "cte with row number", sql: "WITH c AS (SELECT id, qty, ROW_NUMBER() OVER (ORDER BY id) AS n FROM item) UPDATE c SET qty = n WHERE n > 1; SELECT qty FROM item ORDER BY id", want: []string{"1", "2", "3"}},
		{name: "view", sql: "CREATE VIEW v AS SELECT id AS k, qty AS q FROM item WHERE id < 3\nGO\nUPDATE v SET q = 0; SELECT qty FROM item ORDER BY id", want: []string{"0", "0", "3"}},
		{name: "swap keys", sql: "UPDATE item SET code = CASE code WHEN 'a' THEN 'b' WHEN 'b' THEN 'a' ELSE code END; SELECT code FROM item ORDER BY code", want: []string{"a", "b", "c"}},
		{name: "top", sql: "UPDATE TOP (2) item SET qty = 0; SELECT COUNT(*) FROM item WHERE qty = 0", want: []string{"2"}},
		{name: "subquery", sql: "UPDATE item SET qty = (SELECT MAX(qty) FROM item) WHERE id = 1; SELECT qty FROM item WHERE id = 1", want: []string{"3"}},
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	runQueries(t, items, []queryCase{
		{name: "one", sql: "DELETE item WHERE id = 2; SELECT id FROM item ORDER BY id", want: []string{"1", "3"}},
		{name: "output", sql: "DELETE FROM item OUTPUT deleted.code, deleted.total WHERE price IS NOT NULL", want: []string{"a|2.00", "b|6.00"}},
		{name: "from", sql: "DELETE i FROM item AS i JOIN (VALUES (1), (3)) v (n) ON v.n = i.id; SELECT id FROM item", want: []string{"2"}},
		{name: "twice matched", sql: "DELETE i OUTPUT deleted.id FROM item AS i JOIN (VALUES (1), (1)) v (n) ON v.n = i.id", want: []string{"1"}},
		{name: "in query", sql: "DELETE FROM item WHERE id IN (SELECT TOP (2) id FROM item ORDER BY id); SELECT id FROM item", want: []string{"3"}},
		{name: "cte", sql: "WITH c AS (SELECT TOP (1) * FROM item ORDER BY qty DESC) DELETE FROM c; SELECT id FROM item ORDER BY id", want: []string{"1", "2"}},
		{name: "top", sql: "DELETE TOP (1) FROM item; SELECT COUNT(*) FROM item", want: []string{"2"}},
		{name: "truncate", sql: "TRUNCATE TABLE item; INSERT item (code) VALUES ('z'); SELECT id, code FROM item", want: []string{"1|z"}},
	})
}

func TestMerge(t *testing.T) {
	t.Parallel()
	runQueries(t, items, []queryCase{
		{name: "upsert", sql: `MERGE item AS t USING (VALUES ('b', 20), ('z', 26)) AS s (code, qty) ON t.code = s.code
			WHEN MATCHED THEN UPDATE SET qty = s.qty WHEN NOT MATCHED THEN INSERT (code, qty) VALUES (s.code, s.qty)
			OUTPUT $action, inserted.code, deleted.qty;`, want: []string{"UPDATE|b|2", "INSERT|z|NULL"}},
		{name: "delete by source", sql: `MERGE item AS t USING (SELECT 'b' AS code) AS s ON t.code = s.code
			WHEN NOT MATCHED BY SOURCE AND t.qty > 1 THEN DELETE; SELECT code FROM item ORDER BY code`, want: []string{"a", "b"}},
		{name: "first clause wins", sql: `MERGE item AS t USING (SELECT 1 AS id UNION ALL SELECT 2) AS s ON t.id = s.id
			WHEN MATCHED AND t.qty = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET qty = 50; SELECT id, qty FROM item ORDER BY id`, want: []string{"2|50", "3|3"}},
	})
}

// TestModificationErrors maps statements to SQL Server's error numbers.
func TestModificationErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		sql  string
		want int32
	}{
		{"INSERT item (code) VALUES ('a')", 2627},
		{"INSERT item (code) VALUES (NULL)", 515},
		{"INSERT item (code) VALUES ('12345678901')", 2628},
		{"INSERT item (code, price) VALUES ('x', -1)", 547},
		{"INSERT item (id, code) VALUES (1, 'x')", 544},
		{"INSERT item (code, rv) VALUES ('x', 0x01)", 273},
		{"INSERT item (code, total) VALUES ('x', 1)", 271},
		{"INSERT item (code, code) VALUES ('x', 'y')", 264},
		{"INSERT item (code, nope) VALUES ('x', 'y')", 207},
		{"INSERT item (code, qty) VALUES ('x')", 109},
		{"INSERT item (code) VALUES ('x', 1)", 110},
		{"INSERT item (code, qty) SELECT 'x'", 120},
		{"INSERT item (code) SELECT 'x', 1", 121},
		{"INSERT item VALUES ('x')", 213},
		{"INSERT item (code) VALUES ('x'), ('y', 1)", 10709},
		{"INSERT item (code, qty) VALUES ('x', 99999999999)", 8115},
		{"INSERT item (code, qty) VALUES ('x', 'q')", 245},
		{"UPDATE item SET id = 1", 8102},
		{"UPDATE item SET total = 1", 271},
		{"UPDATE item SET rv = 0x01", 272},
		{"UPDATE item SET qty = 1, qty = 2", 264},
		{"UPDATE item SET nope = 1", 207},
		{"UPDATE item SET x.qty = 1", 4104},
		{"UPDATE item SET code = 'b' WHERE id = 1", 2627},
		{"UPDATE item SET qty = NULL", 515},
		{"UPDATE item SET price = 0 WHERE id = 1", 547},
		{"UPDATE item SET qty = 1 / 0", 8134},
		{"UPDATE item WITH (NOLOCK) SET qty = 1", 1065},
		{"INSERT item WITH (READPAST) (code) VALUES ('x')", 4102},
		{"UPDATE nowhere SET a = 1", 208},
		{"DELETE @t", 1087},
		{"MERGE item t USING (VALUES (1), (1)) s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET qty = 1;", 8672},
		{"TRUNCATE TABLE nowhere", 4701},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			t.Parallel()
			c := newConn(t, items)
			_, err := c.query(tt.sql)
			if got := number(err); got != tt.want {
				t.Errorf("error %d (%v), want %d", got, err, tt.want)
			}
			if got, err := c.query("SELECT COUNT(*) FROM item"); err != nil || !slices.Equal(got, []string{"3"}) {
				t.Errorf("rows after the error: %v, %v", got, err)
			}
		})
	}
}

func TestMessageTexts(t *testing.T) {
	t.Parallel()
	tests := []struct{ sql, want string }{
		{"INSERT item (code) VALUES ('a')", "Violation of UNIQUE KEY constraint 'uq_code'. Cannot insert duplicate key in object 'dbo.item'. The duplicate key value is (a)."},
		{"INSERT item (code) VALUES ('12345678901')", "String or binary data would be truncated in table 'db.dbo.item', column 'code'. Truncated value: '1234567890'."},
		{"INSERT item (code) VALUES (NULL)", "Cannot insert the value NULL into column 'code', table 'db.dbo.item'; column does not allow nulls. INSERT fails."},
		{"INSERT item (code, price) VALUES ('x', -1)", `The INSERT statement conflicted with the CHECK constraint "ck_price". The conflict occurred in database "db", table "dbo.item", column 'price'.`},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			t.Parallel()
			_, err := newConn(t, items).query(tt.sql)
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

const family = `
CREATE TABLE parent (id int PRIMARY KEY, name varchar(9));
CREATE TABLE child (id int PRIMARY KEY, parent int NULL CONSTRAINT fk REFERENCES parent (id)%s);
INSERT parent VALUES (1, 'a'), (2, 'b'); INSERT child VALUES (10, 1), (11, 1), (12, NULL);
`

func TestForeignKey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, action, sql string
		number            int32
		want              []string
	}{
		{name: "no parent", sql: "INSERT child VALUES (20, 9)", number: 547},
		{name: "null is fine", sql: "INSERT child VALUES (20, NULL)", want: []string{"10|1", "11|1", "12|NULL", "20|NULL"}},
		{name: "update to no parent", sql: "UPDATE child SET parent = 7 WHERE id = 10", number: 547},
		{name: "delete referenced", sql: "DELETE parent WHERE id = 1", number: 547},
		{name: "delete free", sql: "DELETE parent WHERE id = 2", want: []string{"10|1", "11|1", "12|NULL"}},
		{name: "update referenced", sql: "UPDATE parent SET id = 5 WHERE id = 1", number: 547},
		{name: "update other column", sql: "UPDATE parent SET name = 'z'", want: []string{"10|1", "11|1", "12|NULL"}},
		{name: "cascade delete", action: " ON DELETE CASCADE", sql: "DELETE parent WHERE id = 1", want: []string{"12|NULL"}},
		{name: "set null", action: " ON DELETE SET NULL", sql: "DELETE parent", want: []string{"10|NULL", "11|NULL", "12|NULL"}},
		{name: "cascade update", action: " ON UPDATE CASCADE", sql: "UPDATE parent SET id = 5 WHERE id = 1", want: []string{"10|5", "11|5", "12|NULL"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newConn(t, strings.ReplaceAll(family, "%s", tt.action))
			_, err := c.query(tt.sql)
			if got := number(err); got != tt.number {
				t.Fatalf("error %v, want %d", err, tt.number)
			}
			if tt.number != 0 {
				return
			}
			got, err := c.query("SELECT id, parent FROM child ORDER BY id")
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestTriggersAreCalled(t *testing.T) {
	t.Parallel()
	c := newConn(t, "CREATE TABLE a (id int PRIMARY KEY, n int)")
	tab := c.db.objects["a"].(*catalog.Table)
	tab.Triggers = []*catalog.Module{{OnInsert: true, OnUpdate: true, OnDelete: true}}
	c.script("INSERT a VALUES (1, 1), (2, 2); UPDATE a SET n = 5 WHERE id = 1; DELETE a WHERE id = 9")
	want := []string{"after INSERT a 2 0 [0 1]", "after UPDATE a 1 1 [1]", "after DELETE a 0 0 []"}
	if !slices.Equal(c.fired, want) {
		t.Errorf("got %q, want %q", c.fired, want)
	}
	_, err := c.query("DELETE a OUTPUT deleted.id")
	if number(err) != 334 {
		t.Errorf("OUTPUT beside a trigger: %v, want 334", err)
	}
	tab.Triggers = []*catalog.Module{{OnInsert: true, InsteadOf: true}}
	c.fired = nil
	c.script("INSERT a VALUES (7, 7)")
	if got, _ := c.query("SELECT COUNT(*) FROM a WHERE id = 7"); !slices.Equal(got, []string{"0"}) {
		t.Errorf("INSTEAD OF left the row in: %v", got)
	}
	if want := []string{"instead of INSERT a 1 0"}; !slices.Equal(c.fired, want) {
		t.Errorf("got %q, want %q", c.fired, want)
	}
	c.inTrigger = true
	c.script("INSERT a VALUES (7, 7)")
	if got, _ := c.query("SELECT COUNT(*) FROM a WHERE id = 7"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("an INSERT inside the INSTEAD OF trigger stored %v rows, want 1", got)
	}
}

func TestInsteadOfOnView(t *testing.T) {
	t.Parallel()
	c := newConn(t, sample+"\nGO\nCREATE VIEW v AS SELECT p.id, p.name AS who, t.name AS team FROM person p JOIN team t ON t.id = p.team")
	if _, err := c.query("INSERT v (id, who, team) VALUES (1, 'x', 'y')"); number(err) != 4405 {
		t.Errorf("INSERT into two tables: %v, want 4405", err)
	}
	c.viewTriggers = []*catalog.Module{{InsteadOf: true, OnInsert: true, OnUpdate: true, OnDelete: true}}
	tests := []struct{ sql, inserted, deleted string }{
		{"INSERT v (team, id) VALUES ('y', '7')", "7|NULL|y", ""},
		{"INSERT v SELECT 1, 'a', 'b'", "1|a|b", ""},
		{"UPDATE v SET who = who + '!' WHERE team = 'red' AND id > 1", "2|bob!|red", "2|bob|red"},
		{"DELETE v WHERE id = 3", "", "3|cid|blue"},
	}
	text := func(rows []types.Row) string {
		var out []string
		for _, r := range rows {
			out = append(out, rowText(r))
		}
		return strings.Join(out, " ")
	}
	for _, tt := range tests {
		c.script(tt.sql)
		if got := text(c.insertedRows); got != tt.inserted {
			t.Errorf("%s: inserted %q, want %q", tt.sql, got, tt.inserted)
		}
		if got := text(c.deletedRows); got != tt.deleted {
			t.Errorf("%s: deleted %q, want %q", tt.sql, got, tt.deleted)
		}
	}
}
