package syntax_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
)

// wellBehaved parses text and fails when the outcome is neither a tree nor an
// error with a number and a line inside the text, or when the printed tree does
// not parse to itself.
func wellBehaved(t testing.TB, text string) {
	t.Helper()
	b, err := syntax.Parse(text, quotedOn)
	if err == nil {
		if b == nil {
			t.Fatalf("Parse(%q) gave neither a tree nor an error", text)
		}
		roundTrip(t, text)
		return
	}
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		t.Fatalf("Parse(%q): error is %T, want *sqlerr.Error", text, err)
	}
	if lines := int32(strings.Count(text, "\n")) + 1; e.Line < 1 || e.Line > lines {
		t.Fatalf("Parse(%q): error names line %d of %d: %v", text, e.Line, lines, e)
	}
}

// tokens cuts a text roughly as the lexer does; blanks are tokens too.
func tokens(text string) []string {
	var list []string
	rest := text
	for rest != "" {
		loc := wordPattern.FindStringIndex(rest)
		switch {
		case loc == nil || loc[0] > 0:
			_, size := splitRune(rest)
			list = append(list, rest[:size])
			rest = rest[size:]
		default:
			list = append(list, rest[:loc[1]])
			rest = rest[loc[1]:]
		}
	}
	return list
}

func splitRune(s string) (rune, int) {
	for i, r := range s {
		if i > 0 {
			return r, i
		}
	}
	return 0, len(s)
}

// TestMutants truncates, deletes, doubles and swaps the tokens of the corpus.
// What comes out is a tree that prints and parses to itself, or an error: never
// a panic and never a hang (the test's own deadline is the watch).
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, f := range corpus(t, "accept") {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, text := range f.batches {
				mutate(t, tokens(text))
			}
		})
	}
}

func mutate(t *testing.T, list []string) {
	t.Helper()
	join := func(parts ...[]string) string {
		var b strings.Builder
		for _, part := range parts {
			for _, s := range part {
				b.WriteString(s)
			}
		}
		return b.String()
	}
	for i, token := range list {
		if strings.TrimSpace(token) == "" {
			continue
		}
		wellBehaved(t, join(list[:i]))
		wellBehaved(t, join(list[:i], list[i+1:]))
		wellBehaved(t, join(list[:i+1], []string{" "}, list[i:]))
		wellBehaved(t, join(list[:i], []string{"("}, list[i:]))
		wellBehaved(t, join(list[:i], []string{")"}, list[i:]))
		wellBehaved(t, join(list[:i], []string{" END "}, list[i:]))
		if i > 1 {
			wellBehaved(t, join(list[:i-2], list[i:i+1], list[i-2:i], list[i+1:]))
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	repeat := func(n int, open, inner, shut string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	const deep = 10000
	tests := map[string]string{
		"parentheses":    "SELECT " + repeat(deep, "(", "1", ")"),
		"conditions":     "IF " + repeat(deep, "(", "1=1", ")") + " SELECT 1",
		"minus signs":    "SELECT " + strings.Repeat("- ", deep) + "1",
		"not":            "IF " + strings.Repeat("NOT ", deep) + "1=1 SELECT 1",
		"function calls": "SELECT " + repeat(deep, "ABS(", "1", ")"),
		"case":           "SELECT " + repeat(deep, "CASE WHEN 1=1 THEN ", "1", " END"),
		"casts":          "SELECT " + repeat(deep, "CAST(", "1", " AS int)"),
		"subqueries":     "SELECT " + repeat(deep, "(SELECT ", "1", ")"),
		"derived tables": "SELECT * FROM " + repeat(deep, "(SELECT * FROM ", "t", ") x"),
		"joins":          "SELECT * FROM " + repeat(deep, "(", "t", " JOIN t ON 1=1)"),
		"joins to the right": "SELECT * FROM " + strings.Repeat("t JOIN ", deep) + "t" +
			strings.Repeat(" ON 1=1", deep),
		"queries":      repeat(deep, "(", "SELECT 1", ")"),
		"blocks":       repeat(deep, "BEGIN ", "SELECT 1", " END"),
		"try":          repeat(deep, "BEGIN TRY ", "SELECT 1", " END TRY BEGIN CATCH END CATCH"),
		"if":           strings.Repeat("IF 1=1 ", deep) + "SELECT 1",
		"else if":      strings.Repeat("IF 1=1 SELECT 1 ELSE ", deep) + "SELECT 1",
		"while":        strings.Repeat("WHILE 1=1 ", deep) + "SELECT 1",
		"in lists":     "SELECT 1 WHERE " + repeat(deep, "1 IN (CASE WHEN ", "1=1", " THEN 1 END)"),
		"plus":         "SELECT 1" + strings.Repeat("+1", deep+1),
		"and":          "SELECT 1 WHERE 1=1" + strings.Repeat(" AND 1=1", deep+1),
		"collate":      "SELECT 'a'" + strings.Repeat(" COLLATE c", deep+1),
		"union":        "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", deep+1),
		"cross joins":  "SELECT * FROM t" + strings.Repeat(" CROSS JOIN t", deep+1),
		"inline query": "CREATE FUNCTION f() RETURNS TABLE AS RETURN " + repeat(deep, "(", "SELECT 1 a", ")"),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := syntax.Parse(text, quotedOn)
			if err == nil {
				t.Fatal("accepted, want error 191")
			}
			if e := asError(t, err); e.Number != 191 || e.Line != 1 {
				t.Errorf("got %v, want 191 on line 1", e)
			}
		})
	}
}

