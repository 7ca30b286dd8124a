package exec_test

import (
	"slices"
	"testing"
)

// sample is a small world for the query tests.
const sample = `
CREATE TABLE team (id int PRIMARY KEY, name nvarchar(20) NOT NULL);
CREATE TABLE person (id int PRIMARY KEY, team int NULL, name nvarchar(20) NOT NULL, age int NULL, pay decimal(9,2) NULL);
CREATE INDEX ix_team ON person (team, age);
INSERT team VALUES (1, N'red'), (2, N'blue'), (3, N'green');
INSERT person VALUES (1, 1, N'ann', 30, 10.50), (2, 1, N'bob', 25, 8), (3, 2, N'cid', 41, NULL), (4, NULL, N'dot', NULL, 3), (5, 2, N'eve', 41, 7.25);
`

// queryCase is one query and the rows it gives.
type queryCase struct {
	name, sql string
	want      []string
	unordered bool
}

func runQueries(t *testing.T, script string, cases []queryCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newConn(t, script)
			got, err := c.query(tt.sql)
			if err != nil {
				t.Fatalf("%s: %v", tt.sql, err)
			}
			want := slices.Clone(tt.want)
			if tt.unordered {
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s\n got %q\nwant %q", tt.sql, got, want)
			}
		})
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	runQueries(t, sample, []queryCase{
		{name: "constant", sql: "SELECT 1 + 2, N'a' + 'b', 7 / 2, -3", want: []string{"3|ab|3|-3"}},
		{name: "point", sql: "SELECT name FROM person WHERE id = 3", want: []string{"cid"}},
		{name: "star", sql: "SELECT * FROM team WHERE id = 2", want: []string{"2|blue"}},
		{name: "qualified star", sql: "SELECT t.* FROM team AS t WHERE t.id > 2", want: []string{"3|green"}},
		{name: "case insensitive", sql: "SELECT ID FROM PERSON WHERE NAME = 'ANN'", want: []string{"1"}},
		{name: "null comparison", sql: "SELECT id FROM person WHERE age <> 30 ORDER BY id", want: []string{"2", "3", "5"}},
		{name: "is null", sql: "SELECT id FROM person WHERE team IS NULL", want: []string{"4"}},
		{name: "not in null", sql: "SELECT id FROM person WHERE team NOT IN (1, NULL)"},
		{name: "in list", sql: "SELECT id FROM person WHERE id IN (5, 1, 1, 9) ORDER BY id", want: []string{"1", "5"}},
		{name: "between", sql: "SELECT id FROM person WHERE id BETWEEN 2 AND 3 ORDER BY id", want: []string{"2", "3"}},
		{name: "like", sql: "SELECT name FROM person WHERE name LIKE '%b%'", want: []string{"bob"}},
		{name: "or", sql: "SELECT id FROM person WHERE id = 1 OR id = 4 ORDER BY id DESC", want: []string{"4", "1"}},
		{name: "not", sql: "SELECT id FROM person WHERE NOT (id < 3 OR team = 2)"},
		{name: "order by expression", sql: "SELECT id FROM person ORDER BY age DESC, id DESC", want: []string{"5", "3", "1", "2", "4"}},
		{name: "order by alias", sql: "SELECT id, age * 2 AS d FROM person WHERE age IS NOT NULL ORDER BY d, id", want: []string{"2|50", "1|60", "3|82", "5|82"}},
		{name: "order by position", sql: "SELECT name, id FROM team ORDER BY 1", want: []string{"blue|2", "green|3", "red|1"}},
		{name: "top", sql: "SELECT TOP (2) id FROM person ORDER BY id DESC", want: []string{"5", "4"}},
		{name: "top ties", sql: "SELECT TOP (1) WITH TIES id FROM person ORDER BY age DESC", want: []string{"3", "5"}, unordered: true},
		{name: "top percent", sql: "SELECT TOP (50) PERCENT id FROM person ORDER BY id", want: []string{"1", "2", "3"}},
		{name: "top zero", sql: "SELECT TOP (0) id FROM person"},
		{name: "offset", sql: "SELECT id FROM person ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", want: []string{"2", "3"}},
		{name: "distinct", sql: "SELECT DISTINCT team FROM person ORDER BY team", want: []string{"NULL", "1", "2"}},
		{name: "variables", sql: "DECLARE @n int = 2, @s nvarchar(10); SELECT @s = name FROM person WHERE id = @n; SELECT @s, @n", want: []string{"bob|2"}},
		{name: "assign none", sql: "DECLARE @n int = 7; SELECT @n = id FROM person WHERE id = 99; SELECT @n", want: []string{"7"}},
		{name: "assign each row", sql: "DECLARE @s nvarchar(100) = N''; SELECT @s += name FROM person ORDER BY id; SELECT @s", want: []string{"annbobciddoteve"}},
		{name: "case", sql: "SELECT CASE WHEN age > 40 THEN 'old' WHEN age IS NULL THEN '?' ELSE 'young' END FROM person ORDER BY id", want: []string{"young", "young", "old", "?", "old"}},
		{name: "lazy case", sql: "SELECT CASE 1 WHEN 1 THEN 5 ELSE 1 / 0 END, IIF(1 = 2, 1 / 0, 3), CHOOSE(2, 1 / 0, 8), COALESCE(NULL, 4, 1 / 0), NULLIF(1, 1), ISNULL(NULL, 9)", want: []string{"5|3|8|4|NULL|9"}},
		{name: "convert", sql: "SELECT CAST('12' AS int) + 1, CONVERT(varchar(10), 5), TRY_CAST('x' AS int)", want: []string{"13|5|NULL"}},
		{name: "values", sql: "SELECT a, b FROM (VALUES (1, 'x'), (2, NULL)) AS v (a, b) ORDER BY a DESC", want: []string{"2|NULL", "1|x"}},
		{name: "decimal", sql: "SELECT pay * 2 FROM person WHERE pay > 7.2 ORDER BY pay", want: []string{"14.50", "16.00", "21.00"}},
	})
}

