package tsql_test

import (
	"errors"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"loopbroker"
	"loopbroker/tsql"
)

func TestNewSchema(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		ok   bool
	}{
		{"", true},
		{"dbo", true},
		{"Broker_2", true},
		{"_x", true},
		{strings.Repeat("a", 128), true},
		{strings.Repeat("a", 129), false},
		{"2x", false},
		{"a b", false},
		{"a]b", false},
		{"a'b", false},
		{"a.b", false},
		{"a-b", false},
		{"schéma", false},
		{"a;DROP TABLE t", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := tsql.NewSchema(tt.name)
			if tt.ok != (err == nil) {
				t.Fatalf("NewSchema(%q): %v, want ok = %t", tt.name, err, tt.ok)
			}
			if err != nil && !errors.Is(err, loopbroker.ErrInvalid) {
				t.Errorf("NewSchema(%q): %v, want %v", tt.name, err, loopbroker.ErrInvalid)
			}
			if want := tt.name; err == nil && want != "" && s.Name() != want {
				t.Errorf("Name() = %q, want %q", s.Name(), want)
			}
		})
	}
}

func TestRenderReplacesTheTokenEverywhere(t *testing.T) {
	t.Parallel()
	schema, err := tsql.NewSchema("broker")
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range scripts(t) {
		got := schema.Render(text)
		if strings.Contains(got, "[dbo]") {
			t.Errorf("%s: the token is still there", path)
		}
		if want := strings.Count(text, "[dbo]"); strings.Count(got, "[broker]") != want {
			t.Errorf("%s: got %d schemas, want %d", path, strings.Count(got, "[broker]"), want)
		}
	}
	if got, want := schema.Object(tsql.ProcClaim), "[broker].[sp_api_broker_claim]"; got != want {
		t.Errorf("Object = %q, want %q", got, want)
	}
}

func TestObjectsComeBeforeTheirCallers(t *testing.T) {
	t.Parallel()
	at := map[string]int{}
	for i, o := range tsql.Objects() {
		if _, twice := at[o.Name]; twice {
			t.Errorf("%s is there twice", o.Name)
		}
		at[o.Name] = i
	}
	for i, o := range tsql.Objects() {
		if o.Kind != tsql.KindProcedure {
			continue
		}
		for name := range at {
			if o.Name == tsql.ProcEnqueue && name == tsql.ProcEnqueueBatch {
				continue // they call each other
			}
			if called := strings.Contains(code(o.Text), "= [dbo].["+name+"]") || strings.Contains(code(o.Text), "EXEC [dbo].["+name+"]"); called && at[name] > i {
				t.Errorf("%s is deployed before %s, which it calls", o.Name, name)
			}
		}
	}
}

func TestStatementsAreAllListed(t *testing.T) {
	t.Parallel()
	files := 0
	for path := range scripts(t) {
		if strings.HasPrefix(path, "statements/") {
			files++
		}
	}
	if got := len(tsql.Statements()); got != files {
		t.Errorf("got %d statements, want one for each of the %d files", got, files)
	}
	for _, s := range tsql.Statements() {
		if !strings.HasPrefix(s.Text(), "/*\n") {
			t.Errorf("%s: no header comment", s)
		}
	}
}

func TestCausesAreInOrderAndInRange(t *testing.T) {
	t.Parallel()
	last := int32(tsql.FirstErrorNumber)
	for _, c := range tsql.Causes() {
		if c.Number <= last || c.Number > tsql.LastErrorNumber {
			t.Errorf("%d is out of order, or out of range", c.Number)
		}
		if c.Err == nil || c.What == "" {
			t.Errorf("%d has no sentinel or no text", c.Number)
		}
		last = c.Number
		got, ok := tsql.CauseOf(c.Number)
		if !ok || got != c {
			t.Errorf("CauseOf(%d) = %+v, %t", c.Number, got, ok)
		}
	}
}

func TestWrapError(t *testing.T) {
	t.Parallel()
	other := errors.New("something else")
	tests := []struct {
		name string
		err  error
		want error
	}{
		{"doomed", mssql.Error{Number: 54001}, loopbroker.ErrDoomedTransaction},
		{"wrapped by the driver", &wrapped{mssql.Error{Number: 54035}}, loopbroker.ErrIdempotencyConflict},
		{"schema version", mssql.Error{Number: 54060}, loopbroker.ErrSchema},
		{"followed by 3998", mssql.Error{Number: 3998, All: []mssql.Error{{Number: 54002}, {Number: 3998}}}, loopbroker.ErrNoLoopback},
		{"another number", mssql.Error{Number: 1205}, mssql.Error{Number: 1205}},
		{"not the server's", other, other},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tsql.WrapError(tt.err)
			if _, isServer := tt.want.(mssql.Error); isServer { //nolint:errorlint // the very same error is wanted
				var server mssql.Error
				if !errors.As(got, &server) || got.Error() != tt.err.Error() {
					t.Errorf("got %v, want it unchanged", got)
				}
				return
			}
			if !errors.Is(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got := tsql.WrapError(nil); got != nil {
		t.Errorf("WrapError(nil) = %v", got)
	}
}

// wrapped hides an error one level down.
type wrapped struct{ err error }

func (w *wrapped) Error() string { return "wrapped: " + w.err.Error() }
func (w *wrapped) Unwrap() error { return w.err }

func TestReturnCodesNeverShareASentinel(t *testing.T) {
	t.Parallel()
	seen := map[error]tsql.ReturnCode{}
	for code := tsql.CodePending; code <= tsql.CodeNoSuchRequest; code++ {
		err := code.Err()
		if code == tsql.CodeFailed {
			if err != nil {
				t.Errorf("code %d: got %v, want no error: there is a reply to read", code, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("code %d has no sentinel", code)
		}
		if other, ok := seen[err]; ok {
			t.Errorf("codes %d and %d share %v", code, other, err)
		}
		seen[err] = code
		if want := code <= tsql.CodeTooManyWaiters; code.Stored() != want {
			t.Errorf("code %d: Stored() = %t, want %t", code, code.Stored(), want)
		}
	}
	if err := tsql.ReturnCode(99).Err(); !errors.Is(err, loopbroker.ErrSchema) {
		t.Errorf("code 99: got %v, want %v", err, loopbroker.ErrSchema)
	}
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	if err := (tsql.Options{}).WithDefaults().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	err := tsql.Options{Schema: "a b", LinkServer: "x]y"}.Validate()
	if !errors.Is(err, loopbroker.ErrInvalid) || !strings.Contains(err.Error(), `"a b"`) || !strings.Contains(err.Error(), `"x]y"`) {
		t.Errorf("got %v, want both faults with their values", err)
	}
}
