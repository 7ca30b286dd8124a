package builtin_test

import "testing"

func TestStringFunctions(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		// "LEN", "DATALENGTH"
		{"LEN('abc  ')", "int 3"},
		{"LEN(N'日本 ')", "int 2"},
		{"LEN(nvarcharmax'abc')", "bigint 3"},
		{"LEN(12345)", "int 5"},
		{"LEN(text'x')", "8116 Argument data type text is invalid for argument 1 of len function."},
		{"LEN()", "174 The len function requires 1 argument(s)."},
		{"DATALENGTH('abc  ')", "int 5"},
		{"DATALENGTH(N'abc')", "int 6"},
		{"DATALENGTH(char10'abc')", "int 10"},
		{"DATALENGTH(1)", "int 4"},
		{"DATALENGTH(1.5)", "int 5"},
		{"DATALENGTH(0.00000000000000000001)", "int 5"}, // by the number, whatever its precision
		{"DATALENGTH(-12345678901.5)", "int 9"},
		{"DATALENGTH(datetime2'2020-01-01')", "int 8"},
		{"DATALENGTH(0x010203)", "int 3"},
		{"DATALENGTH(NULL)", "int NULL"},
		// "SUBSTRING": examples A and B, and the rules for start and length.
		{"SUBSTRING('abcdef', 2, 3)", "varchar(3) bcd"},
		{"SUBSTRING('abcdef', 0, 3)", "varchar(3) ab"},
		{"SUBSTRING('abcdef', -1, 3)", "varchar(3) a"},
		{"SUBSTRING('abcdef', 5, 2147483647)", "varchar(6) ef"},
		{"SUBSTRING('abcdef', 7, 1)", "varchar(1) "},
		{"SUBSTRING('abcdef', 2, -1)", "537 Invalid length parameter passed to the LEFT or SUBSTRING function."},
		{"SUBSTRING(N'añb', 2, 1)", "nvarchar(1) ñ"},
		{"SUBSTRING(0x010203, 2, 5)", "varbinary(3) 0x0203"},
		{"SUBSTRING(12345, 2, 1)", "8116 Argument data type int is invalid for argument 1 of substring function."},
		{"SUBSTRING(NULL, 1, 1)", "8116 Argument data type NULL is invalid for argument 1 of substring function."},
		{"SUBSTRING(null_varchar'', 1, 1)", "varchar(1) NULL"},
		// "LEFT", "RIGHT"
		{"LEFT('abcdefg', 2)", "varchar(2) ab"},
		{"LEFT(12345, 2)", "varchar(2) 12"},
		{"LEFT('abc', -1)", "537 Invalid length parameter passed to the LEFT or SUBSTRING function."},
		{"RIGHT('abcdefg', 2)", "varchar(2) fg"},
		{"RIGHT('abc', 5)", "varchar(3) abc"},
		{"RIGHT('abc', -1)", "536 Invalid length parameter passed to the RIGHT function."},
		// "REPLICATE", "REVERSE", "SPACE"
		{"REPLICATE('0', 4)", "varchar(8000) 0000"},
		{"REPLICATE('ab', 0)", "varchar(8000) "},
		{"REPLICATE('ab', -1)", "varchar(8000) NULL"},
		{"LEN(REPLICATE('ab', 5000))", "int 8000"},
		{"LEN(REPLICATE(varcharmax'ab', 5000))", "bigint 10000"},
		// Nothing of that size is built, not even for a moment.
		{"LEN(REPLICATE(varcharmax'ab', 200000000))", "701 There is insufficient system memory in resource pool 'default' to run this query."},
		{"LEN(REPLICATE(varcharmax'x', 3000000000))", "7119 Attempting to grow LOB beyond maximum allowed size of 2147483647 bytes."},
		{"LEN(REPLICATE(varcharmax'ab', 1200000000))", "7119 Attempting to grow LOB beyond maximum allowed size of 2147483647 bytes."},
		{"LEN(REPLICATE(varcharmax'ab', 9223372036854775807))", "7119 Attempting to grow LOB beyond maximum allowed size of 2147483647 bytes."},
		{"REPLACE(REPLICATE(varcharmax'a', 20000), 'a', REPLICATE(varcharmax'b', 10000))", "701 There is insufficient system memory in resource pool 'default' to run this query."},
		{"REVERSE('abc')", "varchar(3) cba"},
		{"REVERSE(N'aé日')", "nvarchar(3) 日éa"},
		{"REVERSE(1234)", "varchar(12) 4321"},
		{"DATALENGTH(SPACE(3))", "int 3"},
		{"SPACE(-1)", "varchar(8000) NULL"},
		// "STUFF": example A, and the rules for positions.
		{"STUFF('abcdef', 2, 3, 'ijklmn')", "varchar(9) aijklmnef"},
		{"STUFF('abc', 1, 0, 'x')", "varchar(4) xabc"},
		{"STUFF('abc', 4, 1, 'x')", "varchar(8000) NULL"},
		{"STUFF('abc', 0, 1, 'x')", "varchar(3) NULL"},
		{"STUFF('abc', 1, -1, 'x')", "varchar(5) NULL"},
		{"STUFF('abc', 2, 1, NULL)", "varchar(3) ac"},
		{"STUFF('abc', 2, 10, N'é')", "nvarchar(2) aé"},
		{"STUFF(0x010203, 2, 1, 0xFF)", "varbinary(3) 0x01FF03"},
		// "UPPER", "LOWER"
		{"UPPER('straße é')", "varchar(8) STRAßE É"},
		{"UPPER(0x6162)", "varchar(2) AB"},
		{"LOWER(N'ÀB')", "nvarchar(2) àb"},
		// "LTRIM", "RTRIM", "TRIM"
		{"LTRIM('  a ')", "varchar(4) a "},
		{"RTRIM('  a ')", "varchar(4)   a"},
		{"TRIM('     test    ')", "varchar(13) test"},
		{"TRIM('.,! ', '     #     test    .')", "varchar(20) #     test"},
		{"LTRIM('123abc.', '123')", "varchar(7) abc."},
		{"RTRIM('.123abc.', 'abc.')", "varchar(8) .123"},
		// "CONCAT", "CONCAT_WS"
		{"CONCAT('Happy ', 'Birthday ', 11, '/', '25')", "varchar(30) Happy Birthday 11/25"},
		{"CONCAT('a', NULL, N'b')", "nvarchar(3) ab"},
		{"CONCAT(NULL, NULL)", "varchar(2) "},
		{"CONCAT('a', varcharmax'b')", "varchar(max) ab"},
		{"CONCAT('a')", "189 The concat function requires 2 to 254 arguments."},
		{"CONCAT_WS(',', '1 Microsoft Way', NULL, NULL, 'Redmond', 98052)", "varchar(40) 1 Microsoft Way,Redmond,98052"},
		{"CONCAT_WS(NULL, 'a', 'b')", "varchar(3) ab"},
		{"CONCAT_WS(',', 'a')", "189 The concat_ws function requires 3 to 254 arguments."},
	})
}

