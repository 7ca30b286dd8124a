package exec_test

import (
	"slices"
	"testing"
)

// TestSeekKeys seeks with values that seek themselves while the key is made,
// and changes as many rows as need no memory of their own, and more.
func TestSeekKeys(t *testing.T) {
	t.Parallel()
	const setup = `CREATE TABLE k (a int NOT NULL, b int NOT NULL, c int NOT NULL, n int NULL, CONSTRAINT pk_k PRIMARY KEY (a, b, c));
INSERT k VALUES (1, 1, 1, 111), (1, 2, 1, 121), (1, 2, 2, 122), (2, 1, 1, 211), (2, 7, 3, 273), (2, 7, 4, 274), (3, 1, 1, 311)
GO
`
	for _, tt := range []struct {
		name, sql string
		want      []string
	}{
		{"a point of queries", "SELECT n FROM k WHERE a = (SELECT n - 109 FROM k WHERE a = 1 AND b = 1 AND c = 1) AND b = (SELECT n - 204 FROM k WHERE a = 2 AND b = 1 AND c = 1) AND c = (SELECT n - 307 FROM k WHERE a = 3 AND b = 1 AND c = 1)", []string{"274"}},
		{"a range of queries", "SELECT n FROM k WHERE a = 2 AND b = (SELECT n - 204 FROM k WHERE a = 2 AND b = 1 AND c = 1) AND c > (SELECT n - 308 FROM k WHERE a = 3 AND b = 1 AND c = 1) ORDER BY c", []string{"274"}},
		{"a range both ways", "SELECT n FROM k WHERE a = 1 AND b >= 1 AND b < 2", []string{"111"}},
		{"a range downwards", "SELECT n FROM k WHERE a = 1 AND b <= 2 ORDER BY a DESC, b DESC, c DESC", []string{"122", "121", "111"}},
		{"no lower value", "SELECT n FROM k WHERE a = 1 AND b > NULL", nil},
		{"a value out of the column's range", "SELECT n FROM k WHERE a = 1 AND b < 99999999999 ORDER BY b, c", []string{"111", "121", "122"}},
		{"a join of ranges", "SELECT y.n FROM k AS x INNER JOIN k AS y ON y.a = x.a AND y.b > x.b WHERE x.a = 2 AND x.b = 1 ORDER BY y.c", []string{"273", "274"}},
		{"a target that a join meets twice", "UPDATE x SET n = x.n + 1 OUTPUT inserted.n FROM k AS x INNER JOIN k AS y ON y.a = x.a WHERE x.a = 1 AND x.b = 2 AND x.c = 2", []string{"123"}},
		{"many targets that a join meets often", "UPDATE x SET n = -x.n OUTPUT inserted.n FROM k AS x CROSS JOIN k AS y INNER JOIN k AS z ON z.n > 0", []string{"-111", "-121", "-122", "-211", "-273", "-274", "-311"}},
		{"rows of one INSERT", "INSERT k OUTPUT inserted.n VALUES (8, 1, 1, 811), (8, 1, 2, 812), (8, 1, 3, 813)", []string{"811", "812", "813"}},
		{"deletions", "DELETE FROM k OUTPUT deleted.n WHERE a = 2 AND b = 7", []string{"273", "274"}},
		{"ties", "SELECT TOP (2) WITH TIES b FROM k WHERE a IN (1, 2) ORDER BY b", []string{"1", "1"}},
		{"more ties", "SELECT TOP (3) WITH TIES b FROM k WHERE a IN (1, 2) ORDER BY b", []string{"1", "1", "2", "2"}},
		{"skipped", "SELECT n FROM k WHERE a = 1 ORDER BY b, c OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY", []string{"121"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newConn(t, setup)
			got, err := c.query(tt.sql)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(tt.want))) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestManyTargets changes more rows than a list is searched for, each found
// several times, and each once.
func TestManyTargets(t *testing.T) {
	t.Parallel()
	c := newConn(t, "CREATE TABLE m (id int PRIMARY KEY, n int NOT NULL)\nGO\n")
	for i := range 40 {
		c.script("INSERT m VALUES (" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + ", 0)")
	}
	c.script("UPDATE x SET n = x.n + 1 FROM m AS x CROSS JOIN m AS y WHERE y.id < 3")
	got, err := c.query("SELECT COUNT(*), SUM(n), MAX(n) FROM m")
	if err != nil || !slices.Equal(got, []string{"40|40|1"}) {
		t.Errorf("got %v, %v, want 40 rows with 1", got, err)
	}
}
