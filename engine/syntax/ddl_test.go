package syntax_test

import (
	"strings"
	"testing"

	"loopbroker/engine/syntax"
)

func TestTables(t *testing.T) {
	t.Parallel()
	checkTrees(t, []treeTest{
		{"columns", "CREATE TABLE dbo.t (a int IDENTITY(1,-1) NOT NULL PRIMARY KEY, b AS (a * 2) PERSISTED NOT NULL, c nvarchar(5) COLLATE X NULL CONSTRAINT d DEFAULT (N'x') CHECK (c <> ''), e uniqueidentifier ROWGUIDCOL UNIQUE, INDEX i (a DESC) INCLUDE (c) WHERE a > 0) ON [PRIMARY] TEXTIMAGE_ON [PRIMARY] WITH (DATA_COMPRESSION = PAGE)",
			`CreateTable{Name:dbo.t Body:TableBody{Columns:[ColumnDef{Name:a Type:DataType{Name:int} Null:false Identity:IdentitySpec{Seed:1 Increment:(- 1)} Constraints:[Constraint{}]} ColumnDef{Name:b Computed:Paren{X:(* a 2)} Persisted:true Null:false} ColumnDef{Name:c Type:DataType{Name:nvarchar Args:[5]} Collation:X Null:true Constraints:[Constraint{Kind:4 Name:d Default:Paren{X:N'x'}} Constraint{Kind:3 Check:Paren{X:(<> c '')}}]} ColumnDef{Name:e Type:DataType{Name:uniqueidentifier} RowGUIDCol:true Constraints:[Constraint{Kind:1}]}] Indexes:[IndexDef{Name:i Columns:[IndexColumn{Name:a Desc:true}] Include:[c] Where:(> a 0)}]} Options:[IndexOption{Name:"DATA_COMPRESSION" Value:"PAGE"}] FileGroup:[PRIMARY] TextImageOn:[PRIMARY]}`},
		{"constraints", "CREATE TABLE t (a int, CONSTRAINT p PRIMARY KEY NONCLUSTERED (a ASC, b DESC) WITH (FILLFACTOR = 90), UNIQUE CLUSTERED (b), CONSTRAINT f FOREIGN KEY (a, b) REFERENCES dbo.u (c, d) ON DELETE SET NULL ON UPDATE NO ACTION, CHECK (a > 0),)",
			`CreateTable{Name:t Body:TableBody{Columns:[ColumnDef{Name:a Type:DataType{Name:int}}] Constraints:[Constraint{Name:p Clustered:false Columns:[IndexColumn{Name:a} IndexColumn{Name:b Desc:true}] Options:[IndexOption{Name:"FILLFACTOR" Value:"90"}]} Constraint{Kind:1 Clustered:true Columns:[IndexColumn{Name:b}]} Constraint{Kind:2 Name:f Columns:[IndexColumn{Name:a} IndexColumn{Name:b}] RefTable:dbo.u RefColumns:[c d] OnDelete:"SET NULL" OnUpdate:"NO ACTION"} Constraint{Kind:3 Check:Paren{X:(> a 0)}}]}}`},
		{"reference in a column", "CREATE TABLE t (a int REFERENCES u (b) ON DELETE CASCADE, timestamp)",
			`CreateTable{Name:t Body:TableBody{Columns:[ColumnDef{Name:a Type:DataType{Name:int} Constraints:[Constraint{Kind:2 RefTable:u RefColumns:[b] OnDelete:"CASCADE"}]} ColumnDef{Name:timestamp Type:DataType{Name:timestamp}}]}}`},
		{"create index", "CREATE UNIQUE CLUSTERED INDEX i ON dbo.t (a ASC, b DESC) INCLUDE (c, d) WHERE a = 1 WITH (ONLINE = ON, DROP_EXISTING = OFF) ON fg",
			`CreateIndex{Table:dbo.t Index:IndexDef{Name:i Unique:true Clustered:true Columns:[IndexColumn{Name:a} IndexColumn{Name:b Desc:true}] Include:[c d] Where:(= a 1) Options:[IndexOption{Name:"ONLINE" Value:"ON"} IndexOption{Name:"DROP_EXISTING" Value:"OFF"}] FileGroup:fg}}`},
		{"alter index", "ALTER INDEX ALL ON t REBUILD WITH (FILLFACTOR = 80) ALTER INDEX i ON t DISABLE", `AlterIndex{Name:ALL Table:t Action:"REBUILD" Options:[IndexOption{Name:"FILLFACTOR" Value:"80"}]}; AlterIndex{Name:i Table:t Action:"DISABLE"}`},
		{"alter table add", "ALTER TABLE t WITH NOCHECK ADD CONSTRAINT c CHECK (a > 0) ALTER TABLE t ADD a int, CONSTRAINT d DEFAULT 1 FOR b",
			"AlterTable{Table:t Action:AlterTableAction{AddConstraints:[Constraint{Kind:3 Name:c Check:Paren{X:(> a 0)} WithNoCheck:true}]}}; AlterTable{Table:t Action:AlterTableAction{AddColumns:[ColumnDef{Name:a Type:DataType{Name:int}}] AddConstraints:[Constraint{Kind:4 Name:d Default:1 ForColumn:b}]}}"},
		{"alter table", "ALTER TABLE t DROP CONSTRAINT IF EXISTS c, COLUMN d, e ALTER TABLE t ALTER COLUMN a nvarchar(5) COLLATE X NOT NULL ALTER TABLE t WITH CHECK CHECK CONSTRAINT ALL ALTER TABLE t NOCHECK CONSTRAINT c ALTER TABLE t SET (LOCK_ESCALATION = DISABLE) ALTER TABLE t DISABLE TRIGGER ALL",
			`AlterTable{Table:t Action:AlterTableAction{DropColumns:[d e] DropConstraints:[c] IfExists:true}}; AlterTable{Table:t Action:AlterTableAction{AlterColumn:ColumnDef{Name:a Type:DataType{Name:nvarchar Args:[5]} Collation:X Null:false}}}; AlterTable{Table:t Action:AlterTableAction{CheckAll:true WithCheck:true}}; AlterTable{Table:t Action:AlterTableAction{CheckConstraints:[c] NoCheck:true}}; AlterTable{Table:t Action:AlterTableAction{SetOptions:[IndexOption{Name:"LOCK_ESCALATION" Value:"DISABLE"}]}}; AlterTable{Table:t Action:AlterTableAction{TriggersAll:true DisableTrigger:true}}`},
		{"drop", "DROP TABLE IF EXISTS a, dbo.b DROP PROC c DROP INDEX i ON dbo.t, u.j DROP INDEX IF EXISTS k ON t WITH (ONLINE = ON, MOVE TO fg) DROP SCHEMA s",
			`Drop{Kind:"TABLE" IfExists:true Names:[a dbo.b]}; Drop{Kind:"PROCEDURE" Names:[c]}; Drop{Kind:"INDEX" Names:[i j] On:[dbo.t u] With:["" ""]}; Drop{Kind:"INDEX" IfExists:true Names:[k] On:[t] With:["(ONLINE = ON, MOVE TO fg)"]}; Drop{Kind:"SCHEMA" Names:[s]}`},
	})
}