func TestSearchFunctions(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		// "CHARINDEX"
		{"CHARINDEX('bicycle', 'Reflectors and BICYCLE')", "int 16"},
		{"CHARINDEX('a', 'banana', 3)", "int 4"},
		{"CHARINDEX('a', 'banana', -5)", "int 2"},
		{"CHARINDEX('x', 'banana')", "int 0"},
		{"CHARINDEX('', 'banana')", "int 0"},
		{"CHARINDEX('A', bin2'banana')", "int 0"},
		{"CHARINDEX('é', N'cafe')", "int 0"},
		{"CHARINDEX('n', nvarcharmax'banana')", "bigint 3"},
		{"CHARINDEX('n', null_varchar'')", "int NULL"},
		// "PATINDEX", examples
		{"PATINDEX('%ter%', 'interesting data')", "int 3"},
		{"PATINDEX('%en_ure%', 'Please ensure the door is locked!')", "int 8"},
		{"PATINDEX('%[^ 0-9A-z]%', 'Please ensure the door is locked!')", "int 33"},
		{"PATINDEX('abc', 'xabc')", "int 0"},
		{"PATINDEX('x%', 'xabc')", "int 1"},
		{"PATINDEX('%c', 'xabc')", "int 4"},
		{"PATINDEX('%a_c%e%', 'abx abc abc e')", "int 5"},
		{"PATINDEX('%a_c%e', 'abc abc e.')", "int 0"},
		{"PATINDEX('%', '')", "int 1"},
		{"PATINDEX('%a%b%', REPLICATE('a', 8000))", "int 0"},
		// "REPLACE"
		{"REPLACE('abcdefghicde', 'cde', 'xxx')", "varchar(8000) abxxxfghixxx"},
		{"REPLACE('aBcAbC', 'b', '')", "varchar(8000) acAC"},
		{"REPLACE('abc', '', 'x')", "varchar(8000) abc"},
		{"REPLACE('abc', NULL, 'x')", "varchar(8000) NULL"},
		{"REPLACE(bin2'aBc', 'b', 'x')", "nvarchar(4000) aBc"},
		{"REPLACE(varcharmax'abc', 'b', 'xy')", "varchar(max) axyc"},
		{"REPLACE('éa', N'a', N'日')", "nvarchar(4000) é日"},
		// "TRANSLATE"
		{"TRANSLATE('2*[3+4]/{7-2}', '[]{}', '()()')", "varchar(13) 2*(3+4)/(7-2)"},
		{"TRANSLATE('abcdef', 'abc', 'bcd')", "varchar(6) bcddef"},
		{"TRANSLATE('a', 'ab', 'x')", "9828 The second and third arguments of the TRANSLATE built-in function must contain an equal number of characters."},
	})
}

