package crash

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// mostItems is how many items a session keeps.
const mostItems = 60

// act does one thing to the session's rows.
func (t *transaction) act(ctx context.Context) error {
	switch n := t.rnd.IntN(100); {
	case n < 28:
		return t.insertItems(ctx)
	case n < 46:
		return t.changeItem(ctx)
	case n < 60:
		return t.deleteItem(ctx)
	case n < 78:
		return t.move(ctx)
	case n < 92:
		return t.ticket(ctx)
	default:
		return t.define(ctx)
	}
}

// insertItems adds one to four items, each in two tables.
func (t *transaction) insertItems(ctx context.Context) error {
	if len(t.keys("item")) > mostItems {
		return t.deleteItem(ctx)
	}
	for range 1 + t.rnd.IntN(4) {
		t.nextID++
		id, val, note := t.nextID, t.rnd.IntN(1000), t.note4()
		err := t.exec(ctx, `INSERT INTO dbo.item (id, session, number, val, note) VALUES (@p1, @p2, @p3, @p4, @p5);
INSERT INTO dbo.mirror (id, session, number, val) VALUES (@p1, @p2, @p3, @p4)`, id, t.id, t.number, val, note)
		if err != nil {
			return err
		}
		t.setItem(strconv.FormatInt(id, 10), val, note)
	}
	return nil
}

// note4 is the text of an item: mostly short, now and then long.
func (t *transaction) note4() any {
	switch t.rnd.IntN(12) {
	case 0:
		return nil
	case 1:
		return strings.Repeat("a long note ", 1+t.rnd.IntN(1500))
	}
	return fmt.Sprintf("note %d", t.rnd.IntN(1000))
}

func (t *transaction) setItem(id string, val int, note any) {
	t.set("item", id, t.number, val, note)
	t.set("mirror", id, t.number, val)
}

// changeItem changes an item in both tables, in all indexes.
func (t *transaction) changeItem(ctx context.Context) error {
	id, ok := t.pick("item")
	if !ok {
		return nil
	}
	val, note := t.rnd.IntN(1000), t.note4()
	err := t.exec(ctx, `UPDATE dbo.item SET number = @p2, val = @p3, note = @p4 WHERE id = @p1;
UPDATE dbo.mirror SET number = @p2, val = @p3 WHERE id = @p1`, number(id), t.number, val, note)
	if err != nil {
		return err
	}
	t.setItem(id, val, note)
	return nil
}

func (t *transaction) deleteItem(ctx context.Context) error {
	id, ok := t.pick("item")
	if !ok {
		return nil
	}
	if err := t.exec(ctx, "DELETE FROM dbo.item WHERE id = @p1; DELETE FROM dbo.mirror WHERE id = @p1", number(id)); err != nil {
		return err
	}
	t.drop("item", id)
	t.drop("mirror", id)
	return nil
}

// move moves money between two of the accounts that all sessions share.
func (t *transaction) move(ctx context.Context) error {
	a, b := t.rnd.IntN(accounts), t.rnd.IntN(accounts-1)
	if b >= a {
		b++
	}
	amount := 1 + t.rnd.IntN(50)
	deltas := map[int]int{a: -amount, b: amount}
	for _, account := range []int{min(a, b), max(a, b)} {
		delta := deltas[account]
		err := t.exec(ctx, `UPDATE dbo.account SET balance += @p1 WHERE id = @p2;
UPDATE dbo.moved SET total += @p1 WHERE account = @p2 AND session = @p3`, delta, account, t.id)
		if err != nil {
			return err
		}
		key := strconv.Itoa(account)
		t.set("moved", key, number(t.after[place{"moved", key}])+int64(delta))
	}
	return nil
}

// ticket takes an identity and a sequence number, and removes an old ticket.
func (t *transaction) ticket(ctx context.Context) error {
	var no, seq int64
	err := t.conn.QueryRowContext(ctx, `INSERT INTO dbo.ticket (session, seq, number) OUTPUT inserted.no, inserted.seq
VALUES (@p1, NEXT VALUE FOR dbo.counter, @p2)`, t.id, t.number).Scan(&no, &seq)
	if err != nil {
		return err
	}
	t.given = append(t.given, fmt.Sprintf("identity %d", no), fmt.Sprintf("sequence %d", seq))
	t.set("ticket", strconv.FormatInt(no, 10), seq, t.number)
	old := t.keys("ticket")
	if len(old) < 10 {
		return nil
	}
	gone := old[t.rnd.IntN(len(old))]
	if err := t.exec(ctx, "DELETE FROM dbo.ticket WHERE no = @p1", number(gone)); err != nil {
		return err
	}
	t.drop("ticket", gone)
	return nil
}

