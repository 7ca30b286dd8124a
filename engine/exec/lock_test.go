package exec_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"loopbroker/engine/exec"
	"loopbroker/engine/storage"
	"loopbroker/engine/syntax"
	"loopbroker/engine/types"
)

const claim = `WITH c AS (SELECT TOP (2) * FROM q WITH (UPDLOCK, ROWLOCK, READPAST) WHERE name = 'n' AND state = 0 AND available_at <= @t ORDER BY available_at, id)
	UPDATE c SET state = 1 OUTPUT inserted.id`

func fillQueue(t testing.TB, rows int) *conn {
	t.Helper()
	c := newConn(t, queue+"DECLARE @t datetime2(7) = '2030-01-01'")
	for i := range rows {
		c.script(fmt.Sprintf("INSERT q (name, available_at) VALUES ('n', DATEADD(second, %d, '2020-01-01'))", i%7))
	}
	c.commit()
	return c
}

// TestClaim lets many sessions take rows at once, each holding its transaction
// open until all have claimed: nobody waits, no row is taken twice, and nothing
// is skipped that was free.
func TestClaim(t *testing.T) {
	t.Parallel()
	const sessions, rows = 32, 100
	first := fillQueue(t, rows)
	got := make([][]string, sessions)
	errs := make([]error, sessions)
	var claimed, done sync.WaitGroup
	claimed.Add(sessions)
	for i := range sessions {
		c := first.db.connect(t)
		c.timeout = 0 // a wait would be an error
		done.Go(func() {
			if errs[i] = c.exec("DECLARE @t datetime2(7) = '2030-01-01'", nil); errs[i] == nil {
				errs[i] = c.exec(claim, func(r types.Row) error { got[i] = append(got[i], rowText(r)); return nil })
			}
			claimed.Done()
			claimed.Wait()
			if errs[i] == nil {
				errs[i] = c.tx.Commit(t.Context())
			}
		})
	}
	done.Wait()
	seen := map[string]int{}
	for i := range sessions {
		if errs[i] != nil {
			t.Fatalf("session %d: %v", i, errs[i])
		}
		if len(got[i]) != 2 {
			t.Errorf("session %d claimed %v, want 2 rows", i, got[i])
		}
		for _, id := range got[i] {
			if other, ok := seen[id]; ok {
				t.Errorf("row %s went to sessions %d and %d", id, other, i)
			}
			seen[id] = i
		}
	}
}

// TestClaimOrder takes the rows that are due first, and locks no others.
func TestClaimOrder(t *testing.T) {
	t.Parallel()
	c := fillQueue(t, 9)
	got, err := c.query(claim)
	if want := []string{"1", "8"}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
	locked := 0
	for _, l := range c.db.store.Locks() {
		if l.Mode == storage.X || l.Mode == storage.U {
			locked++
		}
	}
	// The row and its keys share one lock.
	if locked != 2 {
		t.Errorf("%d row locks, want 2: %v", locked, c.db.store.Locks())
	}
}

