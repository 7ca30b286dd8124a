package syntax_test

import (
	"strings"
	"testing"

	"loopbroker/engine/syntax"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 129)
	tests := []struct {
		name, text string
		number     int32
		line       int32
		message    string // checked when not empty
	}{
		// 102, 156 and 319: where the text stops making sense.
		{"a name", "SELECT 1\nFROM t u v", 102, 2, "Incorrect syntax near 'v'."},
		{"a keyword as written", "SELECT a\nfrom where x = 1", 156, 2, "Incorrect syntax near the keyword 'where'."},
		{"the end", "SELECT *\nFROM\n\n-- nothing\n", 102, 2, "Incorrect syntax near 'FROM'."},
		{"a string", "SELECT 1 FROM\n'it''s'", 102, 2, "Incorrect syntax near 'it's'."},
		{"a bracket", "UPDATE [a b]\n[c]", 102, 2, "Incorrect syntax near 'c'."},
		{"a missing end", "BEGIN\nSELECT 1\n", 102, 2, "Incorrect syntax near '1'."},
		{"an empty block", "BEGIN END", 156, 1, "Incorrect syntax near the keyword 'END'."},
		{"an empty try", "BEGIN TRY END TRY BEGIN CATCH END CATCH", 156, 1, ""},
		{"try without catch", "BEGIN TRY SELECT 1 END TRY", 102, 1, "Incorrect syntax near 'TRY'."},
		{"a word that begins nothing", "SELECT 1;\nfoo 2", 102, 2, "Incorrect syntax near 'foo'."},
		{"else twice", "IF 1=1 SELECT 1 ELSE SELECT 2 ELSE SELECT 3", 156, 1, "Incorrect syntax near the keyword 'ELSE'."},
		{"an unterminated statement before WITH", "SELECT 1\nWITH c AS (SELECT 1 a) SELECT * FROM c", 319, 2, ""},
		{"a table before WITH", "SELECT * FROM t\nWITH c AS (SELECT 1 a) SELECT * FROM c", 336, 2, "Incorrect syntax near 'c'. If this is intended to be a common table expression, you need to explicitly terminate the previous statement with a semi-colon."},
		{"a block before WITH", "BEGIN SELECT 1 END WITH c AS (SELECT 1 a) SELECT * FROM c", 319, 1, ""},
		{"an unterminated statement before THROW", "PRINT 'a'\nTHROW 50000, 'x', 1", 102, 2, "Incorrect syntax near 'THROW'."},
		{"rollback before THROW", "BEGIN TRY SELECT 1 END TRY BEGIN CATCH ROLLBACK THROW END CATCH", 102, 1, "Incorrect syntax near 'THROW'."},
		{"top of a variable", "SELECT TOP @n 1", 102, 1, "Incorrect syntax near '@n'."},
		{"insert top without parentheses", "INSERT TOP 1 t VALUES (1)", 102, 1, "Incorrect syntax near '1'."},
		{"an expression as an argument", "EXEC p @a + 1", 102, 1, "Incorrect syntax near '+'."},
		{"an alias of an assignment", "SELECT @a = 1 b", 102, 1, "Incorrect syntax near 'b'."},
		{"order by in parentheses", "(SELECT 1 ORDER BY 1) UNION SELECT 2", 156, 1, "Incorrect syntax near the keyword 'ORDER'."},
		{"offset without order by", "SELECT 1 FROM t OFFSET 1 ROWS", 102, 1, ""},
		{"a derived table without a name", "SELECT * FROM (SELECT 1 a)", 102, 1, "Incorrect syntax near ')'."},
		{"join without on", "SELECT * FROM a JOIN b WHERE 1=1", 156, 1, "Incorrect syntax near the keyword 'WHERE'."},
		{"cross join with on", "SELECT * FROM a CROSS JOIN b ON 1=1", 156, 1, "Incorrect syntax near the keyword 'ON'."},
		{"an unknown isolation level", "SET TRANSACTION ISOLATION LEVEL CHAOS", 102, 1, "Incorrect syntax near 'CHAOS'."},
		{"go in a batch", "SELECT 1 FROM t u\nGO\nSELECT 2", 102, 2, "Incorrect syntax near 'GO'."},
		{"a lone sign", "SELECT 1 WHERE a ! b", 4145, 1, "An expression of non-boolean type specified in a context where a condition is expected, near '!'."},
		{"a window that is not there", "SELECT SUM(a) OVER w FROM t", 102, 1, "Incorrect syntax near 'w'."},
		{"windows in a circle", "SELECT 1 FROM t WINDOW a AS (b), b AS (a)", 102, 1, ""},
		{"statements after a view", "CREATE VIEW v AS SELECT 1 a\nSELECT 2", 156, 2, "Incorrect syntax near the keyword 'SELECT'."},
		{"statements after a function", "CREATE FUNCTION f() RETURNS int AS BEGIN RETURN 1 END\nSELECT 2", 156, 2, ""},
		{"a procedure without a body", "CREATE PROCEDURE p AS", 102, 1, "Incorrect syntax near 'AS'."},
		{"a comma too many", "CREATE TABLE t (a int,\n, b int)", 102, 2, "Incorrect syntax near ','."},
		{"a create of nothing known", "CREATE GIZMO g", 102, 1, "Incorrect syntax near 'GIZMO'."},

		// Tokens.
		{"an unclosed string", "SELECT 1,\n'abc\ndef", 105, 2, "Unclosed quotation mark after the character string 'abc\ndef'."},
		{"an unclosed string behind another error", "SELECT FROM 'abc", 156, 1, ""},
		{"an unclosed comment", "SELECT 1\n/* a /* b */\n", 113, 2, "Missing end comment mark '*/'."},
		{"a long name", "SELECT 1 AS\n" + long, 103, 2, "The identifier that starts with '" + long[:128] + "' is too long. Maximum length is 128."},
		{"a long quoted name", "SELECT 1 AS [" + long + "]", 103, 1, ""},
		{"a long variable", "DECLARE @" + long + " int", 103, 1, ""},
		{"an empty name", `SELECT 1 AS ""`, 1038, 1, ""},

		// What stands where it may not.
		{"procedure not first", "SELECT 1;\nCREATE PROCEDURE p AS SELECT 1", 111, 2, "'CREATE/ALTER PROCEDURE' must be the first statement in a query batch."},
		{"view not first", "SELECT 1 ALTER VIEW v AS SELECT 1 a", 111, 1, "'ALTER VIEW' must be the first statement in a query batch."},
		{"schema not first", "SELECT 1; CREATE SCHEMA s", 111, 1, "'CREATE SCHEMA' must be the first statement in a query batch."},
		{"a view in a block", "IF 1=1\nCREATE VIEW v AS SELECT 1 a", 156, 2, "Incorrect syntax near the keyword 'VIEW'."},
		{"a value of RETURN in a batch", "SELECT 1\nRETURN 5", 178, 2, ""},
		{"a value of RETURN in a trigger", "CREATE TRIGGER a ON t FOR INSERT AS RETURN 5", 178, 1, ""},
		{"a value of RETURN in a table function", "CREATE FUNCTION f() RETURNS @t TABLE (a int) AS BEGIN RETURN 5 END", 178, 1, ""},
		{"a function without RETURN", "CREATE FUNCTION f() RETURNS int AS BEGIN DECLARE @a int END", 455, 1, ""},
		{"break outside a loop", "IF 1=1 BREAK", 135, 1, ""},
		{"continue outside a loop", "WHILE 1=1 SELECT 1\nCONTINUE", 136, 2, ""},
		{"a bare THROW outside CATCH", "SELECT 1;\nTHROW", 10704, 2, ""},
		{"goto nowhere", "a: SELECT 1\nGOTO b", 133, 2, "A GOTO statement references the label 'b' but the label has not been declared."},
		{"a label twice", "a: SELECT 1;\nA: SELECT 2", 132, 2, ""},
		{"a database before a procedure", "CREATE PROCEDURE db.dbo.p AS SELECT 1", 166, 1, "'CREATE/ALTER PROCEDURE' does not allow specifying the database name as a prefix to the object name."},
		{"too many parts", "SELECT * FROM a.b.c.d.e", 117, 1, ""},
		{"an unknown hint", "SELECT * FROM t WITH (NOLOK)", 321, 1, ""},
		{"an unknown SET option", "SET FOO ON", 195, 1, "'FOO' is not a recognized SET option."},
		{"merge without a semicolon", "MERGE t USING s ON 1=1 WHEN MATCHED THEN DELETE", 10713, 1, ""},
		{"merge that inserts what matches", "MERGE t USING s ON 1=1 WHEN MATCHED THEN INSERT DEFAULT VALUES;", 10710, 1, "An action of type 'INSERT' is not allowed in the 'WHEN MATCHED' clause of a MERGE statement."},
		{"merge that deletes what is not there", "MERGE t USING s ON 1=1 WHEN NOT MATCHED THEN DELETE;", 10710, 1, ""},
		{"rows of different lengths", "INSERT t VALUES (1, 2),\n(3)", 10709, 2, ""},
		{"too many rows", "INSERT t VALUES (1)" + strings.Repeat(", (1)", 1000), 10738, 1, ""},
		{"too many grouping sets", "SELECT 1 FROM t GROUP BY CUBE (a,b,c,d,e,f,g,h,i,j,k,l,m)", 10703, 1, "Too many grouping sets. The maximum number is 4096."},
		{"a value as a condition", "IF 1 SELECT 1", 4145, 1, "An expression of non-boolean type specified in a context where a condition is expected, near 'SELECT'."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, err := syntax.Parse(tt.text, quotedOn)
			if err == nil {
				t.Fatalf("Parse(%q) = %s, want error %d", tt.text, dump(b.Statements), tt.number)
			}
			e := asError(t, err)
			if e.Number != tt.number || e.Line != tt.line {
				t.Errorf("Parse(%q): got %v, want number %d on line %d", tt.text, e, tt.number, tt.line)
			}
			if tt.message != "" && e.Message != tt.message {
				t.Errorf("Parse(%q): got %q, want %q", tt.text, e.Message, tt.message)
			}
		})
	}
}
