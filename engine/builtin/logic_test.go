package builtin_test

import "testing"

func TestLogicFunctions(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"COALESCE(NULL, null_int'', 5)", "int 5"},
		{"COALESCE(null_int'', 1.5)", "decimal(11,1) 1.5"},
		{"COALESCE(null_varchar'', N'x')", "nvarchar(10) x"},
		{"COALESCE(NULL, NULL)", "4127 At least one of the arguments to COALESCE must be an expression that is not the NULL constant."},
		{"ISNULL(null_varchar'', 'a long replacement')", "varchar(10) a long rep"},
		{"ISNULL(null_int'', '7')", "int 7"},
		{"ISNULL(NULL, 'x')", "varchar(1) x"},
		{"ISNULL(null_int'', NULL)", "int NULL"},
		{"ISNULL(3, 4)", "int 3"},
		{"NULLIF(4, 4)", "int NULL"},
		{"NULLIF(5, 4.0)", "int 5"},
		{"NULLIF('a', 'A ')", "varchar(1) NULL"},
		{"NULLIF('a', NULL)", "varchar(1) a"},
		{"NULLIF(NULL, 1)", "4151 The type of the first argument to NULLIF cannot be the NULL constant because the type of the first argument has to be known."},
		{"IIF(bit'1', 'TRUE', 'FALSE')", "varchar(5) TRUE"},
		{"IIF(NULL, 1, 2)", "int 2"},
		{"IIF(bit'1', NULL, 2)", "int NULL"},
		{"IIF(bit'1', NULL, NULL)", "8133 At least one of the result expressions in a CASE specification must be an expression other than the NULL constant."},
		{"CHOOSE(3, 'Manager', 'Director', 'Developer', 'Tester')", "varchar(9) Developer"},
		{"CHOOSE(0, 'a', 'b')", "varchar(1) NULL"},
		{"CHOOSE(3, 'a', 'b')", "varchar(1) NULL"},
		{"CHOOSE(1.9, 1, 2.5)", "decimal(11,1) 1.0"},
		{"ISNUMERIC('12.5')", "int 1"},
		{"ISNUMERIC('1e5')", "int 1"},
		{"ISNUMERIC('1d5')", "int 1"},
		{"ISNUMERIC('$1,234')", "int 1"},
		{"ISNUMERIC('-')", "int 1"},
		{"ISNUMERIC('')", "int 0"},
		{"ISNUMERIC('12a')", "int 0"},
		{"ISNUMERIC(1.5)", "int 1"},
		{"ISNUMERIC(date'2020-01-01')", "int 0"},
		{"ISNUMERIC(NULL)", "int 0"},
	})
}
