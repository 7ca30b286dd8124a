package exec_test

import "testing"

// TestIdioms are forms that people write often.
func TestIdioms(t *testing.T) {
	t.Parallel()
	runQueries(t, sample, []queryCase{
		{name: "row number without order", sql: "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n FROM person) x WHERE n > 2", want: []string{"3"}},
		{name: "order by nothing", sql: "SELECT COUNT(*) FROM (SELECT TOP (3) id FROM person ORDER BY (SELECT NULL)) x", want: []string{"3"}},
		{name: "star by position", sql: "SELECT TOP 1 * FROM team ORDER BY 2", want: []string{"2|blue"}},
		{name: "group by case", sql: "SELECT CASE WHEN age > 40 THEN 'old' ELSE 'young' END, COUNT(*) FROM person GROUP BY CASE WHEN age > 40 THEN 'old' ELSE 'young' END ORDER BY 2", want: []string{"old|2", "young|3"}},
		{name: "order by count", sql: "SELECT team FROM person WHERE team IS NOT NULL GROUP BY team ORDER BY COUNT(*) DESC, team DESC", want: []string{"2", "1"}},
		{name: "unpivot by apply", sql: "SELECT p.id, v.what, v.n FROM person p CROSS APPLY (VALUES ('age', p.age), ('team', p.team)) v (what, n) WHERE p.id < 3 ORDER BY p.id, v.what", want: []string{"1|age|30", "1|team|1", "2|age|25", "2|team|1"}},
		{name: "anti join", sql: "DELETE t FROM team t LEFT JOIN person p ON p.team = t.id WHERE p.id IS NULL; SELECT id FROM team ORDER BY id", want: []string{"1", "2"}},
		{name: "swap", sql: "UPDATE person SET team = age, age = team WHERE id = 1; SELECT team, age FROM person WHERE id = 1", want: []string{"30|1"}},
		{name: "subquery in condition", sql: "SELECT CASE WHEN (SELECT COUNT(*) FROM person) > 3 THEN 'many' END", want: []string{"many"}},
		{name: "exists except", sql: "SELECT CASE WHEN EXISTS (SELECT id FROM team EXCEPT SELECT team FROM person) THEN 1 ELSE 0 END", want: []string{"1"}},
		{name: "top from a query", sql: "SELECT TOP ((SELECT COUNT(*) FROM team) - 1) id FROM person ORDER BY id", want: []string{"1", "2"}},
		{name: "order by collation", sql: "SELECT x FROM (VALUES ('b'), ('A'), ('a'), ('B')) v (x) ORDER BY x COLLATE Latin1_General_BIN2", want: []string{"A", "B", "a", "b"}},
		{name: "compare with collation", sql: "SELECT x FROM (VALUES ('a'), ('A')) v (x) WHERE x = 'A' COLLATE Latin1_General_BIN2", want: []string{"A"}},
		{name: "outer column shadows nothing", sql: "SELECT name FROM team WHERE id IN (SELECT id FROM person WHERE age = 41)", want: []string{"green"}},
		{name: "name found outside", sql: "SELECT t.name FROM team t WHERE EXISTS (SELECT 1 FROM (SELECT 2 AS x) d WHERE d.x = t.id)", want: []string{"blue"}},
		{name: "insert where not exists", sql: "INSERT team SELECT 4, N'grey' WHERE NOT EXISTS (SELECT 1 FROM team WITH (UPDLOCK, HOLDLOCK) WHERE id = 4); INSERT team SELECT 4, N'grey' WHERE NOT EXISTS (SELECT 1 FROM team WHERE id = 4); SELECT COUNT(*) FROM team", want: []string{"4"}},
		{name: "delete first rows into a table", sql: "DECLARE @d TABLE (id int); WITH x AS (SELECT TOP (2) * FROM person ORDER BY id) DELETE FROM x OUTPUT deleted.id INTO @d; SELECT id FROM @d ORDER BY id", want: []string{"1", "2"}},
		{name: "duplicates by row number", sql: "WITH d AS (SELECT ROW_NUMBER() OVER (PARTITION BY team ORDER BY id) AS n FROM person) DELETE FROM d WHERE n > 1; SELECT id FROM person ORDER BY id", want: []string{"1", "3", "4"}},
		{name: "greatest per group", sql: "SELECT p.name FROM person p WHERE p.id = (SELECT MAX(q.id) FROM person q WHERE q.team = p.team) ORDER BY p.id", want: []string{"bob", "eve"}},
		{name: "join to values", sql: "SELECT v.n, p.name FROM (VALUES (1), (7)) v (n) LEFT JOIN person p ON p.id = v.n ORDER BY v.n", want: []string{"1|ann", "7|NULL"}},
		{name: "cross join numbers", sql: "WITH d AS (SELECT n FROM (VALUES (0), (1), (2)) v (n)) SELECT COUNT(*), MAX(a.n * 10 + b.n) FROM d a CROSS JOIN d b", want: []string{"9|22"}},
		{name: "not in list with expression", sql: "SELECT id FROM person WHERE id % 2 NOT IN (0) ORDER BY id", want: []string{"1", "3", "5"}},
		{name: "nested case insensitive alias", sql: "SELECT X.ID FROM (SELECT id AS Id FROM team) AS x WHERE x.iD = 1", want: []string{"1"}},
		{name: "three-part column", sql: "SELECT dbo.team.name FROM dbo.team WHERE db.dbo.team.id = 1", want: []string{"red"}},
		{name: "string concatenation with numbers", sql: "SELECT name + ':' + CAST(id AS varchar(5)) FROM team WHERE id = 1", want: []string{"red:1"}},
		{name: "sum of case", sql: "SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END) FROM person", want: []string{"2"}},
		{name: "aggregate of an expression with an outer column", sql: "SELECT t.id, (SELECT COUNT(*) FROM person p WHERE p.team = t.id AND p.age > t.id * 20) FROM team t ORDER BY t.id", want: []string{"1|2", "2|2", "3|0"}},
		{name: "group by column of a view of joins", sql: "SELECT x.t, MIN(x.p) FROM (SELECT t.name AS t, p.name AS p FROM team t JOIN person p ON p.team = t.id) x GROUP BY x.t ORDER BY x.t", want: []string{"blue|cid", "red|ann"}},
		{name: "update with aggregate", sql: "UPDATE t SET name = CAST(x.n AS nvarchar(9)) FROM team t JOIN (SELECT team, COUNT(*) AS n FROM person GROUP BY team) x ON x.team = t.id; SELECT name FROM team ORDER BY id", want: []string{"2", "2", "green"}},
		{name: "paged", sql: "SELECT id, COUNT(*) OVER () AS total FROM person ORDER BY id OFFSET 3 ROWS FETCH NEXT 10 ROWS ONLY", want: []string{"4|5", "5|5"}},
		{name: "recursive tree", sql: "WITH tree AS (SELECT id, CAST(name AS nvarchar(100)) AS path, 0 AS depth FROM person WHERE id = 1 UNION ALL SELECT p.id, CAST(tree.path + N'/' + p.name AS nvarchar(100)), depth + 1 FROM tree JOIN person p ON p.id = tree.id + 1) SELECT path FROM tree WHERE depth = 2", want: []string{"ann/bob/cid"}},
		{name: "full join of aggregates", sql: "SELECT a.k, b.k FROM (SELECT team AS k FROM person GROUP BY team) a FULL JOIN (SELECT id AS k FROM team) b ON b.k = a.k ORDER BY b.k", want: []string{"NULL|NULL", "1|1", "2|2", "NULL|3"}},
		{name: "assign from several columns", sql: "DECLARE @i int, @s nvarchar(20); SELECT TOP (1) @i = id, @s = name FROM person WHERE team = 2 ORDER BY id; SELECT @i, @s", want: []string{"3|cid"}},
		{name: "in with the row itself", sql: "SELECT id FROM person p WHERE team IN (SELECT t.id FROM team t WHERE t.id = p.team AND t.name = N'red') ORDER BY id", want: []string{"1", "2"}},
		{name: "between dates", sql: "SELECT COUNT(*) FROM (VALUES (CAST('2024-01-01' AS datetime2(7))), ('2024-02-01')) v (d) WHERE d BETWEEN '2024-01-01' AND '2024-01-31'", want: []string{"1"}},
	})
}
