package tsql_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"loopbroker"
	"loopbroker/tsql"
)

// examplePages are the pages whose SQL is run.
var examplePages = []string{"tsql.md", "security.md", "moving-from-sp_invoke_external_rest_endpoint.md", "moving-from-service-broker.md"}

// example is a block of SQL on a page.
type example struct {
	Page, Name, SQL string
	Returns         []string // of the last row, or nil where the page does not say
}

// examples returns the blocks of a page.
func examples(t *testing.T, page string) []example {
	t.Helper()
	text := readPage(t, page)
	var out []example
	returns := regexp.MustCompile(`(?m)^-- returns: (.*)$`)
	for _, at := range regexp.MustCompile("(?ms)^```sql\n(.*?)^```$").FindAllStringSubmatchIndex(text, -1) {
		headings := regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text[:at[0]], -1)
		e := example{Page: page, Name: headings[len(headings)-1][1], SQL: text[at[2]:at[3]]}
		if m := returns.FindStringSubmatch(e.SQL); m != nil {
			e.Returns = strings.Split(m[1], " | ")
		}
		out = append(out, e)
	}
	return out
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// api answers for https://api.example.com.
func api(j job) map[string]any {
	var in struct{ URL string }
	_ = json.Unmarshal([]byte(j.JSON.String), &in) // it was checked
	if strings.HasSuffix(in.URL, ".png") {
		return map[string]any{"http_status": 200, "json_out": `{"status":200,"headers":{"Content-Type":"image/png"}}`, "body_out": []byte("\x89PNG")}
	}
	return map[string]any{"http_status": 200, "json_out": `{"status":200,"headers":{"Content-Type":"application/json"},"body":"{\"ok\":true}"}`}
}

// TestExamplesOfThePages runs every block of SQL in a database in which
// api.example.com answers, and compares what it returns.
func TestExamplesOfThePages(t *testing.T) {
	t.Parallel()
	for _, page := range examplePages {
		db := looped(t)
		db.exec("INSERT INTO dbo.api_broker_endpoint (name, scheme, host, port) VALUES (N'api', N'https', N'api.example.com', 443)")
		db.answering(api)
		for i, e := range examples(t, page) {
			t.Run(fmt.Sprintf("%s/%d %s", page, i, e.Name), func(t *testing.T) {
				batches, err := tsql.Split(e.SQL)
				if err != nil {
					t.Fatal(err)
				}
				conn := db.session()
				for n, b := range batches {
					var want []string
					if n == len(batches)-1 {
						want = e.Returns
					}
					runExample(t, conn, b.Text, want)
				}
				must(t, conn, "IF @@TRANCOUNT > 0 THROW 50000, N'the example leaves a transaction open', 1")
			})
		}
	}
}

// runExample runs one batch; want is the last row.
func runExample(t *testing.T, conn *sql.Conn, batch string, want []string) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), batch)
	if err != nil {
		t.Fatalf("%s\n%v", batch, err)
	}
	defer func() { _ = rows.Close() }()
	var last []string
	for {
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			last = nil
			for _, v := range values {
				if !v.Valid {
					v.String = "NULL"
				}
				last = append(last, v.String)
			}
		}
		if !rows.NextResultSet() {
			break
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s\n%v", batch, err)
	}
	if want != nil && strings.Join(last, " | ") != strings.Join(want, " | ") {
		t.Errorf("%s\ngot %s, want %s", batch, strings.Join(last, " | "), strings.Join(want, " | "))
	}
}

// internal procedures are named in one table of the reference and have no section.
func internal(o tsql.Object) bool {
	return strings.Contains(header(o.Text), "\n    Internal")
}

// TestReferenceHasEveryObject looks for a section with an example for every
// procedure that somebody may execute and every view, for every parameter, and for
// every number and class.
func TestReferenceHasEveryObject(t *testing.T) {
	t.Parallel()
	text := readPage(t, "tsql.md")
	granted := map[string]string{}
	for _, r := range tsql.Rights() {
		granted[r.Object] = r.Role
	}
	reParameter := regexp.MustCompile(`(?m)^    (@\w+) `)
	for _, o := range tsql.Objects() {
		if !o.Kind.Module() {
			continue
		}
		if internal(o) || o.Name == tsql.ProcLinkedServer {
			if !strings.Contains(text, "| `"+o.Name+"` |") {
				t.Errorf("%s is not there", o.Name)
			}
			continue
		}
		_, section, ok := strings.Cut(text, "# "+o.Name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		section, _, _ = strings.Cut(section, "\n### ")
		if !ok {
			t.Errorf("%s has no section", o.Name)
			continue
		}
		if granted[o.Name] != tsql.RoleWorker && !strings.Contains(section, "```sql") {
			t.Errorf("%s has no example", o.Name)
		}
		need := []string{"Locks: "}
		if o.Kind == tsql.KindProcedure {
			need = append(need, "Codes: ", "Errors: ")
			declared, _, _ := strings.Cut(o.Text[strings.Index(o.Text, "CREATE OR ALTER"):], "\nAS\n")
			for _, m := range reParameter.FindAllStringSubmatch(declared, -1) {
				need = append(need, "| `"+m[1]+"`")
			}
		}
		for _, n := range need {
			if !strings.Contains(section, n) {
				t.Errorf("%s: no %s", o.Name, n)
			}
		}
	}
	for _, c := range tsql.InvokeCauses() {
		if !strings.Contains(text, fmt.Sprintf("| %d | %s | %d |", c.Number, c.What, c.Number-tsql.InvokeOffset)) {
			t.Errorf("no row for %d, %s", c.Number, c.What)
		}
	}
	for _, class := range loopbroker.ErrorClasses() {
		stored := class != loopbroker.ErrorClassStatus && class != loopbroker.ErrorClassLeaseLost
		if strings.Contains(text, fmt.Sprintf("| `%s` |", class)) != stored {
			t.Errorf("class %s: in the table or not, want %v", class, stored)
		}
	}
}
