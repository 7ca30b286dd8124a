package syntax_test

import (
	"testing"

	"loopbroker/engine/syntax"
)

func TestExpressions(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"precedence", "1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)"},
		{"bit operators bind like plus", "1 + 2 & 3 | 4 ^ 5", "(^ (| (& (+ 1 2) 3) 4) 5)"},
		{"sign before multiplication", "-1 * +2", "(* (- 1) (+ 2))"},
		{"tilde", "~a % 2", "(% (~ a) 2)"},
		{"parentheses stay", "(1 + 2) * 3", "(* Paren{X:(+ 1 2)} 3)"},
		{"and binds tighter than or", "a = 1 OR b = 2 AND c = 3", "(or (= a 1) (and (= b 2) (= c 3)))"},
		{"not binds tighter than and", "NOT a = 1 AND b = 2", "(and (not (= a 1)) (= b 2))"},
		{"condition in parentheses", "(a = 1 OR b = 2) AND c <> 3", "(and Paren{X:(or (= a 1) (= b 2))} (<> c 3))"},
		{"value in parentheses of a condition", "(a + 1) * 2 > 3", "(> (* Paren{X:(+ a 1)} 2) 3)"},
		{"comparisons", "a !< 1 AND b !> 2 AND c != 3", "(and (and (>= a 1) (<= b 2)) (<> c 3))"},
		{"blanks in comparisons", "a < = 1 AND b > = 2 AND c < > 3", "(and (and (<= a 1) (>= b 2)) (<> c 3))"},
		{"is null", "a IS NOT NULL OR b IS NULL", "(or IsNull{X:a Not:true} IsNull{X:b})"},
		{"is distinct", "a IS NOT DISTINCT FROM b + 1", "IsDistinct{L:a R:(+ b 1) Not:true}"},
		{"between", "a NOT BETWEEN 1 AND 2 + 3 AND b = 1", "(and Between{X:a Low:1 High:(+ 2 3) Not:true} (= b 1))"},
		{"in list", "a IN (1, @x, NULL)", "In{X:a List:[1 @x NULL]}"},
		{"in query", "a NOT IN (SELECT 1)", "In{X:a Query:Select{Items:[SelectItem{X:1}]} Not:true}"},
		{"in union", "a IN ((SELECT 1) UNION SELECT 2)", "In{X:a Query:SetOp{L:Select{Items:[SelectItem{X:1}]} R:Select{Items:[SelectItem{X:2}]}}}"},
		{"like", "a LIKE 'x%' ESCAPE '!'", "Like{X:a Pattern:'x%' Escape:'!'}"},
		{"like with an odbc escape", "a NOT LIKE N'x' {ESCAPE '!'}", "Like{X:a Pattern:N'x' Escape:'!' Not:true}"},
		{"quantified", "a > ALL (SELECT 1) AND b = SOME (SELECT 2)", "(and Quantified{Op:> All:true L:a Query:Select{Items:[SelectItem{X:1}]}} Quantified{Op:= L:b Query:Select{Items:[SelectItem{X:2}]}})"},
		{"exists", "NOT EXISTS (SELECT * FROM t)", "(not Exists{Query:Select{Items:[SelectItem{X:Star{}}] From:[TableRef{Name:t}]}})"},
		{"subquery", "(SELECT 1) + 1", "(+ Subquery{Query:Select{Items:[SelectItem{X:1}]}} 1)"},
		{"subquery of a union", "((SELECT 1) EXCEPT (SELECT 2))", "Subquery{Query:SetOp{Kind:2 L:Select{Items:[SelectItem{X:1}]} R:Select{Items:[SelectItem{X:2}]}}}"},
		{"simple case", "CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' ELSE 'z' END", "Case{Input:a Whens:[When{Cond:1 Then:'x'} When{Cond:2 Then:'y'}] Else:'z'}"},
		{"searched case", "CASE WHEN a = 1 AND b = 2 THEN 3 END", "Case{Whens:[When{Cond:(and (= a 1) (= b 2)) Then:3}]}"},
		{"collate", "a COLLATE Latin1_General_BIN2 + b", "(+ Collate{X:a Collation:Latin1_General_BIN2} b)"},
		{"at time zone", "d AT TIME ZONE 'UTC' AT TIME ZONE @z", "AtTimeZone{X:AtTimeZone{X:d Zone:'UTC'} Zone:@z}"},
		{"cast", "CAST(a AS decimal(10, 2))", "Cast{X:a Type:DataType{Name:decimal Args:[10 2]}}"},
		{"try_convert", "TRY_CONVERT(nvarchar(max), a, 126)", "Cast{Form:1 Try:true X:a Type:DataType{Name:nvarchar Max:true} Style:126}"},
		{"parse", "TRY_PARSE('1' AS int USING 'en-US')", "Cast{Form:2 Try:true X:'1' Type:DataType{Name:int} Style:'en-US'}"},
		{"call", "dbo.f(1, DEFAULT)", "Call{Name:dbo.f Args:[1 DEFAULT]}"},
		{"call with a reserved name", "LEFT(a, 1)", "Call{Name:LEFT Args:[a 1]}"},
		{"call without parentheses", "CURRENT_TIMESTAMP", "Call{Name:CURRENT_TIMESTAMP NoParens:true}"},
		{"count star", "COUNT(*)", "Call{Name:COUNT Args:[Star{}]}"},
		{"count distinct", "COUNT_BIG(DISTINCT a)", "Call{Name:COUNT_BIG Args:[a] Distinct:true}"},
		{"iif", "IIF(a > b AND c = d, a, b)", "Call{Name:IIF Args:[(and (> a b) (= c d)) a b]}"},
		{"date part", "DATEADD(day, -1, GETDATE())", "Call{Name:DATEADD Args:[day (- 1) Call{Name:GETDATE}]}"},
		{"trim", "TRIM(a)", "Call{Name:TRIM Args:[a]}"},
		{"trim characters", "TRIM('.' FROM a)", "Call{Name:TRIM Args:[a '.']}"},
		{"trim one side", "TRIM(TRAILING 'x' FROM a)", "Call{Name:RTRIM Args:[a 'x']}"},
		{"trim a column called leading", "TRIM(leading)", "Call{Name:TRIM Args:[leading]}"},
		{"over", "ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY c DESC, d)", "Call{Name:ROW_NUMBER Over:Over{PartitionBy:[a b] OrderBy:[OrderItem{X:c Desc:true} OrderItem{X:d}]}}"},
		{"frame", "SUM(a) OVER (ORDER BY b ROWS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING)", "Call{Name:SUM Args:[a] Over:Over{OrderBy:[OrderItem{X:b}] Frame:Frame{Start:FrameBound{Kind:1 Offset:2} End:FrameBound{Kind:4}}}}"},
		{"short frame", "SUM(a) OVER (ORDER BY b RANGE UNBOUNDED PRECEDING)", "Call{Name:SUM Args:[a] Over:Over{OrderBy:[OrderItem{X:b}] Frame:Frame{Range:true End:FrameBound{Kind:2}}}}"},
		{"within group", "STRING_AGG(a, ',') WITHIN GROUP (ORDER BY b)", "Call{Name:STRING_AGG Args:[a ','] Within:[OrderItem{X:b}]}"},
		{"next value", "NEXT VALUE FOR dbo.s OVER (ORDER BY a)", "NextValue{Sequence:dbo.s Over:Over{OrderBy:[OrderItem{X:a}]}}"},
		{"a column called next", "next + value", "(+ next value)"},
		{"method of a variable", "@x.value('(/a)[1]', 'int')", "Call{Name:value Args:['(/a)[1]' 'int'] Receiver:@x}"},
		{"method of a column", "t.c.query('.')", "Call{Name:query Args:['.'] Receiver:t.c}"},
		{"a function that is no method", "dbo.Query('.')", "Call{Name:dbo.Query Args:['.']}"},
		{"method of a subquery", "(SELECT a FOR XML PATH(''), TYPE).value('.', 'int')", `Call{Name:value Args:['.' 'int'] Receiver:Subquery{Query:Select{Items:[SelectItem{X:a}] For:ForClause{XML:true Mode:"PATH" ElementName:"" Type:true}}}}`},
		{"odbc function", "{fn NOW()}", "Call{Name:NOW}"},
		{"odbc timestamp", "{ts '2020-01-01 00:00:00'}", "Cast{X:'2020-01-01 00:00:00' Type:DataType{Name:datetime}}"},
		{"names", "srv.db.dbo.t", "srv.db.dbo.t"},
		{"names with gaps", "db..t.c", "db..t.c"},
		{"quoted names", `[a b]."c]d".[e]]f]`, "[a b].[c]d].[e]f]"},
		{"pseudo columns", "$IDENTITY", "$IDENTITY"},
		{"old pseudo columns", "t.IDENTITYCOL", "t.$IDENTITY"},
		{"global", "@@rowcount", "@@ROWCOUNT"},
		{"a variable that looks global", "@@mine", "@@mine"},
		{"money", "$1.50", "$1.50"},
		{"money in another currency", "€2", "$2"},
		{"lonely money sign", "$", "$0"},
		{"decimal", "1. + .5", "(+ decimal:1 decimal:.5)"},
		{"float", "1e + 1.5E-3", "(+ float:1e0 float:1.5E-3)"},
		{"binary", "0x + 0XaB", "(+ 0x 0xaB)"},
		{"string", "'it''s'", "'it's'"},
		{"national string", "n'it''s'", "N'it's'"},
		{"string over two lines", "'ab\\\ncd'", "'abcd'"},
		{"binary over two lines", "0xab\\\r\ncd", "0xabcd"},
		{"comments", "1 /* a /* b */ c */ + -- d\n 2", "(+ 1 2)"},
		{"contextual words", "message + queue + type + state + priority + service + work + output + offset",
			"(+ (+ (+ (+ (+ (+ (+ (+ message queue) type) state) priority) service) work) output) offset)"},
		{"letters of any script", "größe + Имя + 表", "(+ (+ größe Имя) 表)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x, err := syntax.ParseExpr(tt.text, quotedOn)
			if err != nil {
				t.Fatalf("ParseExpr(%q): %v", tt.text, err)
			}
			if got := dump(x); got != tt.want {
				t.Errorf("ParseExpr(%q)\n got %s\nwant %s", tt.text, got, tt.want)
			}
		})
	}
}

func TestExpressionsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		number     int32
		message    string
	}{
		{"nothing", "", 102, "Incorrect syntax near ''."},
		{"two values", "1 2", 102, "Incorrect syntax near '2'."},
		{"a chain of comparisons", "a = b = c", 102, "Incorrect syntax near '='."},
		{"a value where a condition belongs", "a AND b = 1", 4145, "An expression of non-boolean type specified in a context where a condition is expected, near 'AND'."},
		{"a value at the end", "b = 1 OR a", 4145, "An expression of non-boolean type specified in a context where a condition is expected, near 'a'."},
		{"a condition where a value belongs", "ABS(a = 1)", 102, "Incorrect syntax near '='."},
		{"a condition as a value", "1 + (a = 1)", 102, "Incorrect syntax near '='."},
		{"exists as a value", "1 + EXISTS (SELECT 1)", 156, "Incorrect syntax near the keyword 'EXISTS'."},
		{"a keyword as a name", "table + 1", 156, "Incorrect syntax near the keyword 'table'."},
		{"five parts", "a.b.c.d.e", 117, "The object name 'a.b.c.d.e' contains more than the maximum number of prefixes. The maximum is 3."},
		{"case without when", "CASE a END", 156, "Incorrect syntax near the keyword 'END'."},
		{"sum of star", "SUM(*)", 102, "Incorrect syntax near '*'."},
		{"a star alone", "*", 102, "Incorrect syntax near '*'."},
		{"a default", "DEFAULT", 156, "Incorrect syntax near the keyword 'DEFAULT'."},
		{"empty quotes", "[]", 1038, ""},
		{"unclosed bracket", "[abc", 105, "Unclosed quotation mark after the character string 'abc'."},
		{"unclosed national string", "N'abc", 105, "Unclosed quotation mark after the character string 'abc'."},
		{"a string of a literal", "'a'.b", 102, "Incorrect syntax near '.'."},
		{"an unknown sign", "1 ? 2", 102, "Incorrect syntax near '?'."},
		{"a feature that is missing", "JSON_OBJECT('a': 1)", 40510, "'JSON_OBJECT' is not supported by the embedded engine."},
		{"shift", "1 << 2", 40510, "'shift operators' is not supported by the embedded engine."},
		{"a static method", "geography::Point(1, 2, 4326)", 40510, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x, err := syntax.ParseExpr(tt.text, quotedOn)
			if err == nil {
				t.Fatalf("ParseExpr(%q) = %s, want error %d", tt.text, dump(x), tt.number)
			}
			e := asError(t, err)
			if e.Number != tt.number || e.Line != 1 {
				t.Errorf("ParseExpr(%q): got %v, want number %d on line 1", tt.text, e, tt.number)
			}
			if tt.message != "" && e.Message != tt.message {
				t.Errorf("ParseExpr(%q): got %q, want %q", tt.text, e.Message, tt.message)
			}
		})
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"", "[]"},
		{"@a int", `[Parameter{Name:"@a" Type:DataType{Name:int}}]`},
		{"@a int = 1, @b nvarchar(max) OUTPUT", `[Parameter{Name:"@a" Type:DataType{Name:int} Default:1} Parameter{Name:"@b" Type:DataType{Name:nvarchar Max:true} Output:true}]`},
	} {
		got, err := syntax.ParseParameters(tt.text, quotedOn)
		if err != nil {
			t.Errorf("ParseParameters(%q): %v", tt.text, err)
		} else if dump(got) != tt.want {
			t.Errorf("ParseParameters(%q)\n got %s\nwant %s", tt.text, dump(got), tt.want)
		}
	}
	for _, bad := range []string{"a int", "@a", "@a int,", "@a int @b int"} {
		if got, err := syntax.ParseParameters(bad, quotedOn); err == nil {
			t.Errorf("ParseParameters(%q) = %s, want an error", bad, dump(got))
		}
	}
}