func TestJoin(t *testing.T) {
	t.Parallel()
	runQueries(t, sample, []queryCase{
		{name: "inner", sql: "SELECT p.name, t.name FROM person p JOIN team t ON t.id = p.team ORDER BY p.id", want: []string{"ann|red", "bob|red", "cid|blue", "eve|blue"}},
		{name: "comma", sql: "SELECT p.name, t.name FROM person p, team t WHERE t.id = p.team AND p.id < 3 ORDER BY p.id", want: []string{"ann|red", "bob|red"}},
		{name: "left", sql: "SELECT p.name, t.name FROM person p LEFT JOIN team t ON t.id = p.team ORDER BY p.id", want: []string{"ann|red", "bob|red", "cid|blue", "dot|NULL", "eve|blue"}},
		{name: "left without match", sql: "SELECT t.name FROM team t LEFT JOIN person p ON p.team = t.id WHERE p.id IS NULL", want: []string{"green"}},
		{name: "left with condition", sql: "SELECT t.name, p.name FROM team t LEFT JOIN person p ON p.team = t.id AND p.age > 30 ORDER BY t.id, p.id", want: []string{"red|NULL", "blue|cid", "blue|eve", "green|NULL"}},
		{name: "right", sql: "SELECT t.name, p.name FROM person p RIGHT JOIN team t ON p.team = t.id AND p.id = 1 ORDER BY t.id", want: []string{"red|ann", "blue|NULL", "green|NULL"}},
		{name: "full", sql: "SELECT t.name, p.name FROM team t FULL JOIN person p ON p.team = t.id", unordered: true,
			want: []string{"red|ann", "red|bob", "blue|cid", "blue|eve", "green|NULL", "NULL|dot"}},
		{name: "cross", sql: "SELECT a.id, b.id FROM team a CROSS JOIN team b WHERE a.id < b.id ORDER BY a.id, b.id", want: []string{"1|2", "1|3", "2|3"}},
		{name: "hash", sql: "SELECT a.name, b.name FROM person a JOIN person b ON a.age = b.age AND a.id < b.id", want: []string{"cid|eve"}},
		{name: "self", sql: "SELECT a.id FROM person a JOIN person b ON b.id = a.id + 1 ORDER BY a.id", want: []string{"1", "2", "3", "4"}},
		{name: "cross apply", sql: "SELECT t.name, x.name FROM team t CROSS APPLY (SELECT TOP (1) p.name FROM person p WHERE p.team = t.id ORDER BY p.id DESC) x ORDER BY t.id", want: []string{"red|bob", "blue|eve"}},
		{name: "outer apply", sql: "SELECT t.name, x.n FROM team t OUTER APPLY (SELECT COUNT(*) AS n FROM person p WHERE p.team = t.id) x ORDER BY t.id", want: []string{"red|2", "blue|2", "green|0"}},
		{name: "nested outer", sql: "SELECT t.id, p.id, u.id FROM team t LEFT JOIN (person p JOIN team u ON u.id = p.team) ON p.team = t.id AND p.id = 1 ORDER BY t.id", want: []string{"1|1|1", "2|NULL|NULL", "3|NULL|NULL"}},
		{name: "derived on the null side", sql: "SELECT t.id, d.one FROM team t LEFT JOIN (SELECT team, 1 AS one FROM person WHERE id = 1) d ON d.team = t.id ORDER BY t.id", want: []string{"1|1", "2|NULL", "3|NULL"}},
		{name: "derived group", sql: "SELECT t.name, g.n FROM team t JOIN (SELECT team, COUNT(*) AS n FROM person GROUP BY team) g ON g.team = t.id ORDER BY t.id", want: []string{"red|2", "blue|2"}},
		{name: "three", sql: "SELECT p.id, q.id FROM team t JOIN person p ON p.team = t.id JOIN person q ON q.team = t.id AND q.id > p.id ORDER BY p.id", want: []string{"1|2", "3|5"}},
	})
}

