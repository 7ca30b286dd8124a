package syntax_test

import (
	"testing"

	"loopbroker/engine/syntax"
)

type treeTest struct{ name, text, want string }

// checkTrees parses each text and compares the statements with their dumps.
func checkTrees(t *testing.T, tests []treeTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, err := syntax.Parse(tt.text, quotedOn)
			if err != nil {
				t.Fatalf("Parse(%q): %v", tt.text, err)
			}
			got := ""
			for i, s := range b.Statements {
				if i > 0 {
					got += "; "
				}
				got += dump(s)
			}
			if got != tt.want {
				t.Errorf("Parse(%q)\n got %s\nwant %s", tt.text, got, tt.want)
			}
			roundTrip(t, tt.text)
		})
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	checkTrees(t, []treeTest{
		{"aliases", "SELECT a b, c AS [d], e = f, 'g' = h, i 'j', k AS \"l\" FROM t u",
			"SelectStmt{Query:Select{Items:[SelectItem{X:a Alias:b} SelectItem{X:c Alias:[d]} SelectItem{X:f Alias:e} SelectItem{X:h Alias:[g]} SelectItem{X:i Alias:[j]} SelectItem{X:k Alias:[l]}] From:[TableRef{Name:t Alias:u}]}}"},
		{"stars", "SELECT *, t.*, a.b.t.*", "SelectStmt{Query:Select{Items:[SelectItem{X:Star{}} SelectItem{X:Star{Qualifier:[t]}} SelectItem{X:Star{Qualifier:[a b t]}}]}}"},
		{"assignments", "SELECT @a = 1, @b += c FROM t", `SelectStmt{Query:Select{Items:[SelectItem{X:1 Assign:"@a"} SelectItem{X:c Assign:"@b" AssignOp:+}] From:[TableRef{Name:t}]}}`},
		{"top", "SELECT DISTINCT TOP (@n) PERCENT WITH TIES a INTO #x FROM t WHERE a = 1 ORDER BY a",
			"SelectStmt{Query:Select{Distinct:true Top:Top{N:@n Percent:true WithTies:true} Items:[SelectItem{X:a}] Into:#x From:[TableRef{Name:t}] Where:(= a 1) OrderBy:[OrderItem{X:a}]}}"},
		{"bare top before a star", "SELECT TOP 5 * FROM t", "SelectStmt{Query:Select{Top:Top{N:5} Items:[SelectItem{X:Star{}}] From:[TableRef{Name:t}]}}"},
		{"offset", "SELECT a FROM t ORDER BY a DESC OFFSET @n ROWS FETCH NEXT 5 ROWS ONLY",
			"SelectStmt{Query:Select{Items:[SelectItem{X:a}] From:[TableRef{Name:t}] OrderBy:[OrderItem{X:a Desc:true}] Offset:@n Fetch:5}}"},
		{"intersect binds tighter", "SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4 ORDER BY 1",
			"SelectStmt{Query:SetOp{Kind:2 L:SetOp{Kind:1 L:Select{Items:[SelectItem{X:1}]} R:SetOp{Kind:3 L:Select{Items:[SelectItem{X:2}]} R:Select{Items:[SelectItem{X:3}]}}} R:Select{Items:[SelectItem{X:4}]} OrderBy:[OrderItem{X:1}]}}"},
		{"parentheses win", "(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3",
			"SelectStmt{Query:SetOp{Kind:3 L:SetOp{L:Select{Items:[SelectItem{X:1}]} R:Select{Items:[SelectItem{X:2}]}} R:Select{Items:[SelectItem{X:3}]}}}"},
		{"joins nest to the right", "SELECT 1 FROM a JOIN b LEFT JOIN c ON b.x = c.x ON a.x = b.x",
			"SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[Join{L:TableRef{Name:a} R:Join{Kind:1 L:TableRef{Name:b} R:TableRef{Name:c} On:(= b.x c.x)} On:(= a.x b.x)}]}}"},
		{"join kinds", "SELECT 1 FROM a INNER HASH JOIN b ON 1=1 FULL OUTER JOIN c ON 1=1 CROSS JOIN d CROSS APPLY f(1) x OUTER APPLY (SELECT 1) y (z), e",
			`SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[Join{Kind:6 L:Join{Kind:5 L:Join{Kind:4 L:Join{Kind:3 L:Join{L:TableRef{Name:a} R:TableRef{Name:b} On:(= 1 1) Hint:"HASH"} R:TableRef{Name:c} On:(= 1 1)} R:TableRef{Name:d}} R:TableFunc{Call:Call{Name:f Args:[1]} Alias:x}} R:DerivedTable{Query:Select{Items:[SelectItem{X:1}]} Alias:y Columns:[z]}} TableRef{Name:e}]}}`},
		{"derived tables in parentheses", "SELECT 1 FROM ((SELECT 1 a) UNION (SELECT 2)) x, ((SELECT 3 b) AS y JOIN t ON 1=1), (VALUES (1, 2), (3, 4)) v (p, q)",
			"SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[DerivedTable{Query:SetOp{L:Select{Items:[SelectItem{X:1 Alias:a}]} R:Select{Items:[SelectItem{X:2}]}} Alias:x} ParenTable{X:Join{L:DerivedTable{Query:Select{Items:[SelectItem{X:3 Alias:b}]} Alias:y} R:TableRef{Name:t} On:(= 1 1)}} DerivedTable{Query:ValuesQuery{Rows:[[1 2] [3 4]]} Alias:v Columns:[p q]}]}}"},
		{"hints", "SELECT 1 FROM t AS a WITH (UPDLOCK ROWLOCK, INDEX(i, 2)), u (NOLOCK), v (NOLOCK) w, x HOLDLOCK, y WITH (INDEX = z) b",
			`SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:t Alias:a Hints:[Hint{Name:"UPDLOCK"} Hint{Name:"ROWLOCK"} Hint{Name:"INDEX" Args:[i 2]}]} TableRef{Name:u Hints:[Hint{Name:"NOLOCK"}]} TableRef{Name:v Alias:w Hints:[Hint{Name:"NOLOCK"}]} TableRef{Name:x Hints:[Hint{Name:"HOLDLOCK"}]} TableRef{Name:y Alias:b Hints:[Hint{Name:"INDEX" Args:[z]}]}]}}`},
		{"a hint without parentheses is an alias", "SELECT 1 FROM t NOLOCK", "SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:t Alias:NOLOCK}]}}"},
		{"table variables", "SELECT 1 FROM @t AS x WITH (NOLOCK), @x.nodes('/a') AS n(c)",
			`SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[VariableRef{Name:"@t" Alias:x Hints:[Hint{Name:"NOLOCK"}]} TableFunc{Call:Call{Name:nodes Args:['/a'] Receiver:@x} Alias:n Columns:[c]}]}}`},
		{"four parts", "SELECT 1 FROM srv.db..t, db..u", "SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:srv.db..t} TableRef{Name:db..u}]}}"},
		{"openjson", "SELECT 1 FROM OPENJSON(@j, '$.a') WITH (x int '$.b', y nvarchar(max) AS JSON) j",
			`SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableFunc{Call:Call{Name:OPENJSON Args:[@j '$.a']} Alias:j With:[OpenJSONColumn{Name:x Type:DataType{Name:int} Path:"$.b"} OpenJSONColumn{Name:y Type:DataType{Name:nvarchar Max:true} AsJSON:true}]}]}}`},
		{"openquery", "SELECT * FROM OPENQUERY([s], 'select 1') q", "SelectStmt{Query:Select{Items:[SelectItem{X:Star{}}] From:[TableFunc{Call:Call{Name:OPENQUERY Args:[[s] 'select 1']} Alias:q}]}}"},
		{"pivot", "SELECT 1 FROM s PIVOT (SUM(a) FOR q IN ([1], [2])) p UNPIVOT (v FOR c IN (x, y)) AS u",
			"SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[Pivot{X:Pivot{X:TableRef{Name:s} Agg:Call{Name:SUM Args:[a]} For:q In:[[1] [2]] Alias:p} Unpivot:true ValueCol:v For:c In:[x y] Alias:u}]}}"},
		{"group by", "SELECT 1 FROM t GROUP BY a, b HAVING COUNT(*) > 1",
			"SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:t}] GroupBy:GroupBy{Items:[a b]} Having:(> Call{Name:COUNT Args:[Star{}]} 1)}}"},
		{"rollup", "SELECT 1 FROM t GROUP BY ROLLUP (a, (b, c))", "SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:t}] GroupBy:GroupBy{Sets:[[a b c] [a] []]}}}"},
		{"with rollup", "SELECT 1 FROM t GROUP BY a, b WITH ROLLUP", "SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:t}] GroupBy:GroupBy{Sets:[[a b] [a] []]}}}"},
		{"cube", "SELECT 1 FROM t GROUP BY CUBE (a, b)", "SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:t}] GroupBy:GroupBy{Sets:[[a b] [a] [b] []]}}}"},
		{"grouping sets multiply", "SELECT 1 FROM t GROUP BY a, GROUPING SETS ((b, c), d, ())",
			"SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:t}] GroupBy:GroupBy{Sets:[[a b c] [a d] [a]]}}}"},
		{"windows", "SELECT SUM(a) OVER w, SUM(b) OVER (v ORDER BY c) FROM t WINDOW w AS (v ORDER BY d), v AS (PARTITION BY e)",
			"SelectStmt{Query:Select{Items:[SelectItem{X:Call{Name:SUM Args:[a] Over:Over{PartitionBy:[e] OrderBy:[OrderItem{X:d}]}}} SelectItem{X:Call{Name:SUM Args:[b] Over:Over{PartitionBy:[e] OrderBy:[OrderItem{X:c}]}}}] From:[TableRef{Name:t}]}}"},
		{"for json", "SELECT a FROM t FOR JSON PATH, ROOT('r'), INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER OPTION (MAXDOP 1)",
			`SelectStmt{Query:Select{Items:[SelectItem{X:a}] From:[TableRef{Name:t}] For:ForClause{Mode:"PATH" Root:"r" IncludeNullValues:true WithoutArrayWrapper:true}} Option:[QueryHint{Name:"MAXDOP" Args:[1]}]}`},
		{"for xml", "SELECT a FROM t FOR XML PATH('x'), ROOT, TYPE, ELEMENTS", `SelectStmt{Query:Select{Items:[SelectItem{X:a}] From:[TableRef{Name:t}] For:ForClause{XML:true Mode:"PATH" ElementName:"x" Root:"" Type:true Elements:true}}}`},
		{"common tables", "WITH a (x) AS (SELECT 1), b AS (SELECT 2 y UNION ALL SELECT y FROM b) SELECT 1 FROM a OPTION (MAXRECURSION 5, OPTIMIZE FOR (@p = 1, @q UNKNOWN), KEEPFIXED PLAN)",
			`SelectStmt{With:[CTE{Name:a Columns:[x] Query:Select{Items:[SelectItem{X:1}]}} CTE{Name:b Query:SetOp{Kind:1 L:Select{Items:[SelectItem{X:2 Alias:y}]} R:Select{Items:[SelectItem{X:y}] From:[TableRef{Name:b}]}}}] Query:Select{Items:[SelectItem{X:1}] From:[TableRef{Name:a}]} Option:[QueryHint{Name:"MAXRECURSION" Args:[5]} QueryHint{Name:"OPTIMIZE FOR" Args:[(= @p 1) @q]} QueryHint{Name:"KEEPFIXED PLAN"}]}`},
		{"odbc outer join", "SELECT 1 FROM {oj a LEFT JOIN b ON 1=1}", "SelectStmt{Query:Select{Items:[SelectItem{X:1}] From:[Join{Kind:1 L:TableRef{Name:a} R:TableRef{Name:b} On:(= 1 1)}]}}"},
	})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	checkTrees(t, []treeTest{
		{"insert values", "INSERT TOP (3) INTO dbo.t WITH (TABLOCK) (a, b) OUTPUT inserted.a AS x INTO @o (x) VALUES (1, DEFAULT), (NULL, 2)",
			`Insert{Top:Top{N:3} Target:TableRef{Name:dbo.t Hints:[Hint{Name:"TABLOCK"}]} Columns:[a b] Output:Output{Items:[SelectItem{X:inserted.a Alias:x}] Into:VariableRef{Name:"@o"} IntoColumns:[x]} Query:ValuesQuery{Rows:[[1 DEFAULT] [NULL 2]]}}`},
		{"insert default values", "INSERT t DEFAULT VALUES", "Insert{Target:TableRef{Name:t}}"},
		{"insert select in parentheses", "INSERT t (SELECT 1)", "Insert{Target:TableRef{Name:t} Query:Select{Items:[SelectItem{X:1}]}}"},
		{"insert exec", "INSERT #t (a) EXEC p 1, @b = 2", `Insert{Target:TableRef{Name:#t} Columns:[a] Exec:Exec{Proc:p Args:[ExecArg{X:1} ExecArg{Name:"@b" X:2}]}}`},
		{"insert with a common table", "WITH c AS (SELECT 1 a) INSERT @t SELECT a FROM c", `Insert{With:[CTE{Name:c Query:Select{Items:[SelectItem{X:1 Alias:a}]}}] Target:VariableRef{Name:"@t"} Query:Select{Items:[SelectItem{X:a}] From:[TableRef{Name:c}]}}`},
		{"insert bulk", "INSERT BULK [t] ([a] int, [b] nvarchar(5) COLLATE X) WITH (ORDER (a ASC), TABLOCK, ROWS_PER_BATCH = 10)",
			`InsertBulk{Table:[t] Columns:[ColumnDef{Name:[a] Type:DataType{Name:int}} ColumnDef{Name:[b] Type:DataType{Name:nvarchar Args:[5]} Collation:X}] Options:[IndexOption{Name:"ORDER" Value:"(A ASC)"} IndexOption{Name:"TABLOCK" Value:"ON"} IndexOption{Name:"ROWS_PER_BATCH" Value:"10"}]}`},
		{"update", "UPDATE TOP (1) q WITH (READPAST) SET q.a = 1, b += 2, @c = 3, @d = e = 4, f = DEFAULT OUTPUT deleted.* FROM t AS q WHERE a = 0 OPTION (RECOMPILE)",
			`Update{Top:Top{N:1} Target:TableRef{Name:q Hints:[Hint{Name:"READPAST"}]} Set:[SetClause{Column:q.a X:1} SetClause{Column:b Op:+ X:2} SetClause{Variable:"@c" X:3} SetClause{Column:e Variable:"@d" X:4} SetClause{Column:f X:DEFAULT}] Output:Output{Items:[SelectItem{X:Star{Qualifier:[deleted]}}]} From:[TableRef{Name:t Alias:q}] Where:(= a 0) Option:[QueryHint{Name:"RECOMPILE"}]}`},
		{"update write", "UPDATE t SET c.WRITE(N'x', 0, NULL) WHERE CURRENT OF cur", `Update{Target:TableRef{Name:t} Set:[SetClause{Column:c Method:Call{Name:WRITE Args:[N'x' 0 NULL] Receiver:c}}] CurrentOf:"cur"}`},
		{"delete", "DELETE TOP (5) FROM a OUTPUT deleted.x INTO dbo.b FROM a JOIN c ON 1=1 WHERE x = 1",
			"Delete{Top:Top{N:5} Target:TableRef{Name:a} Output:Output{Items:[SelectItem{X:deleted.x}] Into:TableRef{Name:dbo.b}} From:[Join{L:TableRef{Name:a} R:TableRef{Name:c} On:(= 1 1)}] Where:(= x 1)}"},
		{"merge", "MERGE dbo.t WITH (HOLDLOCK) AS x USING s ON x.a = s.a WHEN MATCHED AND s.b = 0 THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET b = 1 OUTPUT $action;",
			`Merge{Target:TableRef{Name:dbo.t Alias:x Hints:[Hint{Name:"HOLDLOCK"}]} Source:TableRef{Name:s} On:(= x.a s.a) Actions:[MergeAction{And:(= s.b 0) Delete:true} MergeAction{Match:1 Insert:MergeInsert{Columns:[a] Values:[s.a]}} MergeAction{Match:2 Update:[SetClause{Column:b X:1}]}] Output:Output{Items:[SelectItem{X:$action}]}}`},
		{"truncate", "TRUNCATE TABLE dbo.t", "Truncate{Table:dbo.t}"},
	})
}

