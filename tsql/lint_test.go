package tsql_test

import (
	"embed"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"loopbroker/tsql"
)

//go:embed tables sequences views procedures statements
var folder embed.FS

// scripts returns every .sql file of the package by path.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !strings.HasSuffix(path, ".sql") {
			t.Errorf("%s: not a .sql file", path)
		}
		text, err := folder.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var (
	reComment = regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*`)
	reString  = regexp.MustCompile(`N?'(?:[^']|'')*'`)
)

// code returns a script without its comments and with its strings empty.
func code(text string) string {
	return reString.ReplaceAllString(reComment.ReplaceAllStringFunc(text, blank), "''")
}

// blank keeps the line breaks of a comment, so that line numbers stay.
func blank(comment string) string { return strings.Repeat("\n", strings.Count(comment, "\n")) }

const setLines = "SET ANSI_NULLS ON;\nGO\nSET QUOTED_IDENTIFIER ON;\nGO\n/*\n"

// header returns the first comment of a script.
func header(text string) string {
	return reComment.FindString(text)
}

func TestObjectsBeginWithSetLinesAndAHeader(t *testing.T) {
	t.Parallel()
	for _, o := range tsql.Objects() {
		if !strings.HasPrefix(o.Text, setLines) {
			t.Errorf("%s: does not begin with the SET lines and a header comment", o.File)
		}
		if !strings.HasSuffix(o.Text, "\nGO\n") {
			t.Errorf("%s: does not end with GO", o.File)
		}
		want := []string{"\nPurpose\n", "\nLocks\n"}
		if o.Kind == tsql.KindProcedure {
			want = append(want, "\nParameters\n", "\nReturn codes\n", "\nErrors\n")
		}
		for _, section := range want {
			if !strings.Contains(header(o.Text), section) {
				t.Errorf("%s: the header has no section %q", o.File, strings.TrimSpace(section))
			}
		}
		first := strings.SplitN(header(o.Text), "\n", 3)[1]
		if !strings.HasPrefix(strings.ToLower(first), o.Kind.String()+" "+o.Name+":") {
			t.Errorf("%s: the header begins with %q, want %q", o.File, first, o.Kind.String()+" "+o.Name+": …")
		}
	}
}

func TestHeadersNameEveryParameter(t *testing.T) {
	t.Parallel()
	reParameter := regexp.MustCompile(`(?m)^    (@\w+) [a-z]`)
	spread := regexp.MustCompile(`the others|those of the request|\.\.\.`)
	for _, o := range tsql.Objects() {
		if o.Kind != tsql.KindProcedure {
			continue
		}
		_, parameters, _ := strings.Cut(o.Text, "CREATE OR ALTER PROCEDURE")
		parameters, _, _ = strings.Cut(parameters, "\nAS\n")
		for _, m := range reParameter.FindAllStringSubmatch(parameters, -1) {
			if !regexp.MustCompile(regexp.QuoteMeta(m[1])+`\b`).MatchString(header(o.Text)) && !spread.MatchString(header(o.Text)) {
				t.Errorf("%s: the header does not name %s", o.File, m[1])
			}
		}
	}
}

func TestTextForm(t *testing.T) {
	t.Parallel()
	for path, text := range scripts(t) {
		for i, line := range strings.Split(text, "\n") {
			switch {
			case strings.HasSuffix(line, " "):
				t.Errorf("%s:%d: blank at the end", path, i+1)
			case strings.ContainsAny(line, "\t\r"):
				t.Errorf("%s:%d: tab or carriage return", path, i+1)
			}
			for _, r := range line {
				if r > '~' {
					t.Errorf("%s:%d: character outside ASCII: %q", path, i+1, r)
				}
			}
		}
	}
}

