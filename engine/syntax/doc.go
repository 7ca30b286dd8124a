// Package syntax turns the text of a batch into a tree, and knows nothing of
// what the names in it mean.
//
// Reserved words are those that servers do not take as a name; every other word
// is contextual and may be one. There is no recovery: the first error ends the
// batch, with the number, text and line that SQL Server gives it. Every
// production consumes a token or fails, so that no input makes the parser hang;
// nesting is bounded, so that none makes it overflow the stack.
//
// A statement that T-SQL has but the tree cannot hold, or of which it cannot
// hold one clause, is an Unsupported with its source text: nothing that was
// written is ever ignored. Format turns a tree back into text.
package syntax
