package session

import (
	"loopbroker/engine/catalog"
	"loopbroker/engine/sqlerr"
	"loopbroker/engine/syntax"
)

// inFunction reports whether the program is that of a user-defined function.
func (c *compiler) inFunction() bool {
	m := c.p.module
	return m != nil && (m.ModuleKind == catalog.KindScalarFunction || m.ModuleKind == catalog.KindTableFunction)
}

// sideEffect refuses the statements that a function may not have, error 443
// and 444.
func sideEffect(s syntax.Statement) error {
	word := ""
	switch s := s.(type) {
	case *syntax.Insert:
		word = ofTable("INSERT", s.Target)
		if s.Exec != nil {
			word = "INSERT EXEC"
		}
	case *syntax.Update:
		word = ofTable("UPDATE", s.Target)
	case *syntax.Delete:
		word = ofTable("DELETE", s.Target)
	case *syntax.Merge:
		word = ofTable("MERGE", s.Target)
	case *syntax.SelectStmt:
		return selectInFunction(s)
	case *syntax.Exec:
		if s.Strings != nil {
			word = "EXECUTE STRING"
		}
	default:
		word = effectWord(s)
	}
	if word == "" {
		return nil
	}
	return sqlerr.New(443, word).At(s.At().Line)
}

// ofTable is the word when the target is not a table variable.
func ofTable(word string, target syntax.TableExpr) string {
	if _, ok := target.(*syntax.VariableRef); ok {
		return ""
	}
	return word
}

// effectWord names a statement that has side effects whatever it names, empty
// for one that has none.
func effectWord(s syntax.Statement) string {
	switch s := s.(type) {
	case *syntax.Print:
		return "PRINT"
	case *syntax.TryCatch:
		return "BEGIN TRY"
	case *syntax.RaiseError:
		return "RAISERROR"
	case *syntax.Throw:
		return "THROW"
	case *syntax.WaitFor:
		return "WAITFOR"
	case *syntax.BeginTran:
		return "BEGIN TRANSACTION"
	case *syntax.CommitTran:
		return "COMMIT TRANSACTION"
	case *syntax.RollbackTran:
		return "ROLLBACK TRANSACTION"
	case *syntax.SaveTran:
		return "SAVE TRANSACTION"
	case *syntax.SetOption:
		if s.On {
			return "SET OPTION ON"
		}
		return "SET OPTION OFF"
	case *syntax.Truncate:
		return "TRUNCATE TABLE"
	case *syntax.CreateTable:
		return "CREATE TABLE"
	case *syntax.Drop:
		return "DROP OBJECT"
	}
	return ""
}

// selectInFunction refuses a query that would send rows to the client.
func selectInFunction(s *syntax.SelectStmt) error {
	q, ok := s.Query.(*syntax.Select)
	switch {
	case ok && q.Into != nil:
		return sqlerr.New(443, "SELECT INTO").At(s.Line)
	case !ok || len(q.Items) == 0 || q.Items[0].Assign == "":
		return sqlerr.New(444).At(s.Line)
	}
	return nil
}