// banned are constructs that SQL Server 2017 does not know, or that have no place
// in these files.
var banned = []struct {
	name string
	re   *regexp.Regexp
}{
	{"SELECT *", regexp.MustCompile(`(?i)\bSELECT\s+(TOP\s*\([^)]*\)\s+)?\*`)},
	{"alias.*", regexp.MustCompile(`\b\w+\.\*`)},
	{"GREATEST or LEAST (2022)", regexp.MustCompile(`(?i)\b(GREATEST|LEAST)\s*\(`)},
	{"IS DISTINCT FROM (2022)", regexp.MustCompile(`(?i)\bIS\s+(NOT\s+)?DISTINCT\s+FROM\b`)},
	{"DATETRUNC or DATE_BUCKET (2022)", regexp.MustCompile(`(?i)\b(DATETRUNC|DATE_BUCKET)\s*\(`)},
	{"JSON_OBJECT, JSON_ARRAY, JSON_PATH_EXISTS (2022)", regexp.MustCompile(`(?i)\bJSON_(OBJECT|ARRAY|PATH_EXISTS|OBJECTAGG|ARRAYAGG|CONTAINS)\s*\(`)},
	{"ISJSON with a type (2022)", regexp.MustCompile(`(?i)\bISJSON\s*\([^(),]*,`)},
	{"GENERATE_SERIES (2022)", regexp.MustCompile(`(?i)\bGENERATE_SERIES\s*\(`)},
	{"STRING_SPLIT with an ordinal (2022)", regexp.MustCompile(`(?i)\bSTRING_SPLIT\s*\([^,()]*,[^,()]*,`)},
	{"TRIM with a direction (2022)", regexp.MustCompile(`(?i)\bTRIM\s*\(\s*(LEADING|TRAILING|BOTH)\b`)},
	{"LTRIM or RTRIM with characters (2022)", regexp.MustCompile(`(?i)\b[LR]TRIM\s*\([^(),]*,`)},
	{"WINDOW clause (2022)", regexp.MustCompile(`(?i)\bWINDOW\s+\w+\s+AS\b`)},
	{"bit functions (2022)", regexp.MustCompile(`(?i)\b(LEFT_SHIFT|RIGHT_SHIFT|BIT_COUNT|GET_BIT|SET_BIT)\s*\(`)},
	{"shift operators (2022)", regexp.MustCompile(`<<|>>`)},
	{"APPROX functions (2019 and later)", regexp.MustCompile(`(?i)\bAPPROX_\w+`)},
	{"|| and regular expressions (2025)", regexp.MustCompile(`(?i)\|\||\bREGEXP_\w+`)},
	{"UTF-8 collation (2019)", regexp.MustCompile(`(?i)_UTF8\b`)},
	{"OPTIMIZE_FOR_SEQUENTIAL_KEY (2019)", regexp.MustCompile(`(?i)\bOPTIMIZE_FOR_SEQUENTIAL_KEY\b`)},
	{"GETDATE and its kin instead of SYSUTCDATETIME", regexp.MustCompile(`(?i)\b(GETDATE|GETUTCDATE|SYSDATETIME|CURRENT_TIMESTAMP|SYSDATETIMEOFFSET)\b`)},
	{"@@IDENTITY instead of SCOPE_IDENTITY", regexp.MustCompile(`(?i)@@IDENTITY\b`)},
	{"RAISERROR instead of THROW", regexp.MustCompile(`(?i)\bRAISERROR\b`)},
	{"PRINT", regexp.MustCompile(`(?i)\bPRINT\b`)},
	{"dynamic SQL", regexp.MustCompile(`(?i)\bsp_executesql\b|\bEXEC(UTE)?\s*\(`)},
	{"EXECUTE AS", regexp.MustCompile(`(?i)\bWITH\s+EXECUTE\s+AS\b`)},
	{"foreign keys and triggers", regexp.MustCompile(`(?i)\bFOREIGN\s+KEY\b|\bREFERENCES\b|\bCREATE\s+(OR\s+ALTER\s+)?TRIGGER\b`)},
	{"filtered indexes", regexp.MustCompile(`(?is)\bCREATE\b[^;]*\bINDEX\b[^;]*\bWHERE\b`)},
	{"GOTO", regexp.MustCompile(`(?i)\bGOTO\b`)},
	{"a cursor", regexp.MustCompile(`(?i)\bCURSOR\b`)},
	{"MERGE, which is not atomic against itself", regexp.MustCompile(`(?i)\bMERGE\b`)},
	{"nvarchar without a length", regexp.MustCompile(`(?i)\b(nvarchar|varchar|varbinary|datetime2)\b[^(_]`)},
}