func TestObjects(t *testing.T) {
	t.Parallel()
	checkTrees(t, []treeTest{
		{"sequences", "CREATE SEQUENCE dbo.s AS bigint START WITH -5 INCREMENT BY 1 MINVALUE 1 NO MAXVALUE NO CYCLE CACHE 50 ALTER SEQUENCE s RESTART WITH 3 NO CACHE",
			"CreateSequence{Name:dbo.s Type:DataType{Name:bigint} Options:SequenceOptions{StartWith:(- 5) IncrementBy:1 MinValue:1 NoMaxValue:true Cycle:false Cache:50}}; AlterSequence{Name:s Options:SequenceOptions{RestartWith:3 Restart:true NoCache:true}}"},
		{"synonym", "CREATE SYNONYM a.b FOR srv.db.dbo.t", "CreateSynonym{Name:a.b Target:srv.db.dbo.t}"},
		{"types", "CREATE TYPE dbo.a FROM varchar(20) NOT NULL CREATE TYPE b AS TABLE (x int NOT NULL PRIMARY KEY)",
			"CreateType{Name:dbo.a Base:DataType{Name:varchar Args:[20]} Null:false}; CreateType{Name:b Table:TableBody{Columns:[ColumnDef{Name:x Type:DataType{Name:int} Null:false Constraints:[Constraint{}]}]}}"},
		{"schemas", "CREATE SCHEMA a AUTHORIZATION dbo ALTER SCHEMA a TRANSFER TYPE::dbo.x", "CreateSchema{Name:a Owner:dbo}; AlterSchema{Schema:a Object:dbo.x}"},
		{"databases", "CREATE DATABASE a COLLATE b ALTER DATABASE a SET READ_COMMITTED_SNAPSHOT ON, RECOVERY SIMPLE WITH ROLLBACK IMMEDIATE ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 150, SINGLE_USER ALTER DATABASE a MODIFY NAME = b",
			`CreateDatabase{Name:a Collation:b}; AlterDatabase{Name:a Options:[IndexOption{Name:"READ_COMMITTED_SNAPSHOT" Value:"ON"} IndexOption{Name:"RECOVERY" Value:"SIMPLE"}] Termination:"ROLLBACK IMMEDIATE"}; AlterDatabase{Current:true Options:[IndexOption{Name:"COMPATIBILITY_LEVEL" Value:"150"} IndexOption{Name:"SINGLE_USER"}]}; AlterDatabase{Name:a ModifyName:b}`},
		{"logins", "CREATE LOGIN a WITH PASSWORD = N'p' MUST_CHANGE, DEFAULT_DATABASE = [m], CHECK_POLICY = OFF ALTER LOGIN a DISABLE ALTER LOGIN a WITH NAME = b CREATE LOGIN [d\\u] FROM WINDOWS",
			`CreateLogin{Name:a Password:"p" Options:[IndexOption{Name:"MUST_CHANGE" Value:"ON"} IndexOption{Name:"DEFAULT_DATABASE" Value:"m"} IndexOption{Name:"CHECK_POLICY" Value:"OFF"}]}; CreateLogin{Alter:true Name:a Disable:true}; CreateLogin{Alter:true Name:a Options:[IndexOption{Name:"NAME" Value:"b"}]}; CreateLogin{Name:[d\u] FromWindows:true}`},
		{"users", "CREATE USER a FOR LOGIN b WITH DEFAULT_SCHEMA = c CREATE USER d WITHOUT LOGIN ALTER USER a WITH NAME = e, LOGIN = f",
			"CreateUser{Name:a Login:b DefaultSchema:c}; CreateUser{Name:d WithoutLogin:true}; CreateUser{Alter:true Name:a Login:f NewName:e}"},
		{"roles", "CREATE ROLE a AUTHORIZATION b ALTER ROLE a ADD MEMBER c ALTER SERVER ROLE sysadmin DROP MEMBER d", "CreateRole{Name:a Owner:b}; AlterRole{Name:a Add:c}; AlterRole{Server:true Name:sysadmin Drop:d}"},
		{"permissions", "GRANT SELECT (a), EXEC ON SCHEMA::s TO r, public WITH GRANT OPTION DENY UPDATE ON dbo.t (b) TO u CASCADE REVOKE GRANT OPTION FOR ALL ON OBJECT::t FROM u GRANT VIEW SERVER STATE TO l",
			`Grant{Verb:"GRANT" Permissions:["SELECT" "EXECUTE"] Columns:[a] Class:"SCHEMA" On:s To:[r public] GrantOption:true}; Grant{Verb:"DENY" Permissions:["UPDATE"] Columns:[b] Class:"OBJECT" On:dbo.t To:[u] Cascade:true}; Grant{Verb:"REVOKE" Permissions:["ALL"] Class:"OBJECT" On:t To:[u] GrantOption:true}; Grant{Verb:"GRANT" Permissions:["VIEW SERVER STATE"] To:[l]}`},
		{"owners", "ALTER AUTHORIZATION ON SCHEMA::a TO b ALTER AUTHORIZATION ON dbo.t TO SCHEMA OWNER", `AlterAuthorization{Class:"SCHEMA" On:a To:b}; AlterAuthorization{Class:"OBJECT" On:dbo.t To:SCHEMA OWNER}`},
		{"triggers on and off", "DISABLE TRIGGER a.b, c ON t; ENABLE TRIGGER ALL ON dbo.t", "EnableTrigger{Names:[a.b c] Table:t}; EnableTrigger{Enable:true All:true Table:dbo.t}"},
	})
}

