package tsql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loopbroker"
)

// The engine editions, as SERVERPROPERTY has them, of the services whose version
// number stands still at 12.
const (
	azureSQLDatabase = 5
	managedInstance  = 8
	fabricDatabase   = 12
)

// invokeMajorVersion is the first version of SQL Server that has a
// sp_invoke_external_rest_endpoint of its own: 2025.
const invokeMajorVersion = 17

// server is what a server and a database are.
type server struct{ major, edition, level int }

// readServer asks the server what it is.
func readServer(ctx context.Context, db querier) (server, error) {
	var s server
	row := db.QueryRowContext(ctx, StatementServer.Text())
	if err := row.Scan(&s.major, &s.edition, &s.level); err != nil {
		return server{}, fmt.Errorf("ask for the server's version: %w", err)
	}
	return s, nil
}

// service reports whether the version says nothing.
func (s server) service() bool {
	return slices.Contains([]int{azureSQLDatabase, managedInstance, fabricDatabase}, s.edition)
}

// check refuses a server or database that the objects cannot run on.
func (s server) check() error {
	if s.major < MinMajorVersion && !s.service() {
		return fmt.Errorf("%w: need SQL Server 2017 (version %d) or later, got version %d",
			loopbroker.ErrSchema, MinMajorVersion, s.major)
	}
	if s.level < MinCompatibilityLevel {
		return fmt.Errorf("%w: need a compatibility level of %d or more, got %d: ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = %d",
			loopbroker.ErrSchema, MinCompatibilityLevel, s.level, MinCompatibilityLevel)
	}
	return nil
}

// leavesOut reports whether an object is not deployed into the schema here: the
// system has a procedure of that name, which would be called instead of ours.
func (s server) leavesOut(name string, schema Schema) bool {
	return strings.EqualFold(name, ProcInvoke) && strings.EqualFold(schema.Name(), DefaultSchema) &&
		(s.major >= invokeMajorVersion || s.service())
}

// grants returns the statement that gives the rights on what there is.
func (s server) grants(schema Schema) string {
	var out []string
	for _, line := range strings.Split(schema.Statement(StatementGrants), "\n") {
		if m := reGrant.FindStringSubmatch(strings.Replace(line, schema.String(), "[dbo]", 1)); m != nil && s.leavesOut(m[2], schema) {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// keep returns the findings without those about what is not deployed here.
func (s server) keep(all Findings, schema Schema) Findings {
	return slices.DeleteFunc(all, func(f Finding) bool {
		return f.Object == schema.Object(ProcInvoke) && s.leavesOut(ProcInvoke, schema)
	})
}