func TestNothingBanned(t *testing.T) {
	t.Parallel()
	for path, text := range scripts(t) {
		for _, b := range banned {
			if b.name == "EXECUTE AS" && strings.HasSuffix(path, "sp_api_broker_call_completion.sql") {
				continue // the one place where rights are given up
			}
			if at := b.re.FindStringIndex(code(text)); at != nil {
				t.Errorf("%s:%d: %s: %q", path, strings.Count(code(text)[:at[0]], "\n")+1, b.name, code(text)[at[0]:at[1]])
			}
		}
	}
}

// TestBannedPatternsBite plants each fault, so that a pattern that never matches
// does not pass for a check.
func TestBannedPatternsBite(t *testing.T) {
	t.Parallel()
	plants := []string{
		"SELECT * FROM t", "SELECT TOP (1) * FROM t", "SELECT t.* FROM t", "SELECT GREATEST(1, 2)", "IF a IS NOT DISTINCT FROM b", "SELECT DATETRUNC(day, d)",
		"SELECT JSON_OBJECT(a:b)", "ISJSON(@x, VALUE)", "FROM GENERATE_SERIES(1, 2)", "STRING_SPLIT(@a, @b, 1)",
		"TRIM(LEADING x FROM y)", "LTRIM(@x, @y)", "WINDOW w AS (", "BIT_COUNT(1)", "1 << 2", "APPROX_COUNT_DISTINCT(x)",
		"a || b", "COLLATE Latin1_General_100_CI_AS_SC_UTF8", "OPTIMIZE_FOR_SEQUENTIAL_KEY = ON", "GETDATE()", "@@IDENTITY",
		"RAISERROR(", "PRINT 1", "EXEC (@sql)", "WITH EXECUTE AS OWNER", "REFERENCES t (a)", "CREATE INDEX i ON t (a) WHERE a = 1",
		"GOTO x", "DECLARE c CURSOR", "MERGE INTO t", "DECLARE @x nvarchar = 1",
	}
	bitten := map[string]bool{}
	for _, p := range plants {
		hit := false
		for _, b := range banned {
			if b.re.MatchString(p) {
				hit, bitten[b.name] = true, true
			}
		}
		if !hit {
			t.Errorf("no pattern matches %q", p)
		}
	}
	for _, b := range banned {
		if !bitten[b.name] {
			t.Errorf("nothing planted for %q", b.name)
		}
	}
}

// keywords must be in upper case wherever they are keywords; none of them is a
// name in these files.
var keywords = []string{
	"select", "from", "where", "insert", "into", "values", "update", "set", "delete", "output", "join", "inner", "left", "outer", "apply",
	"order", "by", "group", "having", "top", "case", "when", "then", "else", "end", "begin", "if", "while", "break", "return", "declare",
	"exec", "create", "alter", "table", "view", "procedure", "index", "clustered", "nonclustered", "primary", "constraint", "default",
	"check", "null", "not", "and", "or", "in", "exists", "between", "like", "is", "as", "on", "off", "with", "transaction", "commit", "rollback",
	"throw", "try", "catch", "waitfor", "delay", "collate", "identity", "sequence", "option",
}

func TestKeywordsInUpperCase(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(`(?:^|[^\w@.\[])(` + strings.Join(keywords, "|") + `)(?:$|[^\w@\]])`)
	for path, text := range scripts(t) {
		for i, line := range strings.Split(code(text), "\n") {
			if m := re.FindStringSubmatch(line); m != nil {
				t.Errorf("%s:%d: keyword %q in lower case", path, i+1, m[1])
			}
		}
	}
}