func TestModules(t *testing.T) {
	t.Parallel()
	checkTrees(t, []treeTest{
		{"procedure", "CREATE OR ALTER PROC dbo.p (@a int = -1, @b AS nvarchar(max) = abc OUT, @c dbo.l READONLY, @d CURSOR VARYING OUTPUT) WITH RECOMPILE, EXECUTE AS OWNER AS SELECT 1 RETURN 5",
			`CreateProcedure{Form:2 Name:dbo.p Params:[Parameter{Name:"@a" Type:DataType{Name:int} Default:(- 1)} Parameter{Name:"@b" Type:DataType{Name:nvarchar Max:true} Default:N'abc' Output:true} Parameter{Name:"@c" Type:DataType{Name:dbo.l} ReadOnly:true} Parameter{Name:"@d" Type:DataType{Name:cursor Cursor:true} Output:true Varying:true}] Options:ModuleOptions{ExecuteAs:ExecuteContext{Kind:"OWNER"} Recompile:true} Body:[SelectStmt{Query:Select{Items:[SelectItem{X:1}]}} Return{X:5}]}`},
		{"scalar function", "CREATE FUNCTION f (@a int) RETURNS int WITH SCHEMABINDING, RETURNS NULL ON NULL INPUT AS BEGIN RETURN @a + 1 END",
			`CreateFunction{Name:f Params:[Parameter{Name:"@a" Type:DataType{Name:int}}] Options:ModuleOptions{SchemaBinding:true ReturnsNullOnNullInput:true} Returns:DataType{Name:int} Body:[Return{X:(+ @a 1)}]}`},
		{"inline function", "ALTER FUNCTION f () RETURNS TABLE AS RETURN (WITH c AS (SELECT 1 a) SELECT a FROM c);",
			"CreateFunction{Form:1 Name:f Inline:true With:[CTE{Name:c Query:Select{Items:[SelectItem{X:1 Alias:a}]}}] Query:Select{Items:[SelectItem{X:a}] From:[TableRef{Name:c}]}}"},
		{"inline function of a union", "CREATE FUNCTION f () RETURNS TABLE RETURN ((SELECT 1 a) UNION SELECT 2)",
			"CreateFunction{Name:f Inline:true Query:SetOp{L:Select{Items:[SelectItem{X:1 Alias:a}]} R:Select{Items:[SelectItem{X:2}]}}}"},
		{"table function", "CREATE FUNCTION f () RETURNS @r TABLE (a int) BEGIN INSERT @r VALUES (1); RETURN; END",
			`CreateFunction{Name:f TableVar:"@r" Table:TableBody{Columns:[ColumnDef{Name:a Type:DataType{Name:int}}]} Body:[Insert{Target:VariableRef{Name:"@r"} Query:ValuesQuery{Rows:[[1]]}} Return{}]}`},
		{"view", "CREATE VIEW dbo.v (a, b) WITH SCHEMABINDING, VIEW_METADATA AS WITH c AS (SELECT 1 x) SELECT x, 2 FROM c WITH CHECK OPTION",
			"CreateView{Name:dbo.v Columns:[a b] Options:ModuleOptions{SchemaBinding:true ViewMetadata:true} With:[CTE{Name:c Query:Select{Items:[SelectItem{X:1 Alias:x}]}}] Query:Select{Items:[SelectItem{X:x} SelectItem{X:2}] From:[TableRef{Name:c}]} CheckOption:true}"},
		{"trigger", "CREATE TRIGGER a.tr ON a.t INSTEAD OF INSERT, DELETE AS IF UPDATE(c) OR COLUMNS_UPDATED() > 0 RETURN",
			"CreateTrigger{Name:a.tr Table:a.t InsteadOf:true Insert:true Delete:true Body:[If{Cond:(or Call{Name:UPDATE Args:[c] Predicate:true} (> Call{Name:COLUMNS_UPDATED} 0)) Then:Return{}}]}"},
	})
}