func TestIsolation(t *testing.T) {
	t.Parallel()
	const script = "CREATE TABLE a (id int PRIMARY KEY, n int); INSERT a VALUES (1, 10), (2, 20), (3, 30)"
	tests := []struct {
		name      string
		level     storage.Isolation
		rcsi      bool
		other     string // an open change of another session
		sql       string
		want      []string
		wantError int32 // -1 for a lock time-out
	}{
		{name: "read committed waits", other: "UPDATE a SET n = 0 WHERE id = 2", sql: "SELECT n FROM a", wantError: -1},
		{name: "reads around a change", other: "UPDATE a SET n = 0 WHERE id = 2", sql: "SELECT n FROM a WHERE id = 1", want: []string{"10"}},
		{name: "nolock", other: "UPDATE a SET n = 0 WHERE id = 2", sql: "SELECT n FROM a WITH (NOLOCK)", want: []string{"10", "0", "30"}},
		{name: "read uncommitted", level: storage.ReadUncommitted, other: "DELETE a WHERE id = 2", sql: "SELECT n FROM a", want: []string{"10", "30"}},
		{name: "readpast", other: "UPDATE a SET n = 0 WHERE id = 2", sql: "SELECT n FROM a WITH (READPAST)", want: []string{"10", "30"}},
		{name: "row versions", rcsi: true, other: "UPDATE a SET n = 0 WHERE id = 2", sql: "SELECT n FROM a", want: []string{"10", "20", "30"}},
		{name: "row versions overridden", rcsi: true, other: "UPDATE a SET n = 0 WHERE id = 2", sql: "SELECT n FROM a WITH (READCOMMITTEDLOCK)", wantError: -1},
		{name: "update waits under row versions", rcsi: true, other: "UPDATE a SET n = 0 WHERE id = 2", sql: "UPDATE a SET n = 1", wantError: -1},
		{name: "snapshot", level: storage.Snapshot, other: "DELETE a", sql: "SELECT n FROM a", want: []string{"10", "20", "30"}},
		{name: "readpast in serializable", level: storage.Serializable, sql: "SELECT n FROM a WITH (READPAST)", wantError: 650},
		{name: "readpast in serializable with a level", level: storage.Serializable, sql: "SELECT n FROM a WITH (READPAST, READCOMMITTEDLOCK) WHERE id = 1", want: []string{"10"}},
		{name: "readpast update in serializable", level: storage.Serializable, sql: "UPDATE a WITH (READPAST) SET n = 1", wantError: 650},
		{name: "readpast update by key in serializable", level: storage.Serializable, sql: "UPDATE a WITH (READPAST) SET n = 1 OUTPUT inserted.n WHERE id = 1", want: []string{"1"}},
		{name: "updlock passes readers", other: "SELECT n FROM a WITH (UPDLOCK)", sql: "SELECT n FROM a", want: []string{"10", "20", "30"}},
		{name: "updlock stops updlock", other: "SELECT n FROM a WITH (UPDLOCK)", sql: "SELECT n FROM a WITH (UPDLOCK)", wantError: -1},
		{name: "update lets rows go that do not qualify", other: "UPDATE a SET n = 0 WHERE n = 20", sql: "UPDATE a SET n = 7 OUTPUT inserted.id WHERE id = 3", want: []string{"3"}},
		{name: "tablockx", other: "SELECT n FROM a WITH (TABLOCKX)", sql: "SELECT n FROM a", wantError: -1},
		{name: "nowait", other: "UPDATE a SET n = 0", sql: "SELECT n FROM a WITH (NOWAIT)", wantError: -1},
		{name: "holdlock stops inserts", other: "SELECT n FROM a WITH (HOLDLOCK) WHERE id > 2", sql: "INSERT a VALUES (9, 9)", wantError: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newConn(t, script)
			c.commit()
			c.level, c.rcsi, c.timeout = tt.level, tt.rcsi, 0
			c.tx.SetIsolation(tt.level)
			if tt.level == storage.Snapshot {
				c.tx.SnapshotView()
			}
			if tt.other != "" {
				other := c.db.connect(t)
				other.script(tt.other)
			}
			got, err := c.query(tt.sql)
			if n := number(err); n != tt.wantError || (n == -1 && !errors.Is(err, storage.ErrLockTimeout)) {
				t.Fatalf("error %v, want %d", err, tt.wantError)
			}
			if tt.wantError == 0 && !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestSharedPlan runs one compiled statement in many sessions at once.
func TestSharedPlan(t *testing.T) {
	t.Parallel()
	c := newConn(t, sample+"DECLARE @n int")
	c.commit()
	st := compile(t, c, "SELECT p.name, (SELECT name FROM team WHERE id = p.team) FROM person p WHERE p.id = @n AND p.team IN (SELECT id FROM team)")
	var wg sync.WaitGroup
	for i := range 8 {
		o := c.db.connect(t)
		o.script("DECLARE @n int")
		id := int64(i%3 + 1)
		want := []string{"ann|red", "bob|red", "cid|blue"}[id-1]
		wg.Go(func() {
			o.vars[0] = types.NewInt(id)
			for range 200 {
				var got []string
				if _, err := st.Run(rt{o}, func(r types.Row) error { got = append(got, rowText(r)); return nil }); err != nil {
					t.Error(err)
					return
				}
				if !slices.Equal(got, []string{want}) {
					t.Errorf("got %v, want %s", got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func compile(t testing.TB, c *conn, sql string) *exec.Statement {
	t.Helper()
	batch, err := syntax.Parse(sql, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := exec.CompileStatement(c, batch.Statements[0])
	if err != nil {
		t.Fatal(err)
	}
	return st
}
