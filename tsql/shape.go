package tsql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Column is the shape of one column.
type Column struct {
	// Name is the column's name.
	Name string
	// Type is the name of the type, without its length.
	Type string
	// Length is in characters for nchar and nvarchar, else in bytes; -1 is max, 0
	// means that the type has none.
	Length int
	// Scale is that of fractional seconds, 0 where the type has none.
	Scale int
	// Collation is empty where the database's own will do.
	Collation string
	// Nullable and Identity say what they say.
	Nullable, Identity bool
	// Default reports whether the column has a default.
	Default bool
}

// Index is the shape of one index or key.
type Index struct {
	// Name is the index's name.
	Name string
	// Columns are its key columns, in order.
	Columns []string
	// Clustered, Unique and Primary say what they say.
	Clustered, Unique, Primary bool
}

// Shape is what a table has to look like. It is read from the table's own file,
// so there is no second truth.
type Shape struct {
	Table   string
	Columns []Column
	Indexes []Index
}

// column returns a column by name, without regard to case.
func (s Shape) column(name string) (Column, bool) {
	for _, c := range s.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Column{}, false
}

// Shapes returns the shape of every table.
var Shapes = sync.OnceValue(func() []Shape {
	var out []Shape
	for _, o := range Objects() {
		if o.Kind != KindTable {
			continue
		}
		s, err := parseShape(o)
		if err != nil {
			panic(err) // the files are embedded, and a test reads them all
		}
		out = append(out, s)
	}
	return out
})

// The files of tables keep to one form: a column or a constraint begins a line,
// and what belongs to a column is on the lines below it.
var (
	reColumn = regexp.MustCompile(`^\s+(\[\w+\]|\w+) (\w+)(?:\((max|\d+)\))?( COLLATE \w+)?( IDENTITY\(1, 1\))? (NOT NULL|NULL)( DEFAULT \(.*\))?,?$`)
	reInline = regexp.MustCompile(`^\s+CONSTRAINT (\w+) (PRIMARY KEY (?:NON)?CLUSTERED|DEFAULT|CHECK)\b.*$`)
	reKey    = regexp.MustCompile(`^\s+CONSTRAINT (\w+) PRIMARY KEY CLUSTERED \((.+)\),?$`)
	reIndex  = regexp.MustCompile(`(?s)CREATE (UNIQUE )?(CLUSTERED|NONCLUSTERED) INDEX (\w+)\s+ON \[dbo\]\.\[\w+\] \(([^)]+)\)`)
)

// parseShape reads the shape of a table from its file.
func parseShape(o Object) (Shape, error) {
	s := Shape{Table: o.Name}
	_, body, ok := strings.Cut(o.Text, "CREATE TABLE [dbo].["+o.Name+"] (\n")
	if !ok {
		return Shape{}, fmt.Errorf("%s: no CREATE TABLE", o.File)
	}
	body, tail, ok := strings.Cut(body, ");\n")
	if !ok {
		return Shape{}, fmt.Errorf("%s: CREATE TABLE does not end", o.File)
	}
	for _, line := range strings.Split(strings.TrimRight(body, " \n"), "\n") {
		if err := s.parseLine(line); err != nil {
			return Shape{}, fmt.Errorf("%s: %w", o.File, err)
		}
	}
	for _, m := range reIndex.FindAllStringSubmatch(tail, -1) {
		s.Indexes = append(s.Indexes, Index{
			Name: m[3], Columns: names(m[4]), Clustered: m[2] == "CLUSTERED", Unique: m[1] != "",
		})
	}
	return s, nil
}

// parseLine reads one line between the parentheses of CREATE TABLE.
func (s *Shape) parseLine(line string) error {
	if m := reKey.FindStringSubmatch(line); m != nil {
		s.Indexes = append(s.Indexes, Index{Name: m[1], Columns: names(m[2]), Clustered: true, Unique: true, Primary: true})
		return nil
	}
	if m := reInline.FindStringSubmatch(line); m != nil {
		if len(s.Columns) == 0 {
			return fmt.Errorf("constraint without a column: %q", line)
		}
		last := &s.Columns[len(s.Columns)-1]
		switch {
		case strings.HasPrefix(m[2], "PRIMARY KEY"):
			s.Indexes = append(s.Indexes, Index{
				Name: m[1], Columns: []string{last.Name}, Clustered: m[2] == "PRIMARY KEY CLUSTERED", Unique: true, Primary: true,
			})
		case m[2] == "DEFAULT":
			last.Default = true
		}
		return nil
	}
	m := reColumn.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("neither a column nor a constraint: %q", line)
	}
	c := Column{
		Name:      strings.Trim(m[1], "[]"),
		Type:      m[2],
		Collation: strings.TrimPrefix(m[4], " COLLATE "),
		Identity:  m[5] != "",
		Nullable:  m[6] == "NULL",
		Default:   m[7] != "",
	}
	switch m[3] {
	case "":
	case "max":
		c.Length = -1
	default:
		n, err := strconv.Atoi(m[3])
		if err != nil {
			return err
		}
		if c.Type == "datetime2" {
			c.Scale = n
		} else {
			c.Length = n
		}
	}
	s.Columns = append(s.Columns, c)
	return nil
}

// names splits a list of columns.
func names(list string) []string {
	var out []string
	for _, n := range strings.Split(list, ",") {
		out = append(out, strings.Trim(strings.TrimSpace(n), "[]"))
	}
	return out
}