func TestCharacterFunctions(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"ASCII('A')", "int 65"},
		{"ASCII('€')", "int 128"},
		{"ASCII('')", "int NULL"},
		{"UNICODE(N'Åkergatan')", "int 197"},
		{"UNICODE(N'😀')", "int 55357"},
		{"CHAR(65)", "char(1) A"},
		{"CHAR(128)", "char(1) €"},
		{"CHAR(256)", "char(1) NULL"},
		{"NCHAR(197)", "nchar(1) Å"},
		{"NCHAR(-1)", "nchar(1) NULL"},
		{"QUOTENAME('abc[]def')", "nvarchar(258) [abc[]]def]"},
		{"QUOTENAME('a''b', '''')", "nvarchar(258) 'a''b'"},
		{"QUOTENAME('a', '(')", "nvarchar(258) (a)"},
		{"QUOTENAME('a', 'x')", "nvarchar(258) NULL"},
		{"QUOTENAME(REPLICATE('a', 129))", "nvarchar(258) NULL"},
		// "PARSENAME"
		{"PARSENAME('AdventureWorksPDW2012.dbo.DimCustomer', 1)", "nvarchar(128) DimCustomer"},
		{"PARSENAME('AdventureWorksPDW2012.dbo.DimCustomer', 3)", "nvarchar(128) AdventureWorksPDW2012"},
		{"PARSENAME('AdventureWorksPDW2012.dbo.DimCustomer', 4)", "nvarchar(128) NULL"},
		{"PARSENAME('[a.b].\"c\"\"d\"', 2)", "nvarchar(128) a.b"},
		{"PARSENAME('[a.b].\"c\"\"d\"', 1)", `nvarchar(128) c"d`},
		{"PARSENAME('db..t', 2)", "nvarchar(128) NULL"},
		{"PARSENAME('1.2.3.4.5', 1)", "nvarchar(128) NULL"},
		{"PARSENAME('192.168.0.1', 4)", "nvarchar(128) 192"},
		// "SOUNDEX", "DIFFERENCE"
		{"SOUNDEX('Smith')", "varchar(4) S530"},
		{"SOUNDEX('Smythe')", "varchar(4) S530"},
		{"SOUNDEX('Robert')", "varchar(4) R163"},
		{"SOUNDEX('Tymczak')", "varchar(4) T522"},
		{"SOUNDEX('')", "varchar(4) 0000"},
		{"DIFFERENCE('Green', 'Greene')", "int 4"},
		{"DIFFERENCE('Blotchet-Halls', 'Greene')", "int 0"},
		// "STR"
		{"STR(123.45, 6, 1)", "varchar(6)  123.5"},
		{"STR(123.45, 2, 2)", "varchar(2) **"},
		{"STR(FLOOR(123.45), 8, 3)", "varchar(8)  123.000"},
		{"STR(123)", "varchar(10)        123"},
		{"STR(-0.5e0, 5, 1)", "varchar(5)  -0.5"},
		// "STRING_ESCAPE"
		{"STRING_ESCAPE('\\\t/', 'json')", `nvarchar(max) \\\t\/`},
		{"STRING_ESCAPE('a', 'xml')", "40510 'STRING_ESCAPE of type xml' is not supported by the embedded engine."},
	})
}