func TestControlFlow(t *testing.T) {
	t.Parallel()
	checkTrees(t, []treeTest{
		{"if with semicolons", "IF 1=1 SELECT 1; ELSE IF 2=2 SELECT 2 ELSE BEGIN SELECT 3 END",
			"If{Cond:(= 1 1) Then:SelectStmt{Query:Select{Items:[SelectItem{X:1}]}} Else:If{Cond:(= 2 2) Then:SelectStmt{Query:Select{Items:[SelectItem{X:2}]}} Else:Block{Body:[SelectStmt{Query:Select{Items:[SelectItem{X:3}]}}]}}}"},
		{"while", "WHILE @a < 3 BEGIN SET @a += 1; IF @a = 2 BREAK; CONTINUE END", `While{Cond:(< @a 3) Body:Block{Body:[SetVariable{Name:"@a" Op:+ X:1} If{Cond:(= @a 2) Then:Break{}} Continue{}]}}`},
		{"try", "BEGIN TRY PRINT 'a' END TRY BEGIN CATCH THROW END CATCH", "TryCatch{Try:[Print{X:'a'}] Catch:[Throw{}]}"},
		{"an empty catch", "BEGIN TRY THROW 50001, N'x', @s END TRY BEGIN CATCH END CATCH;", "TryCatch{Try:[Throw{Number:50001 Message:N'x' State:@s}]}"},
		{"labels", "a: GOTO a", "Label{Name:a}; Goto{Label:a}"},
		{"throw after what cannot go on", "IF 1=1 THROW 50000, 'a', 1; ELSE THROW 50001, 'b', 1; BEGIN THROW 50002, 'c', 1 END; l: THROW 50003, 'd', 1",
			"If{Cond:(= 1 1) Then:Throw{Number:50000 Message:'a' State:1} Else:Throw{Number:50001 Message:'b' State:1}}; Block{Body:[Throw{Number:50002 Message:'c' State:1}]}; Label{Name:l}; Throw{Number:50003 Message:'d' State:1}"},
		{"declare", "DECLARE @a int = 1, @b AS varchar(5), @t TABLE (x int), @c CURSOR",
			`Declare{Variables:[VariableDecl{Name:"@a" Type:DataType{Name:int} Init:1} VariableDecl{Name:"@b" Type:DataType{Name:varchar Args:[5]}} VariableDecl{Name:"@t" Table:TableBody{Columns:[ColumnDef{Name:x Type:DataType{Name:int}}]}} VariableDecl{Name:"@c" Type:DataType{Name:cursor Cursor:true}}]}`},
		{"transactions", "BEGIN TRAN a WITH MARK 'm'; COMMIT TRAN; ROLLBACK WORK; SAVE TRAN @s; BEGIN DISTRIBUTED TRANSACTION; COMMIT TRAN a WITH (DELAYED_DURABILITY = ON)",
			"BeginTran{Name:N'a' Mark:true MarkText:'m'}; CommitTran{}; RollbackTran{}; SaveTran{Name:@s}; BeginTran{Distributed:true}; CommitTran{Name:N'a' DelayedDurability:true}"},
		{"a word after ROLLBACK TRAN is its name", "BEGIN TRY PRINT 1 END TRY BEGIN CATCH ROLLBACK TRAN THROW END CATCH", "TryCatch{Try:[Print{X:1}] Catch:[RollbackTran{Name:N'THROW'}]}"},
		{"raiserror", "RAISERROR (N'a %s', 16, 1, @x, 5) WITH NOWAIT, LOG", "RaiseError{Message:N'a %s' Severity:16 State:1 Args:[@x 5] Log:true NoWait:true}"},
		{"waitfor", "WAITFOR DELAY '00:00:01' WAITFOR TIME @t", "WaitFor{X:'00:00:01'}; WaitFor{Time:true X:@t}"},
		{"exec", "EXEC @r = srv.db..p -1, 'x', @a OUT, DEFAULT, abc, @n = NULL WITH RECOMPILE",
			`Exec{Return:"@r" Proc:srv.db..p Args:[ExecArg{X:(- 1)} ExecArg{X:'x'} ExecArg{X:@a Output:true} ExecArg{X:DEFAULT} ExecArg{X:N'abc'} ExecArg{Name:"@n" X:NULL}] With:["RECOMPILE"]}`},
		{"exec of a name in a variable", "EXECUTE @p @x", `Exec{ProcVar:"@p" Args:[ExecArg{X:@x}]}`},
		{"exec of a string", "EXEC ('a' + @b, 5) AT srv EXEC (@s) AS USER = 'u'", `Exec{Args:[ExecArg{X:5}] Strings:['a' @b] Server:srv}; Exec{Strings:[@s] As:ExecuteContext{Kind:"USER" Name:'u'}}`},
		{"the first statement needs no exec", "sp_who 'active' EXEC p;1 2", "Exec{Proc:sp_who Args:[ExecArg{X:'active'}]}; Exec{Proc:p Args:[ExecArg{X:2}]}"},
		{"execute as", "EXECUTE AS LOGIN = 'l' WITH NO REVERT; EXEC AS CALLER; REVERT WITH COOKIE = @c",
			`ExecuteAs{Context:ExecuteContext{Kind:"LOGIN" Name:'l' NoRevert:true}}; ExecuteAs{Context:ExecuteContext{Kind:"CALLER"}}; Revert{Cookie:@c}`},
		{"set", "SET NOCOUNT, XACT_ABORT ON SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED SET LOCK_TIMEOUT -1 SET IDENTITY_INSERT dbo.t OFF SET DEADLOCK_PRIORITY LOW SET LANGUAGE us_english SET STATISTICS IO, TIME ON",
			`SetOption{Options:["NOCOUNT" "XACT_ABORT"] On:true}; SetOption{Options:["TRANSACTION ISOLATION LEVEL"] Words:"READ UNCOMMITTED"}; SetOption{Options:["LOCK_TIMEOUT"] Value:(- 1)}; SetOption{Options:["IDENTITY_INSERT"] Table:dbo.t}; SetOption{Options:["DEADLOCK_PRIORITY"] Words:"LOW"}; SetOption{Options:["LANGUAGE"] Value:N'us_english'}; SetOption{Options:["STATISTICS IO" "STATISTICS TIME"] On:true}`},
		{"cursors", "DECLARE c SCROLL CURSOR FOR SELECT 1 FOR UPDATE OF a; OPEN GLOBAL c; FETCH ABSOLUTE -2 FROM c INTO @a, @b; FETCH c; CLOSE @c; DEALLOCATE c; SET @c = CURSOR LOCAL FOR SELECT 2",
			`DeclareCursor{Name:c Def:CursorDef{Options:["SCROLL"] Select:SelectStmt{Query:Select{Items:[SelectItem{X:1}]}} Update:[a] ForUpdate:true}}; CursorOp{Op:"OPEN" Name:"c" Global:true}; Fetch{Direction:"ABSOLUTE" N:(- 2) Name:"c" Into:["@a" "@b"]}; Fetch{Direction:"NEXT" Name:"c"}; CursorOp{Op:"CLOSE" Name:"@c"}; CursorOp{Op:"DEALLOCATE" Name:"c"}; SetVariable{Name:"@c" Cursor:CursorDef{Options:["LOCAL"] Select:SelectStmt{Query:Select{Items:[SelectItem{X:2}]}}}}`},
		{"the rest", "USE [m] KILL 55 CHECKPOINT RECONFIGURE WITH OVERRIDE RETURN", "Use{Database:[m]}; Kill{Session:55}; Checkpoint{}; Reconfigure{}; Return{}"},
		{"empty statements", ";;SELECT 1;;", "SelectStmt{Query:Select{Items:[SelectItem{X:1}]}}"},
		{"nothing", "-- nothing\n", ""},
	})
}