func TestSubquery(t *testing.T) {
	t.Parallel()
	runQueries(t, sample, []queryCase{
		{name: "scalar", sql: "SELECT (SELECT name FROM team WHERE id = p.team) FROM person p ORDER BY id", want: []string{"red", "red", "blue", "NULL", "blue"}},
		{name: "uncorrelated", sql: "SELECT id FROM person WHERE age = (SELECT MAX(age) FROM person) ORDER BY id", want: []string{"3", "5"}},
		{name: "exists", sql: "SELECT id FROM team t WHERE EXISTS (SELECT * FROM person WHERE team = t.id) ORDER BY id", want: []string{"1", "2"}},
		{name: "not exists", sql: "SELECT id FROM team t WHERE NOT EXISTS (SELECT 1 FROM person p WHERE p.team = t.id)", want: []string{"3"}},
		{name: "in", sql: "SELECT id FROM team WHERE id IN (SELECT team FROM person) ORDER BY id", want: []string{"1", "2"}},
		{name: "not in with null", sql: "SELECT id FROM team WHERE id NOT IN (SELECT team FROM person)"},
		{name: "not in", sql: "SELECT id FROM team WHERE id NOT IN (SELECT team FROM person WHERE team IS NOT NULL)", want: []string{"3"}},
		{name: "in correlated", sql: "SELECT t.id FROM team t WHERE 25 IN (SELECT age FROM person p WHERE p.team = t.id)", want: []string{"1"}},
		{name: "any", sql: "SELECT id FROM person WHERE age > ANY (SELECT age FROM person WHERE team = 1) ORDER BY id", want: []string{"1", "3", "5"}},
		{name: "all", sql: "SELECT id FROM person WHERE age >= ALL (SELECT age FROM person WHERE age IS NOT NULL) ORDER BY id", want: []string{"3", "5"}},
		{name: "nested correlation", sql: "SELECT id FROM team t WHERE EXISTS (SELECT 1 FROM person p WHERE p.team = t.id AND EXISTS (SELECT 1 FROM person q WHERE q.team = t.id AND q.id <> p.id)) ORDER BY id", want: []string{"1", "2"}},
		{name: "cte", sql: "WITH a AS (SELECT id, team FROM person WHERE id < 4), b (x) AS (SELECT team FROM a) SELECT x, COUNT(*) FROM b GROUP BY x ORDER BY x", want: []string{"1|2", "2|1"}},
		{name: "recursive", sql: "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT i FROM n", want: []string{"1", "2", "3", "4"}},
		{name: "recursive join", sql: "WITH c AS (SELECT id, team FROM person WHERE id = 1 UNION ALL SELECT p.id, p.team FROM person p JOIN c ON p.id = c.id + 1 WHERE p.id < 4) SELECT id FROM c ORDER BY id", want: []string{"1", "2", "3"}},
		{name: "union", sql: "SELECT team FROM person UNION SELECT id FROM team ORDER BY team", want: []string{"NULL", "1", "2", "3"}},
		{name: "union all", sql: "SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 1 ORDER BY a", want: []string{"1", "1", "2"}},
		{name: "except", sql: "SELECT id FROM team EXCEPT SELECT team FROM person", want: []string{"3"}},
		{name: "intersect", sql: "SELECT id FROM team INTERSECT SELECT team FROM person ORDER BY id", want: []string{"1", "2"}},
		{name: "union types", sql: "SELECT 1 AS a UNION ALL SELECT 2.5 ORDER BY a", want: []string{"1.0", "2.5"}},
		{name: "openjson", sql: `SELECT a, b FROM OPENJSON('[{"a":1,"b":"x"},{"a":2}]') WITH (a int, b nvarchar(5)) ORDER BY a`, want: []string{"1|x", "2|NULL"}},
		{name: "openjson default", sql: `SELECT [key], value, type FROM OPENJSON('{"k":"v","n":3}')`, want: []string{"k|v|1", "n|3|2"}},
		{name: "openjson apply", sql: `SELECT p.id, j.value FROM person p CROSS APPLY OPENJSON('[' + CAST(p.id AS nvarchar(9)) + ',9]') j WHERE p.id < 3 AND j.[key] = '0' ORDER BY p.id`, want: []string{"1|1", "2|2"}},
		{name: "string split", sql: "SELECT value FROM STRING_SPLIT('a,b,,c', ',')", want: []string{"a", "b", "", "c"}},
	})
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	runQueries(t, sample, []queryCase{
		{name: "all", sql: "SELECT COUNT(*), COUNT(age), SUM(age), MIN(age), MAX(age), AVG(age) FROM person", want: []string{"5|4|137|25|41|34"}},
		{name: "empty", sql: "SELECT COUNT(*), MAX(age) FROM person WHERE id > 100", want: []string{"0|NULL"}},
		{name: "group", sql: "SELECT team, COUNT(*), SUM(pay) FROM person GROUP BY team ORDER BY team", want: []string{"NULL|1|3.00", "1|2|18.50", "2|2|7.25"}},
		{name: "group empty", sql: "SELECT team, COUNT(*) FROM person WHERE id > 100 GROUP BY team"},
		{name: "having", sql: "SELECT team FROM person GROUP BY team HAVING COUNT(*) > 1 AND MAX(age) > 30", want: []string{"2"}},
		{name: "expression", sql: "SELECT age / 10, COUNT(*) + 1 FROM person WHERE age IS NOT NULL GROUP BY age / 10 ORDER BY age / 10", want: []string{"2|2", "3|2", "4|3"}},
		{name: "distinct", sql: "SELECT COUNT(DISTINCT age), SUM(DISTINCT age) FROM person", want: []string{"3|96"}},
		{name: "string agg", sql: "SELECT STRING_AGG(name, ',') WITHIN GROUP (ORDER BY name DESC) FROM person WHERE team = 1", want: []string{"bob,ann"}},
		{name: "max by index", sql: "SELECT MAX(id), MIN(team) FROM person", want: []string{"5|1"}},
		{name: "subquery over group", sql: "SELECT team, (SELECT name FROM team t WHERE t.id = person.team) FROM person GROUP BY team ORDER BY team", want: []string{"NULL|NULL", "1|red", "2|blue"}},
		{name: "row number", sql: "SELECT id, ROW_NUMBER() OVER (PARTITION BY team ORDER BY age, id) FROM person ORDER BY id", want: []string{"1|2", "2|1", "3|1", "4|1", "5|2"}},
		{name: "rank", sql: "SELECT id, RANK() OVER (ORDER BY age DESC), DENSE_RANK() OVER (ORDER BY age DESC) FROM person ORDER BY id", want: []string{"1|3|2", "2|4|3", "3|1|1", "4|5|4", "5|1|1"}},
		{name: "running sum", sql: "SELECT id, SUM(id) OVER (ORDER BY id), COUNT(*) OVER () FROM person ORDER BY id", want: []string{"1|1|5", "2|3|5", "3|6|5", "4|10|5", "5|15|5"}},
		{name: "frame", sql: "SELECT id, SUM(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM person ORDER BY id", want: []string{"1|3", "2|6", "3|9", "4|12", "5|9"}},
		{name: "lag lead", sql: "SELECT id, LAG(id) OVER (ORDER BY id), LEAD(id, 2, 0) OVER (ORDER BY id) FROM person ORDER BY id", want: []string{"1|NULL|3", "2|1|4", "3|2|5", "4|3|0", "5|4|0"}},
		{name: "window over group", sql: "SELECT team, SUM(COUNT(*)) OVER () FROM person GROUP BY team ORDER BY team", want: []string{"NULL|5", "1|5", "2|5"}},
		{name: "row number in derived", sql: "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY team ORDER BY id) AS n FROM person) x WHERE n = 1 ORDER BY id", want: []string{"1", "3", "4"}},
		{name: "for json path", sql: "SELECT id, name AS [who.name] FROM team WHERE id < 3 ORDER BY id FOR JSON PATH", want: []string{`[{"id":1,"who":{"name":"red"}},{"id":2,"who":{"name":"blue"}}]`}},
		{name: "for json nested", sql: "SELECT id, (SELECT p.id FROM person p WHERE p.team = t.id ORDER BY p.id FOR JSON PATH) AS p FROM team t WHERE id = 1 FOR JSON PATH, WITHOUT_ARRAY_WRAPPER", want: []string{`{"id":1,"p":[{"id":1},{"id":2}]}`}},
		{name: "for json none", sql: "SELECT id FROM team WHERE id > 9 FOR JSON PATH"},
		{name: "for xml path", sql: "SELECT STUFF((SELECT ',' + name FROM team ORDER BY id FOR XML PATH('')), 1, 1, '')", want: []string{"red,blue,green"}},
	})
}