func TestModuleText(t *testing.T) {
	t.Parallel()
	text := "-- what it does\nCREATE PROCEDURE p AS\n\nSELECT 1 -- the end\n"
	s, err := syntax.ParseModule(text, quotedOn)
	if err != nil {
		t.Fatal(err)
	}
	p := s.(*syntax.CreateProcedure)
	if p.Text != text {
		t.Errorf("Text is %q, want %q", p.Text, text)
	}
	if p.Line != 2 || p.Body[0].At().Line != 4 {
		t.Errorf("procedure on line %d with a body on line %d, want 2 and 4", p.Line, p.Body[0].At().Line)
	}
	for name, bad := range map[string]string{
		"no module":   "SELECT 1",
		"nothing":     "",
		"two":         "CREATE VIEW v AS SELECT 1 a; SELECT 2",
		"unsupported": "CREATE TRIGGER t ON DATABASE FOR CREATE_TABLE AS SELECT 1",
	} {
		if s, err := syntax.ParseModule(bad, quotedOn); err == nil {
			t.Errorf("%s: ParseModule(%q) = %s, want an error", name, bad, dump(s))
		}
	}
}

func TestSourceTexts(t *testing.T) {
	t.Parallel()
	b := mustParse(t, "CREATE TABLE t (a int DEFAULT ( getdate() ) CHECK ( a>0 ), b AS a+ 1, INDEX i (a) WHERE a  IS NOT NULL)")
	body := b.Statements[0].(*syntax.CreateTable).Body
	for _, tt := range []struct{ name, got, want string }{
		{"default", body.Columns[0].Constraints[0].Text, "( getdate() )"},
		{"check", body.Columns[0].Constraints[1].Text, "( a>0 )"},
		{"computed", body.Columns[1].ComputedText, "a+ 1"},
		{"filter", body.Indexes[0].WhereText, "a  IS NOT NULL"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, feature string }{
		{"CREATE QUEUE q WITH STATUS = ON", "CREATE QUEUE"},
		{"SEND ON CONVERSATION @h (N'x')", "SEND"},
		{"RECEIVE TOP (1) * FROM q", "RECEIVE"},
		{"WAITFOR (RECEIVE * FROM q), TIMEOUT 5", "WAITFOR (statement)"},
		{"BEGIN DIALOG @h FROM SERVICE a TO SERVICE 'b' ON CONTRACT c", "BEGIN DIALOG"},
		{"END CONVERSATION @h", "END CONVERSATION"},
		{"BACKUP LOG d TO DISK = 'x' WITH INIT", "BACKUP LOG"},
		{"BACKUP DATABASE d TO DISK = 'x', DISK = 'y'", "BACKUP DATABASE to more than one file"},
		{"BACKUP DATABASE d TO URL = 'https://x'", "BACKUP DATABASE TO URL"},
		{"BACKUP DATABASE d TO dump_device", "BACKUP DATABASE TO a backup device"},
		{"BACKUP DATABASE d FILEGROUP = 'g' TO DISK = 'x'", "BACKUP DATABASE FILEGROUP"},
		{"BACKUP DATABASE d TO DISK = 'x' WITH INIT, DIFFERENTIAL", "BACKUP DATABASE WITH DIFFERENTIAL"},
		{"BACKUP DATABASE d TO DISK = 'x' WITH ENCRYPTION (ALGORITHM = AES_256)", "BACKUP DATABASE WITH ENCRYPTION"},
		{"RESTORE DATABASE d FROM DISK = 'x' WITH REPLACE",
			"RESTORE DATABASE (restore when the server starts: loopbroker serve --restore FILE, or engine.Options.Restore)"},
		{"BULK INSERT t FROM 'x' WITH (FIRSTROW = 2)", "BULK INSERT"},
		{"DBCC CHECKIDENT ('t', RESEED, 0)", "DBCC"},
		{"UPDATE STATISTICS t WITH FULLSCAN", "UPDATE STATISTICS"},
		{"CREATE STATISTICS s ON t (a)", "CREATE STATISTICS"},
		{"CREATE ASSEMBLY a FROM 0x00", "CREATE ASSEMBLY"},
		{"ALTER DATABASE d ADD FILE (NAME = x)", "ALTER DATABASE ADD"},
		{"CREATE TABLE t (a int) WITH (MEMORY_OPTIMIZED = ON)", "MEMORY_OPTIMIZED"},
		{"SELECT * FROM OPENXML(@h, '/a')", "OPENXML"},
		{"SELECT a FROM t WHERE CONTAINS(a, 'x')", "full-text search"},
		{"SELECT SUM(a) IGNORE NULLS OVER (ORDER BY b) FROM t", "IGNORE NULLS"},
		{"IF JSON_ARRAY(1) = 'x' SELECT 1", "JSON_ARRAY"},
		{"SET @x.modify('delete /a')", "method call in SET"},
		{"EXEC p;2", "numbered procedures"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			// A statement without its own semicolon before the next one.
			b := mustParse(t, "SELECT 1; "+tt.text+"; SELECT 2")
			if len(b.Statements) != 3 {
				t.Fatalf("got %d statements, want 3: %s", len(b.Statements), dump(b))
			}
			u, ok := b.Statements[1].(*syntax.Unsupported)
			if !ok || u.Feature != tt.feature || u.Text != tt.text {
				t.Errorf("got %s, want %q of %q", dump(b.Statements[1]), tt.feature, tt.text)
			}
		})
	}
}

