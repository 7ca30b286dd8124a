package exec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"loopbroker/engine/exec"
	"loopbroker/engine/syntax"
)

// querier makes random queries over the tables t, u and v, which have the
// columns k, a, b and s.
type querier struct{ *rand.Rand }

func (q querier) pick(list ...string) string { return list[q.IntN(len(list))] }

func (q querier) value() string {
	return q.pick("0", "1", "2", "3", "4", "5", "6", "-1", "2.0", "2.5", "'3'", "NULL", "@n", "99999999999")
}

func (q querier) column(alias string) string { return alias + "." + q.pick("k", "a", "b") }

// condition compares columns of the given aliases.
func (q querier) condition(depth int, aliases ...string) string {
	x := q.column(aliases[q.IntN(len(aliases))])
	switch n := q.IntN(12); {
	case n < 4:
		return x + q.pick(" = ", " = ", " < ", " >= ", " <> ", " > ", " <= ") + q.value()
	case n < 6:
		return x + q.pick(" = ", " = ", " < ") + q.column(aliases[q.IntN(len(aliases))])
	case n == 6:
		return fmt.Sprintf("%s IN (%s, %s, %s)", x, q.value(), q.value(), q.value())
	case n == 7:
		return x + q.pick(" IS NULL", " IS NOT NULL")
	case n == 8:
		return fmt.Sprintf("%s BETWEEN %s AND %s", x, q.value(), q.value())
	case n == 9:
		return aliases[0] + ".s" + q.pick(" = 'b'", " LIKE 'a%'", " = N'c'", " IN ('a', N'B')", " > 'a'")
	case depth == 0:
		return x + " = 1"
	case n == 10:
		return fmt.Sprintf("(%s OR %s)", q.condition(depth-1, aliases...), q.condition(depth-1, aliases...))
	}
	return q.subquery(depth-1, x, aliases)
}

func (q querier) subquery(depth int, x string, aliases []string) string {
	inner := fmt.Sprintf("z%d", depth)
	from := fmt.Sprintf("%s %s WHERE %s", q.pick("t", "u", "v"), inner, q.condition(depth, append([]string{inner}, aliases...)...))
	switch q.IntN(4) {
	case 0:
		return q.pick("EXISTS", "NOT EXISTS") + " (SELECT 1 FROM " + from + ")"
	case 1:
		return fmt.Sprintf("%s %s (SELECT %s FROM %s)", x, q.pick("IN", "NOT IN"), q.column(inner), from)
	case 2:
		return fmt.Sprintf("%s = (SELECT %s(%s) FROM %s)", x, q.pick("MIN", "MAX", "COUNT"), q.column(inner), from)
	}
	return fmt.Sprintf("%s > ALL (SELECT %s FROM %s)", x, q.column(inner), from)
}

func (q querier) query() string {
	var b strings.Builder
	aliases := []string{"x"}
	from := q.pick("t", "u", "v") + " x"
	for i := range q.IntN(3) {
		y := string(rune('y' + i))
		kind := q.pick("JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
		table := q.pick("t", "u", "v", "(SELECT k, a, b, s FROM t WHERE a > 1)", "(SELECT a AS k, COUNT(*) AS a, MAX(b) AS b, MIN(s) AS s FROM u GROUP BY a)", "(SELECT k, a, b, s FROM t UNION ALL SELECT k, b, a, s FROM u)", "w")
		aliases = append(aliases, y)
		from += fmt.Sprintf(" %s %s %s", kind, table, y)
		if kind != "CROSS JOIN" {
			from += fmt.Sprintf(" ON %s = %s", q.column(y), q.column(aliases[q.IntN(len(aliases)-1)]))
			if q.IntN(3) == 0 {
				from += " AND " + q.condition(0, y, aliases[0])
			}
		}
	}
	where := ""
	for i := range q.IntN(4) {
		where += []string{" WHERE ", " AND ", " AND "}[i] + q.condition(2, aliases...)
	}
	switch q.IntN(5) {
	case 0:
		fmt.Fprintf(&b, "SELECT %s, COUNT(*), SUM(x.a) FROM %s%s GROUP BY %[1]s", q.column("x"), from, where)
	case 1:
		fmt.Fprintf(&b, "SELECT DISTINCT %s FROM %s%s", q.column("x"), from, where)
	case 2:
		c := q.column("x")
		fmt.Fprintf(&b, "SELECT TOP (3) %s FROM %s%s ORDER BY %s %s", c, from, where, c, q.pick("", "DESC"))
	case 3:
		fmt.Fprintf(&b, "SELECT %s(%s) FROM %s%s", q.pick("MIN", "MAX", "COUNT"), q.column("x"), from, where)
	default:
		b.WriteString("SELECT ")
		for i, a := range aliases {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s.k, %[1]s.a, %[1]s.b", a)
		}
		fmt.Fprintf(&b, " FROM %s%s", from, where)
	}
	return b.String()
}

// TestIndexesChangeNothing runs random queries on tables with and without
// indexes: whatever path is chosen, the rows are the same.
func TestIndexesChangeNothing(t *testing.T) {
	t.Parallel()
	const columns = "k int NOT NULL, a int NULL, b bigint NULL, s varchar(5) NULL"
	plain := newConn(t, "CREATE TABLE t ("+columns+"); CREATE TABLE u ("+columns+"); CREATE TABLE v ("+columns+"); DECLARE @n int = 2")
	indexed := newConn(t, "CREATE TABLE t ("+columns+", PRIMARY KEY (k)); CREATE TABLE u ("+columns+", PRIMARY KEY (k DESC)); CREATE TABLE v ("+columns+
		"); CREATE INDEX i1 ON t (a, b DESC); CREATE INDEX i2 ON u (b) WHERE a = 1; CREATE INDEX i3 ON v (s, a); CREATE UNIQUE INDEX i4 ON v (b DESC, k); CREATE INDEX i5 ON u (a DESC); DECLARE @n int = 2")
	r := rand.New(rand.NewPCG(1, 2))
	for _, table := range []string{"t", "u", "v"} {
		for k := range 12 {
			row := make([]string, 3)
			for i := range row {
				row[i] = "NULL"
				if r.IntN(5) > 0 {
					row[i] = fmt.Sprint(r.IntN(6))
				}
			}
			s := []string{"NULL", "'a'", "'B'", "'b'", "'c '", "'ab'"}[r.IntN(6)]
			sql := fmt.Sprintf("INSERT %s VALUES (%d, %s, %s, %s)", table, k, row[0], row[1], s)
			plain.script(sql)
			indexed.script(sql)
		}
	}
	view := "CREATE VIEW w AS SELECT u.k, t.a, t.b, COALESCE(u.s, 'none') AS s FROM u LEFT JOIN t ON t.k = u.a"
	plain.script(view)
	indexed.script(view)
	q := querier{r}
	for i := range 600 {
		sql := q.query()
		want, err1 := plain.query(sql)
		got, err2 := indexed.query(sql)
		if number(err1) != number(err2) || number(err1) == -1 {
			t.Fatalf("query %d\n%s\nwithout indexes: %v\nwith indexes: %v", i, sql, err1, err2)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("query %d\n%s\nwithout indexes %d: %v\nwith indexes %d: %v\n%s%s", i, sql, len(want), want, len(got), got, describe(plain, sql), describe(indexed, sql))
		}
	}
}

func describe(c *conn, sql string) string {
	batch, _ := syntax.Parse(sql, syntax.Options{})
	st, err := exec.CompileStatement(c, batch.Statements[0])
	if err != nil {
		return err.Error()
	}
	return st.Describe()
}
