package builtin

import (
	"maps"
	"slices"
	"strings"
	"time"

	"loopbroker/engine/sqlerr"
	"loopbroker/engine/types"
)

// Env is what a function may ask of the session that runs it.
type Env interface {
	// Now is the server's clock, in UTC, the same for one statement.
	Now() time.Time
	// Property answers a function of the session or the catalog, which the
	// registry marks with FromSession, by its upper-case name: OBJECT_ID,
	// SESSION_CONTEXT, SUSER_SNAME, ERROR_NUMBER, XACT_STATE, SCOPE_IDENTITY,
	// and the global variables as @@TRANCOUNT. The number of arguments has been
	// checked against the registry.
	Property(name string, args []types.Value) (types.Value, error)
	// Options are the SET options that change what functions do.
	Options() Options
}

// Options are the SET options that change what functions and operators do.
type Options struct {
	DateFirst              int    // SET DATEFIRST, 1 to 7
	DateFormat             string // SET DATEFORMAT: mdy, dmy, ymd, …
	Language               string // SET LANGUAGE: us_english, …
	ConcatNullYieldsNull   bool
	AnsiNulls, AnsiPadding bool
	AnsiWarnings           bool
	ArithAbort             bool
}

// Func is one scalar function.
type Func struct {
	// Name is in upper case; global variables keep their @@.
	Name string
	// Min and Max are the numbers of arguments; Max is -1 for no limit.
	Min, Max int
	// DatePart says that the first argument is a date part and not an
	// expression; it arrives as a varchar of the word as written.
	DatePart bool
	// Type gives the type of the result. A literal argument's value is in
	// consts (nil where the argument is not constant), for functions whose type
	// depends on a value (CONVERT has a node of its own and is not here).
	Type func(args []types.Type, consts []*types.Value) (types.Type, error)
	// Eval computes the result. Arguments arrive as they were evaluated, not
	// converted; Eval converts them.
	Eval func(env Env, args []types.Value, argTypes []types.Type, result types.Type) (types.Value, error)
	// Volatile functions give another result for each row: NEWID. What is neither
	// Volatile nor Deterministic depends on the session and may be evaluated once
	// a statement.
	Volatile bool
	// Deterministic functions may be folded when their arguments are constants.
	Deterministic bool
	// FromSession functions are answered by Env.Property; Eval is nil.
	FromSession bool
	// Lazy functions evaluate only the arguments that they need (COALESCE,
	// ISNULL, NULLIF, IIF, CHOOSE); the executor does that. Eval, given all
	// arguments, computes the same result. The first argument of IIF is a
	// condition, which Eval takes as a bit.
	Lazy bool
	// Variable is a global variable or a niladic function, written without
	// parentheses: @@TRANCOUNT, CURRENT_TIMESTAMP, USER.
	Variable bool
	// ReturnsJSON functions give JSON text that FOR JSON and JSON_MODIFY embed
	// as it is instead of as a string.
	ReturnsJSON bool
	// Raw is the function to bind in place of this one when its last argument is
	// a function that ReturnsJSON or a subquery with FOR JSON; nil for all but
	// JSON_MODIFY.
	Raw *Func
	// ColumnArg says that the argument is the name of a column and not an
	// expression; it arrives as an nvarchar: UPDATE(column).
	ColumnArg bool
}

// CheckArity reports a wrong number of arguments: error 174 or 189.
func (f *Func) CheckArity(n int) error { return checkArity(f.Name, n, f.Min, f.Max) }

func checkArity(name string, n, least, most int) error {
	if n >= least && (most < 0 || n <= most) {
		return nil
	}
	name = strings.ToLower(name)
	if least == most {
		return sqlerr.New(174, name, least)
	}
	if most < 0 {
		most = maxArguments
	}
	return sqlerr.New(189, name, least, most)
}

// maxArguments is the most arguments that a function without a limit of its own
// takes, as error 189 names it.
const maxArguments = 254

// Lookup returns the scalar function or global variable of the given name,
// which is in upper case.
func Lookup(name string) (*Func, bool) {
	f, ok := functions[name]
	return f, ok
}

// LookupAggregate returns the aggregate of the given name, which is in upper
// case.
func LookupAggregate(name string) (*Aggregate, bool) {
	a, ok := aggregates[name]
	return a, ok
}

// Functions are the names of all scalar functions and global variables, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

// Aggregates are the names of all aggregates, sorted.
func Aggregates() []string { return slices.Sorted(maps.Keys(aggregates)) }

// functions are the scalar functions by name.
var functions = index(stringFuncs(), searchFuncs(), characterFuncs(), formatFuncs(), mathFuncs(), dateFuncs(),
	datePartFuncs(), clockFuncs(), logicFuncs(), hashFuncs(), binaryFuncs(), jsonFuncs(), sessionFuncs(), catalogFuncs())

func index(families ...[]*Func) map[string]*Func {
	m := map[string]*Func{}
	for _, family := range families {
		for _, f := range family {
			if _, twice := m[f.Name]; twice {
				panic("builtin: " + f.Name + " is registered twice")
			}
			m[f.Name] = f
		}
	}
	return m
}

// Aggregate is one aggregate function. DISTINCT, and GROUPING and GROUPING_ID,
// which look at the grouping and not at values, are the executor's.
type Aggregate struct {
	// Name is in upper case.
	Name string
	// Min and Max are the numbers of arguments; Max is -1 for no limit.
	Min, Max int
	// Type gives the type of the result.
	Type func(args []types.Type) (types.Type, error)
	// Ordered aggregates take WITHIN GROUP (ORDER BY …): the executor sorts the
	// rows of a group before it steps.
	Ordered bool
	// Warns says that a NULL which the aggregate ignores is worth message 8153.
	Warns bool
	// New returns a fresh accumulator for one group.
	New func(args []types.Type, result types.Type) Accumulator
}

// CheckArity reports a wrong number of arguments: error 174 or 189.
func (a *Aggregate) CheckArity(n int) error { return checkArity(a.Name, n, a.Min, a.Max) }

// Accumulator computes one aggregate over one group.
type Accumulator interface {
	// Step takes one row's arguments. NULLs are passed too; the aggregate
	// ignores them as documented.
	Step(args []types.Value) error
	// Result is the aggregate of the rows so far.
	Result() (types.Value, error)
}
