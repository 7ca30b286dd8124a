package exec_test

import (
	"strings"
	"testing"

	"loopbroker/engine/exec"
	"loopbroker/engine/syntax"
)

const queue = `
CREATE TABLE q (id bigint IDENTITY, name varchar(40) NOT NULL, available_at datetime2(7) NOT NULL, state tinyint NOT NULL DEFAULT 0, body nvarchar(max) NULL,
	CONSTRAINT pk_q PRIMARY KEY NONCLUSTERED (id));
CREATE INDEX ix_due ON q (name, available_at, id);
CREATE INDEX ix_open ON q (available_at DESC) WHERE state = 0;
CREATE TABLE call (id bigint PRIMARY KEY, type varchar(10) NOT NULL, owner int NULL);
CREATE TABLE reply (request_id bigint PRIMARY KEY, state int NOT NULL);
CREATE TABLE lone (a int NULL, b int NULL)
GO
CREATE VIEW request AS SELECT c.id, c.type, r.state FROM call c LEFT JOIN reply r ON r.request_id = c.id WHERE c.owner IS NULL
GO
CREATE VIEW grouped AS SELECT type, COUNT(*) AS n FROM call GROUP BY type
GO
`

// TestAccessPath fixes which index a statement uses.
func TestAccessPath(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, sql, want string }{
		{"primary key", "SELECT body FROM q WHERE id = @n", "seek q.pk_q id = @n (one row)"},
		{"top of one row", "SELECT TOP (1) body FROM q WHERE id = @n", "select q.body\n  seek q.pk_q id = @n (one row)"},
		{"primary key, other side", "SELECT body FROM q WHERE @n = id", "seek q.pk_q id = @n (one row)"},
		{"smaller integer", "SELECT body FROM q WHERE id = 5", "seek q.pk_q id = 5 (one row)"},
		{"prefix and order", "SELECT TOP (1) id FROM q WHERE name = @s ORDER BY available_at, id", "top 1\n    seek q.ix_due name = @s\n"},
		{"backward", "SELECT TOP (1) id FROM q WHERE name = @s ORDER BY available_at DESC, id DESC", "top 1\n    seek q.ix_due name = @s backward\n"},
		{"mixed directions need a sort", "SELECT TOP (1) id FROM q WHERE name = @s ORDER BY available_at DESC, id", "sort q.available_at DESC, q.id"},
		{"range", "SELECT id FROM q WHERE name = @s AND available_at <= @t", "seek q.ix_due name = @s available_at <= @t"},
		{"unicode value for a varchar column", "SELECT id FROM q WHERE name = N'x'", "seek q.ix_due name = 'x'"},
		{"list", "SELECT id FROM q WHERE name IN ('a', 'b') AND available_at < @t", "seek q.ix_due name in ('a', 'b') available_at < @t"},
		{"query list", "DELETE FROM q WHERE id IN (SELECT id FROM call)", "seek q.pk_q id in query"},
		{"filtered index", "SELECT id FROM q WHERE state = 0 AND available_at > @t", "seek q.ix_open available_at > @t"},
		{"filter not implied", "SELECT id FROM q WHERE available_at > @t", "scan q\n"},
		{"no index", "SELECT a FROM lone WHERE b = 1", "scan lone"},
		{"function on the column", "SELECT id FROM call WHERE id + 1 = 5", "scan call.c0_call"},
		{"join", "SELECT r.state FROM call c JOIN reply r ON r.request_id = c.id WHERE c.id = @n", "seek reply r.c0_reply request_id = c.id (one row)"},
		{"join starts at the constant", "SELECT r.state FROM call c JOIN reply r ON r.request_id = c.id WHERE r.request_id = @n", "inner join\n    seek reply r.c0_reply request_id = @n (one row)\n    seek call c.c0_call id = r.request_id (one row)"},
		{"hash join", "SELECT 1 FROM call c JOIN lone l ON l.a = c.owner", "hash l.a = c.owner\n      scan lone l"},
		{"view is merged", "SELECT state FROM request WHERE id = @n", "left join\n    seek call c.c0_call id = @n (one row)"},
		{"condition goes into a grouping", "SELECT n FROM grouped WHERE type = 'x'", "aggregate COUNT(*) by call.type"},
		{"outer join becomes inner", "SELECT c.id FROM call c LEFT JOIN reply r ON r.request_id = c.id WHERE r.state = 1", "inner join"},
		{"max reads one row", "SELECT MAX(id) FROM call", "top 1\n      scan call.c0_call backward"},
		{"correlated exists seeks", "SELECT 1 FROM call c WHERE NOT EXISTS (SELECT 1 FROM reply r WHERE r.request_id = c.id)", "scan call c.c0_call"},
		{"claim", "WITH c AS (SELECT TOP (@n) * FROM q WITH (UPDLOCK, ROWLOCK, READPAST) WHERE name = @s AND available_at <= @t ORDER BY available_at, id) UPDATE c SET state = 1 OUTPUT inserted.id",
			"update q\n  top @n\n    seek q.ix_due name = @s available_at <= @t\n"},
		{"hint", "SELECT id FROM q WITH (INDEX(ix_due)) WHERE id = 1", "scan q.ix_due"},
		{"constant condition first", "SELECT id FROM q WHERE @n = 1 AND id = 1", "if (@n = 1)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newConn(t, queue+"DECLARE @n bigint, @s varchar(40), @t datetime2(7)")
			batch, err := syntax.Parse(tt.sql, syntax.Options{})
			if err != nil {
				t.Fatal(err)
			}
			st, err := exec.CompileStatement(c, batch.Statements[0])
			if err != nil {
				t.Fatal(err)
			}
			if got := st.Describe(); !strings.Contains(got, tt.want) {
				t.Errorf("%s\n%s\nwant in it:\n%s", tt.sql, got, tt.want)
			}
		})
	}
}

func TestBindingErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		sql  string
		want int32
	}{
		{"SELECT nope FROM person", 207},
		{"SELECT p.nope FROM person p", 207},
		{"SELECT x.id FROM person p", 4104},
		{"SELECT name FROM person, team", 209},
		{"SELECT 1 FROM nowhere", 208},
		{"SELECT @nope", 137},
		{"SELECT 1 FROM @nope", 1087},
		{"SELECT nope(1)", 195},
		{"SELECT 1 FROM person a, team a", 1011},
		{"SELECT 1 FROM person, person", 1013},
		{"SELECT 1 FROM person, team person", 1013},
		{"SELECT age, COUNT(*) FROM person", 8120},
		{"SELECT team FROM person GROUP BY team HAVING age > 1", 8121},
		{"SELECT team FROM person GROUP BY team ORDER BY age", 8127},
		{"SELECT id FROM person WHERE COUNT(*) > 1", 147},
		{"SELECT SUM(MAX(age)) FROM person", 130},
		{"SELECT (SELECT id FROM person)", 512},
		{"SELECT (SELECT id, age FROM person)", 116},
		{"SELECT id FROM person WHERE id IN (SELECT id, age FROM person)", 116},
		{"SELECT 1 UNION SELECT 1, 2", 205},
		{"SELECT id FROM person UNION SELECT id FROM team ORDER BY id + 1", 104},
		{"SELECT DISTINCT team FROM person ORDER BY age", 145},
		{"SELECT id FROM person ORDER BY 3", 108},
		{"SELECT * FROM (SELECT id FROM person ORDER BY id) x", 1033},
		{"SELECT * FROM (SELECT 1) x", 8155},
		{"SELECT * FROM (SELECT 1 AS a, 2 AS a) x", 8156},
		{"SELECT * FROM (SELECT 1 AS a, 2 AS b) x (a)", 8158},
		{"SELECT * FROM (SELECT 1 AS a) x (a, b)", 8159},
		{"SELECT *", 263},
		{"SELECT x.* FROM person p", 107},
		{"DECLARE @a int; SELECT @a = 1, id FROM person", 141},
		{"SELECT id FROM person WITH (NOLOCK, READPAST)", 650},
		{"SELECT id FROM person WITH (INDEX(nope))", 308},
		{"SELECT 1 / 0", 8134},
		{"SELECT CAST('x' AS int)", 245},
		{"SELECT TOP (-1) id FROM person", 127},
		{"SELECT id FROM person ORDER BY id OFFSET -1 ROWS", 10742},
		{"SELECT id FROM person ORDER BY id OFFSET 0 ROWS FETCH NEXT 0 ROWS ONLY", 10744},
		{"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n", 530},
		{"WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1.5 FROM n) SELECT 1 FROM n", 240},
		{"WITH a AS (SELECT 1 AS x), a AS (SELECT 2 AS x) SELECT 1 FROM a", 239},
		{"SELECT ROW_NUMBER() OVER (PARTITION BY id) FROM person", 4112},
		{"SELECT id FROM person WHERE ROW_NUMBER() OVER (ORDER BY id) = 1", 4108},
		{"SELECT id FROM person WHERE id = CAST('2020-01-01' AS date)", 206},
		{"SELECT name COLLATE Latin1_General_BIN2 FROM person WHERE name COLLATE Latin1_General_BIN2 = name COLLATE Latin1_General_CI_AS", 468},
		{"SELECT id FROM person FOR JSON PATH, ROOT, WITHOUT_ARRAY_WRAPPER", 13620},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			t.Parallel()
			_, err := newConn(t, sample).query(tt.sql)
			if got := number(err); got != tt.want {
				t.Errorf("error %d (%v), want %d", got, err, tt.want)
			}
		})
	}
}