func TestNestingThatIsAllowed(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"200 parentheses": "SELECT " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200),
		"5000 additions":  "SELECT 1" + strings.Repeat("+1", 5000),
		"5000 conditions": "SELECT 1 WHERE 1=0" + strings.Repeat(" OR 1=0", 5000),
		"3000 unions":     "SELECT a+1 FROM t JOIN u ON 1=1" + strings.Repeat(" UNION ALL SELECT a+1 FROM t JOIN u ON 1=1", 3000),
		"20000 values":    "SELECT 1 WHERE 1 IN (1" + strings.Repeat(",1", 20000) + ")",
		"20000 items":     "SELECT 1" + strings.Repeat(",(1+1)*2", 20000),
		"300 else ifs":    strings.Repeat("IF 1=1 SELECT 1 ELSE ", 300) + "SELECT 1",
		"20000 sentences": strings.Repeat("SET @a = @a + (1*2);", 20000),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustParse(t, text)
		})
	}
}

// TestBigString proves that the size of a literal costs no more than its copy.
func TestBigString(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 100<<20)
	b := mustParse(t, "SELECT '"+big+"'")
	item := b.Statements[0].(*syntax.SelectStmt).Query.(*syntax.Select).Items[0]
	if got := len(item.X.(*syntax.Literal).Text); got != len(big) {
		t.Errorf("literal has %d bytes, want %d", got, len(big))
	}
	_, err := syntax.Parse("SELECT '"+big, quotedOn)
	if e := asError(t, err); e.Number != 105 || len(e.Message) > 2048 {
		t.Errorf("unclosed literal: got number %d with a message of %d bytes, want 105 and a short one", e.Number, len(e.Message))
	}
}

func FuzzParse(f *testing.F) {
	for _, dir := range []string{"accept", "refuse"} {
		for _, file := range corpus(f, dir) {
			for _, text := range file.batches {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) { wellBehaved(t, text) })
}

func FuzzParseExpr(f *testing.F) {
	for _, text := range []string{"1", "(getdate())", "[a]>(0) AND [b] IS NULL", "CASE WHEN 1=1 THEN 'x' ELSE N'y' END", "$1.5", "0x", "x.y.z(1)", "{fn now()}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := syntax.ParseExpr(text, quotedOn)
		if (x == nil) == (err == nil) {
			t.Fatalf("ParseExpr(%q) = %v, %v", text, x, err)
		}
	})
}

func BenchmarkParseProcedure(b *testing.B) {
	text, err := os.ReadFile("testdata/one_kb.sql")
	if err != nil {
		b.Fatal(err)
	}
	s := string(text)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := syntax.Parse(s, quotedOn); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseCorpus(b *testing.B) {
	var texts []string
	size := 0
	for _, f := range corpus(b, "accept") {
		for _, text := range f.batches {
			texts = append(texts, text)
			size += len(text)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range texts {
			if _, err := syntax.Parse(text, quotedOn); err != nil {
				b.Fatal(err)
			}
		}
	}
}
