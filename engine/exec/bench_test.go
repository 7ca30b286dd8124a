package exec_test

import (
	"fmt"
	"testing"

	"loopbroker/engine/exec"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

func discard(types.Row) error { return nil }

// BenchmarkSet is SET @x = @y + 1.
func BenchmarkSet(b *testing.B) {
	c := newConn(b, "DECLARE @x int = 0, @y int = 4")
	batch, err := syntax.Parse("SET @x = @y + 1", syntax.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e, err := exec.CompileExpr(c, batch.Statements[0].(*syntax.SetVariable).X)
	if err != nil {
		b.Fatal(err)
	}
	r := rt{c}
	b.ReportAllocs()
	for b.Loop() {
		v, err := e.Eval(r)
		if err != nil {
			b.Fatal(err)
		}
		c.vars[0] = v
	}
}

// BenchmarkPoint is SELECT TOP (1) … WHERE pk = @id.
func BenchmarkPoint(b *testing.B) {
	c := newConn(b, "CREATE TABLE a (id bigint PRIMARY KEY, n int, s nvarchar(20)); DECLARE @id bigint = 500")
	for i := range 1000 {
		c.script(fmt.Sprintf("INSERT a VALUES (%d, 1, N'x')", i))
	}
	c.commit()
	st := compile(b, c, "SELECT TOP (1) n, s FROM a WHERE id = @id")
	r := rt{c}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := st.Run(r, discard); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInsert is a single-row INSERT into a table with two indexes.
func BenchmarkInsert(b *testing.B) {
	c := newConn(b, "CREATE TABLE a (id bigint IDENTITY PRIMARY KEY, n int NOT NULL, s nvarchar(20) DEFAULT N'x'); CREATE INDEX ix ON a (n); DECLARE @n int = 0")
	c.commit()
	st := compile(b, c, "INSERT a (n) VALUES (@n)")
	r := rt{c}
	b.ReportAllocs()
	for b.Loop() {
		c.vars[0] = types.NewInt(c.vars[0].Int() + 1)
		if _, err := st.Run(r, discard); err != nil {
			b.Fatal(err)
		}
		if c.vars[0].Int()%100 == 0 {
			c.commit()
		}
	}
}

// BenchmarkClaim is the claim of one row of a queue, undone each time.
func BenchmarkClaim(b *testing.B) {
	c := fillQueue(b, 1000)
	st := compile(b, c, claim)
	r := rt{c}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := st.Run(r, discard); err != nil {
			b.Fatal(err)
		}
		c.rollback()
	}
}

// BenchmarkScan filters and sums 10,000 rows.
func BenchmarkScan(b *testing.B) {
	c := newConn(b, "CREATE TABLE a (id int PRIMARY KEY, n int NOT NULL)")
	for i := range 10000 {
		c.script(fmt.Sprintf("INSERT a VALUES (%d, %d)", i, i%10))
	}
	c.commit()
	c.level = storage.ReadUncommitted
	st := compile(b, c, "SELECT SUM(n) FROM a WHERE n < 5")
	r := rt{c}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := st.Run(r, discard); err != nil {
			b.Fatal(err)
		}
	}
}
