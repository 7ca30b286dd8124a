package tsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"loopbroker"
)

// Finding is one difference between the database and this package.
type Finding struct {
	// Object is the quoted name of what is concerned.
	Object string
	// Problem says what is different.
	Problem string
	// Repair says what to change.
	Repair string
	// Warning marks a difference that costs speed, not correctness.
	Warning bool
}

// String returns the finding in one line.
func (f Finding) String() string {
	return f.Object + ": " + f.Problem + ". " + f.Repair
}

// Findings is what Verify found, culprits before their victims.
type Findings []Finding

// Err returns a *VerifyError with the findings that are not warnings, or nil.
func (f Findings) Err() error {
	hard := slices.DeleteFunc(slices.Clone(f), func(one Finding) bool { return one.Warning })
	if len(hard) == 0 {
		return nil
	}
	return &VerifyError{Findings: hard}
}

// VerifyError says that the database does not look as this package needs it. It
// wraps loopbroker.ErrSchema.
type VerifyError struct {
	// Findings are the differences, at least one.
	Findings Findings
}

// Error implements error with one line for each finding.
func (e *VerifyError) Error() string {
	lines := make([]string, 0, len(e.Findings)+1)
	lines = append(lines, loopbroker.ErrSchema.Error()+":")
	for _, f := range e.Findings {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns loopbroker.ErrSchema.
func (e *VerifyError) Unwrap() error { return loopbroker.ErrSchema }

// querier is a *sql.DB, *sql.Tx or *sql.Conn.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Verify compares the database of db with this package: kinds, columns with type,
// length, scale, nullability and collation, keys, indexes, the sequence, the text
// of every module and the options it was made under, the version, the roles and their
// rights. It only
// reads. An error means that it could not; what it found is in the findings.
//
// It must not run in a transaction that holds schema locks.
func Verify(ctx context.Context, db *sql.DB, opts Options) (Findings, error) {
	opts = opts.WithDefaults()
	schema, err := NewSchema(opts.Schema)
	if err != nil {
		return nil, err
	}
	srv, err := opts.server(ctx, db)
	if err != nil {
		return nil, err
	}
	objects, err := readObjects(ctx, db, schema)
	if err != nil {
		return nil, err
	}
	tables, err := readTables(ctx, db, schema)
	if err != nil {
		return nil, err
	}
	modules, err := readModules(ctx, db, schema)
	if err != nil {
		return nil, err
	}
	sequences, err := readSequences(ctx, db, schema)
	if err != nil {
		return nil, err
	}

	findings := verifyKinds(objects, schema)
	findings = append(findings, verifySequences(sequences, schema)...)
	for _, want := range Shapes() {
		if got, ok := tables[strings.ToLower(want.Table)]; ok {
			findings = append(findings, verifyTable(want, got, schema)...)
		}
	}
	findings = append(findings, verifyModules(modules, schema)...)
	missing := srv.keep(verifyPresence(objects, schema), schema)
	findings = append(srv.keep(findings, schema), missing...)
	if len(missing) > 0 {
		return findings, nil
	}
	version, err := verifyVersion(ctx, db, schema)
	if err != nil {
		return nil, err
	}
	grants, err := verifyGrants(ctx, db, schema)
	if err != nil {
		return nil, err
	}
	return append(append(findings, version...), srv.keep(grants, schema)...), nil
}

// verifyKinds finds names of ours that something else has.
func verifyKinds(objects map[string]Kind, schema Schema) Findings {
	var out Findings
	for _, o := range Objects() {
		got, ok := objects[strings.ToLower(o.Name)]
		if ok && got != o.Kind {
			out = append(out, Finding{
				Object:  schema.Object(o.Name),
				Problem: fmt.Sprintf("is a %s, not a %s", got, o.Kind),
				Repair:  "Rename or drop it, or deploy into another schema.",
			})
		}
	}
	return out
}

// verifyPresence finds what is not there.
func verifyPresence(objects map[string]Kind, schema Schema) Findings {
	var out Findings
	for _, o := range Objects() {
		if _, ok := objects[strings.ToLower(o.Name)]; !ok {
			out = append(out, Finding{
				Object:  schema.Object(o.Name),
				Problem: fmt.Sprintf("the %s is not there", o.Kind),
				Repair:  "Run loopbroker deploy.",
			})
		}
	}
	return out
}

// verifySequences finds sequences of ours that count otherwise.
func verifySequences(got map[string]sequence, schema Schema) Findings {
	var out Findings
	for _, o := range Objects() {
		if o.Kind != KindSequence {
			continue
		}
		s, ok := got[strings.ToLower(o.Name)]
		want := sequence{Type: "bigint", Start: 1, Increment: 1}
		if ok && s != want {
			out = append(out, Finding{
				Object:  schema.Object(o.Name),
				Problem: fmt.Sprintf("is %+v, not %+v", s, want),
				Repair:  "Drop it while no program uses the channel, and deploy again.",
			})
		}
	}
	return out
}

// verifyModules finds modules of another text, or made under the wrong options.
func verifyModules(got map[string]module, schema Schema) Findings {
	var out Findings
	for _, o := range Objects() {
		m, ok := got[strings.ToLower(o.Name)]
		if !ok || !o.Kind.Module() {
			continue
		}
		problem := ""
		switch {
		case m.Definition == "":
			problem = "its text is hidden: it is encrypted, or the login may not see definitions"
		case !m.AnsiNulls || !m.QuotedIdentifier:
			problem = "was created with ANSI_NULLS or QUOTED_IDENTIFIER off, which it keeps"
		case !m.sameText(o, schema):
			problem = fmt.Sprintf("its text is not that of version %d", SchemaVersion)
		default:
			continue
		}
		out = append(out, Finding{Object: schema.Object(o.Name), Problem: problem, Repair: "Run loopbroker deploy."})
	}
	return out
}

// verifyVersion compares the version in the settings.
func verifyVersion(ctx context.Context, db querier, schema Schema) (Findings, error) {
	var version int
	err := db.QueryRowContext(ctx, schema.Statement(StatementSchemaVersion)).Scan(&version)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Findings{{schema.Object(TableSetting), "has no row", "Run loopbroker deploy.", false}}, nil
	case err != nil:
		return nil, fmt.Errorf("read the version: %w", err)
	case version > SchemaVersion:
		return Findings{{schema.Object(TableSetting),
			fmt.Sprintf("says version %d, this program is of version %d", version, SchemaVersion), "Use the newer program.", false}}, nil
	case version < SchemaVersion:
		return Findings{{schema.Object(TableSetting),
			fmt.Sprintf("says version %d, this program is of version %d", version, SchemaVersion), "Run loopbroker deploy.", false}}, nil
	default:
		return nil, nil
	}
}