// TestVariablesHaveOneSpelling is for servers with a case-sensitive collation, on
// which @Id and @id are two variables.
func TestVariablesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(`@@?\w+`)
	for path, text := range scripts(t) {
		spelling := map[string]string{}
		for _, v := range re.FindAllString(code(text), -1) {
			key := strings.ToLower(v)
			if before, ok := spelling[key]; ok && before != v && v != "@Resource" && before != "@Resource" {
				t.Errorf("%s: %s and %s", path, before, v)
			}
			spelling[key] = v
		}
	}
}

// TestObjectsAreSchemaQualified looks at every name after a word that takes an
// object: it is ours in [dbo], the system's in sys, a variable, or a name that the
// statement itself has made.
func TestObjectsAreSchemaQualified(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(`(?m)\b(FROM|JOIN|INTO|UPDATE|EXEC|TABLE|VIEW|PROCEDURE|SEQUENCE)\s+(?:@\w+ = )?([^\s(;]+)`)
	ours := regexp.MustCompile(`^\[dbo\]\.\[(\w+)\]$`)
	local := []string{"ready", "m", "r", "c", "OPENJSON"}
	known := map[string]bool{}
	for _, o := range tsql.Objects() {
		known[o.Name] = true
	}
	for path, text := range scripts(t) {
		for _, m := range re.FindAllStringSubmatch(code(text), -1) {
			name := m[2]
			if object := ours.FindStringSubmatch(name); object != nil {
				if !known[object[1]] {
					t.Errorf("%s: %s is not an object of this package", path, name)
				}
				continue
			}
			if strings.HasPrefix(name, "@") || strings.HasPrefix(name, "sys.") || name == "(" || slices.Contains(local, name) {
				continue
			}
			if m[1] == "UPDATE" && name == "ON" {
				continue // GRANT UPDATE ON
			}
			if m[1] == "TABLE" || (m[1] == "SEQUENCE" && name == "") {
				continue // DECLARE @t TABLE
			}
			t.Errorf("%s: %s %s is not qualified", path, m[1], name)
		}
		if strings.Contains(reString.ReplaceAllString(code(text), ""), "dbo") &&
			strings.Count(code(text), "dbo") != strings.Count(code(text), "[dbo]") {
			t.Errorf("%s: the schema is written without the token [dbo]", path)
		}
	}
}

func TestEveryThrownNumberIsRegisteredAndEveryRegisteredOneThrown(t *testing.T) {
	t.Parallel()
	reThrow := regexp.MustCompile(`THROW (\d+), N?'((?:[^']|'')*)'|THROW (\d+), @`)
	reReturn := regexp.MustCompile(`(?:RETURN|ELSE|THEN) (540\d\d)\b`)
	texts := map[int32]string{}
	thrown := map[int32]bool{}
	for path, text := range scripts(t) {
		body := reComment.ReplaceAllString(text, "")
		for _, m := range reThrow.FindAllStringSubmatch(body, -1) {
			number := number(t, m[1]+m[3])
			thrown[number] = true
			if _, ok := tsql.CauseOf(number); !ok {
				t.Errorf("%s: THROW %d is not in the table of causes", path, number)
			}
			if m[2] == "" {
				continue
			}
			if before, ok := texts[number]; ok && before != m[2] && !slices.Contains(severalTexts, number) {
				t.Errorf("%s: THROW %d says %q, elsewhere %q", path, number, m[2], before)
			}
			texts[number] = m[2]
			if !strings.HasSuffix(m[2], ".") {
				t.Errorf("%s: THROW %d: the text is not a sentence: %q", path, number, m[2])
			}
		}
		for _, m := range reReturn.FindAllStringSubmatch(body, -1) {
			if _, ok := tsql.CauseOf(number(t, m[1])); !ok {
				t.Errorf("%s: returns %s, which is not in the table of causes", path, m[1])
			}
		}
	}
	for _, c := range tsql.Causes() {
		if !thrown[c.Number] {
			t.Errorf("nothing throws %d (%s)", c.Number, c.What)
		}
	}
}

