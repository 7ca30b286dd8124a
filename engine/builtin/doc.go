// Package builtin holds the built-in scalar and aggregate functions: their
// arity, the type of their result and what they compute. The planner binds a
// call to a Func or an Aggregate of this package; the executor evaluates it.
//
//	Lookup(name) (*Func, bool)             scalar function or @@variable, upper case
//	LookupAggregate(name) (*Aggregate, bool)
//	Functions() []string, Aggregates()     sorted names, for the documentation
//	package builtin/json                   JSON text: tokenizer, SQL path (lax, strict), modify, OPENJSON rows, FOR JSON writing
//	Like(s, pattern, escape, collation)    the LIKE predicate
//	FormatMessage(format, args)            RAISERROR's and FORMATMESSAGE's printf rules
package builtin