// define changes the session's own table or procedure.
func (t *transaction) define(ctx context.Context) error {
	if t.rnd.IntN(4) == 0 {
		body := fmt.Sprintf("PROCEDURE dbo.%s AS SELECT %d AS number;", procedure(t.id), t.number)
		if err := t.exec(ctx, "CREATE OR ALTER "+body); err != nil {
			return err
		}
		t.set("procedure", procedure(t.id), "CREATE "+body)
		return nil
	}
	name := sideTable(t.id)
	at := place{"table", name}
	if _, ok := t.after[at]; !ok {
		return t.createSide(ctx, name)
	}
	columns, indexes := parseShape(t.after[at])
	switch t.rnd.IntN(6) {
	case 0:
		return t.dropSide(ctx, name)
	case 1:
		return t.truncateSide(ctx, name)
	case 2:
		if len(columns) < 6 {
			return t.addColumn(ctx, name, columns, indexes)
		}
	case 3:
		if len(columns) > 2 {
			return t.dropColumn(ctx, name, columns, indexes)
		}
	case 4:
		return t.toggleIndex(ctx, name, columns, indexes)
	}
	return t.insertSide(ctx, name, columns)
}

// createSide makes the session's own table with two rows.
func (t *transaction) createSide(ctx context.Context, name string) error {
	err := t.exec(ctx, fmt.Sprintf(`CREATE TABLE dbo.%[1]s (id bigint NOT NULL CONSTRAINT %[1]s_pk PRIMARY KEY, a bigint NOT NULL);`, name))
	if err != nil {
		return err
	}
	columns := []string{"id", "a"}
	t.note(entry{Table: "table", Key: name, Row: shape(columns, []string{name + "_pk"})})
	if err := t.insertSide(ctx, name, columns); err != nil {
		return err
	}
	return t.insertSide(ctx, name, columns)
}

func (t *transaction) dropSide(ctx context.Context, name string) error {
	if err := t.exec(ctx, "DROP TABLE dbo."+name); err != nil {
		return err
	}
	t.forgetSide(name)
	t.drop("table", name)
	return nil
}

func (t *transaction) truncateSide(ctx context.Context, name string) error {
	if err := t.exec(ctx, "TRUNCATE TABLE dbo."+name); err != nil {
		return err
	}
	t.forgetSide(name)
	return nil
}

func (t *transaction) forgetSide(name string) {
	for _, key := range t.keys(name) {
		t.drop(name, key)
	}
}

// insertSide inserts a row: a is the transaction's number, further columns have
// their defaults.
func (t *transaction) insertSide(ctx context.Context, name string, columns []string) error {
	if len(t.keys(name)) > 8 {
		return t.truncateSide(ctx, name)
	}
	t.nextID++
	if err := t.exec(ctx, "INSERT INTO dbo."+name+" (id, a) VALUES (@p1, @p2)", t.nextID, t.number); err != nil {
		return err
	}
	values := []any{t.number}
	for _, c := range columns[2:] {
		values = append(values, strings.TrimPrefix(c, "c"))
	}
	t.set(name, strconv.FormatInt(t.nextID, 10), values...)
	return nil
}

// addColumn adds a column whose name tells its default.
func (t *transaction) addColumn(ctx context.Context, name string, columns, indexes []string) error {
	n := t.number*8 + int64(len(columns))
	for used := true; used; {
		n++
		used = false
		for _, c := range columns {
			used = used || c == fmt.Sprintf("c%d", n)
		}
	}
	err := t.exec(ctx, fmt.Sprintf("ALTER TABLE dbo.%s ADD c%d bigint NOT NULL CONSTRAINT %[1]s_c%[2]d_df DEFAULT (%[2]d)", name, n))
	if err != nil {
		return err
	}
	t.note(entry{Table: "table", Key: name, Row: shape(append(columns, fmt.Sprintf("c%d", n)), indexes)})
	for _, key := range t.keys(name) {
		t.note(entry{Table: name, Key: key, Row: t.after[place{name, key}] + fmt.Sprintf("|%d", n)})
	}
	return nil
}

// dropColumn drops the last column.
func (t *transaction) dropColumn(ctx context.Context, name string, columns, indexes []string) error {
	last := len(columns) - 1
	err := t.exec(ctx, fmt.Sprintf("ALTER TABLE dbo.%s DROP CONSTRAINT %[1]s_%[2]s_df; ALTER TABLE dbo.%[1]s DROP COLUMN %[2]s", name, columns[last]))
	if err != nil {
		return err
	}
	t.note(entry{Table: "table", Key: name, Row: shape(columns[:last], indexes)})
	for _, key := range t.keys(name) {
		values := t.row(name, key)
		t.note(entry{Table: name, Key: key, Row: strings.Join(values[:last-1], "|")})
	}
	return nil
}

// toggleIndex creates the table's second index, or drops it.
func (t *transaction) toggleIndex(ctx context.Context, name string, columns, indexes []string) error {
	stmt := fmt.Sprintf("CREATE INDEX %s_a ON dbo.%[1]s (a DESC, id)", name)
	if len(indexes) > 1 {
		stmt = fmt.Sprintf("DROP INDEX %s_a ON dbo.%[1]s", name)
	}
	if err := t.exec(ctx, stmt); err != nil {
		return err
	}
	if len(indexes) > 1 {
		indexes = indexes[:1]
	} else {
		indexes = append(indexes, name+"_a")
	}
	t.note(entry{Table: "table", Key: name, Row: shape(columns, indexes)})
	return nil
}

// parseShape is the reverse of shape.
func parseShape(s string) (columns, indexes []string) {
	c, i, _ := strings.Cut(s, "/")
	return strings.Split(c, ","), strings.Split(i, ",")
}

// number is the number that a text of ours stands for.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // written by us
	return n
}