// severalTexts are the numbers whose text names the argument at hand.
var severalTexts = []int32{54004, 54005, 54036, 54042, 54061, 54063, 54076}

func number(t *testing.T, text string) int32 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(n)
}

// TestHeadersNameThrownNumbers holds the documentation of a procedure against what
// it throws itself.
func TestHeadersNameThrownNumbers(t *testing.T) {
	t.Parallel()
	reThrow := regexp.MustCompile(`THROW (540\d\d)`)
	reRange := regexp.MustCompile(`(540\d\d)(?:-(540\d\d))?`)
	for _, o := range tsql.Objects() {
		if o.Kind != tsql.KindProcedure {
			continue
		}
		named := map[int32]bool{}
		for _, m := range reRange.FindAllStringSubmatch(header(o.Text), -1) {
			first := number(t, m[1])
			last := first
			if m[2] != "" {
				last = number(t, m[2])
			}
			for n := first; n <= last; n++ {
				named[n] = true
			}
		}
		for _, m := range reThrow.FindAllStringSubmatch(reComment.ReplaceAllString(o.Text, ""), -1) {
			if !named[number(t, m[1])] {
				t.Errorf("%s: throws %s, the header does not say so", o.File, m[1])
			}
		}
	}
}

// TestOneTag compares the expression of the tag in the procedures that make it and
// the one that checks it.
func TestOneTag(t *testing.T) {
	t.Parallel()
	reTag := regexp.MustCompile(`(?s)HASHBYTES\(\s*N'SHA2_256',\s*@secret.*?COALESCE\(@body, 0x\)\)`)
	var want string
	for _, name := range []string{tsql.ProcSend, tsql.ProcEnqueue, tsql.ProcSetup} {
		text, err := folder.ReadFile("procedures/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(reTag.FindString(string(text))), " ")
		if got == "" {
			t.Fatalf("%s: no tag", name)
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: the tag is %s, want %s", name, got, want)
		}
	}
	// Nothing can be moved from one text to the next, or put behind the last.
	for _, p := range []string{"requested_by", "app_user", "app_role", "idempotency_key", "on_complete", "json", "body"} {
		if !strings.Contains(want, "DATALENGTH(@"+p+")") {
			t.Errorf("the length of @%s is not under the tag", p)
		}
	}
	// Every argument of the loopback procedure is under the tag.
	text, err := folder.ReadFile("procedures/" + tsql.ProcLinkedServer + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, _ := strings.Cut(string(text), "CREATE OR ALTER PROCEDURE")
	parameters, _, _ = strings.Cut(parameters, "@tag varbinary(32)")
	for _, p := range regexp.MustCompile(`@\w+`).FindAllString(parameters, -1) {
		if !regexp.MustCompile(regexp.QuoteMeta(p) + `\b`).MatchString(want) {
			t.Errorf("%s is not under the tag", p)
		}
	}
}

// TestVerbsBeginAlike compares what the callers' verbs do before anything else:
// the same checks in the same order.
func TestVerbsBeginAlike(t *testing.T) {
	t.Parallel()
	want := []string{
		"SET NOCOUNT ON;",
		"@options int = @@OPTIONS,",
		"SET XACT_ABORT, NUMERIC_ROUNDABORT OFF;",
		"SET LOCK_TIMEOUT 1000;",
		"IF XACT_STATE() = -1",
		"SET IMPLICIT_TRANSACTIONS OFF;",
		"FROM [dbo].[api_broker_secret] AS s",
		"SET TRANSACTION ISOLATION LEVEL READ COMMITTED;",
		"FROM [dbo].[api_broker_setting] AS s",
	}
	for _, name := range []string{tsql.ProcRequest, tsql.ProcBrokerRequest, tsql.ProcCollect} {
		text, err := folder.ReadFile("procedures/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		rest := reComment.ReplaceAllString(string(text), "")
		for _, part := range want {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Errorf("%s: %q is missing, or not in its place", name, part)
				break
			}
			rest = after
		}
	}
}