// TestUnsupportedInside proves that only the statement concerned is refused,
// not the module around it.
func TestUnsupportedInside(t *testing.T) {
	t.Parallel()
	b := mustParse(t, "CREATE PROCEDURE p AS BEGIN DBCC CHECKDB SELECT 1 IF 1=1 BEGIN BACKUP LOG x TO y END ELSE PRINT 'a' END")
	want := "CreateProcedure{Name:p Body:[Block{Body:[Unsupported{Feature:\"DBCC\" Text:\"DBCC CHECKDB\"} SelectStmt{Query:Select{Items:[SelectItem{X:1}]}} " +
		"If{Cond:(= 1 1) Then:Block{Body:[Unsupported{Feature:\"BACKUP LOG\" Text:\"BACKUP LOG x TO y\"}]} Else:Print{X:'a'}}]}]}"
	if got := dump(b.Statements[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestQuotedIdentifier(t *testing.T) {
	t.Parallel()
	item := func(s syntax.Statement) string {
		return dump(s.(*syntax.SelectStmt).Query.(*syntax.Select).Items[0].X)
	}
	b, err := syntax.Parse(`SELECT "a""b"`, syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := item(b.Statements[0]); got != `'a"b'` {
		t.Errorf("with QUOTED_IDENTIFIER off: got %s", got)
	}
	// SET changes what follows it, and nothing before it.
	b = mustParse(t, `SELECT "a"; SET QUOTED_IDENTIFIER OFF SELECT "b"; SET ANSI_NULLS, QUOTED_IDENTIFIER ON SELECT "c"`)
	got := strings.Join([]string{item(b.Statements[0]), item(b.Statements[2]), item(b.Statements[4])}, " ")
	if want := "[a] 'b' [c]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Inside a module the setting of CREATE stays.
	b = mustParse(t, `CREATE PROCEDURE p AS SET QUOTED_IDENTIFIER OFF SELECT "b"`)
	if got := item(b.Statements[0].(*syntax.CreateProcedure).Body[1]); got != "[b]" {
		t.Errorf("inside a procedure: got %s", got)
	}
}

func TestPositions(t *testing.T) {
	t.Parallel()
	text := "SELECT 1\r\n/* a\n b */ SELECT 'x\ny' +\n  c FROM\n  dbo.t"
	b := mustParse(t, text)
	s := b.Statements[1].(*syntax.SelectStmt).Query.(*syntax.Select)
	sum := s.Items[0].X.(*syntax.Binary)
	for _, tt := range []struct {
		name string
		at   syntax.Pos
		line int32
		text string
	}{
		{"statement", b.Statements[1].At(), 3, "SELECT"},
		{"string", sum.L.At(), 3, "'x"},
		{"operator", sum.At(), 4, "+"},
		{"column", sum.R.At(), 5, "c"},
		{"table", s.From[0].At(), 6, "dbo"},
	} {
		if tt.at.Line != tt.line || !strings.HasPrefix(text[tt.at.Offset:], tt.text) {
			t.Errorf("%s: at line %d before %q, want line %d before %q", tt.name, tt.at.Line, text[tt.at.Offset:], tt.line, tt.text)
		}
	}
}