func TestDataTypes(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"int", "DataType{Name:int}"},
		{"[int]", "DataType{Name:[int]}"},
		{"nvarchar(max)", "DataType{Name:nvarchar Max:true}"},
		{"decimal(18,2)", "DataType{Name:decimal Args:[18 2]}"},
		{"dbo.IdList", "DataType{Name:dbo.IdList}"},
		{"double precision", "DataType{Name:float}"},
		{"national character varying(10)", "DataType{Name:nvarchar Args:[10]}"},
		{"national text", "DataType{Name:ntext}"},
		{"char varying(5)", "DataType{Name:varchar Args:[5]}"},
		{"binary varying(max)", "DataType{Name:varbinary Max:true}"},
		{"cursor", "DataType{Name:cursor Cursor:true}"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := syntax.ParseDataType(tt.text, quotedOn)
			if err != nil {
				t.Fatalf("ParseDataType(%q): %v", tt.text, err)
			}
			if dump(got) != tt.want {
				t.Errorf("ParseDataType(%q)\n got %s\nwant %s", tt.text, dump(got), tt.want)
			}
		})
	}
	for _, bad := range []string{"", "int int", "decimal(1,2,3)", "table", "national float", "varchar(-1)", "xml(a)"} {
		if got, err := syntax.ParseDataType(bad, quotedOn); err == nil {
			t.Errorf("ParseDataType(%q) = %s, want an error", bad, dump(got))
		}
	}
}
