// Package builtin holds the built-in scalar and aggregate functions: their
// arity, the type of their result and what they compute. The planner binds a
// call to a Func or an Aggregate of this package; the executor evaluates it.
//
//	Lookup(name) (*Func, bool)             scalar function or @@variable, upper case
//	LookupAggregate(name) (*Aggregate, bool)
//	Functions() []string, Aggregates()     sorted names, for the documentation
//	Missing(name)                          a function of SQL Server that is not here: refuse it with 40510, not 195
//	(*Func).CheckArity(n)                  error 174 or 189
//	package builtin/json                   JSON text: tokenizer, SQL path (lax, strict), modify, OPENJSON rows, FOR JSON writing
//	CompileLike, Like                      the LIKE predicate
//	FormatMessage(format, args)            RAISERROR's and FORMATMESSAGE's printf rules
//	SplitName(text)                        a name of up to four parts, as PARSENAME and OBJECT_ID read it
//	Random, Randomizer                     RAND's state, which a session keeps
//
// # What the planner and the executor do
//
//   - COUNT(*) is COUNT without an argument; a star in CHECKSUM(*) is expanded.
//   - DISTINCT, GROUPING and GROUPING_ID are the executor's.
//   - Date parts (Func.DatePart) and the column of UPDATE (Func.ColumnArg) arrive
//     as text. A function whose type depends on a constant finds it in consts.
//   - Lazy functions evaluate only what they need.
//   - JSON_MODIFY is bound to Func.Raw when its last argument is JSON text.
//   - NEWSEQUENTIALID outside of a column's DEFAULT is error 302.
//   - Functions that read dates from text are not deterministic: they depend on
//     SET DATEFORMAT and SET LANGUAGE.
package builtin
