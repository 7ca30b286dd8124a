// Package json works on JSON text the way SQL Server's JSON functions do: it
// reads the text from left to right with a tokenizer of its own and stops as
// soon as a path is satisfied, so that what follows is neither read nor judged.
//
//	IsJSON(text)                    ISJSON
//	ParsePath, ParseModifyPath      SQL paths: lax and strict, quoted names, array indexes, append
//	Value, Query, Exists            JSON_VALUE, JSON_QUERY
//	Modify                          JSON_MODIFY; formatting and order are kept
//	Open, Rows                      OPENJSON, both schemas
//	Writer                          FOR JSON PATH and FOR JSON AUTO
//	AppendValue, AppendString       a SQL value and a string as JSON text
//	Escape                          STRING_ESCAPE
//
// Positions in messages count UTF-16 code units from zero; a text that ends too
// early is reported as the character '.' at its length, as SQL Server does.
package json
