package builtin_test

import (
	"strings"
	"testing"

	"loopbroker/engine/builtin"
	"loopbroker/engine/types"
)

func TestHashFunctions(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		// Test vectors of FIPS 180-4 and RFC 1321.
		{"HASHBYTES('MD5', 'abc')", "varbinary(8000) 0x900150983CD24FB0D6963F7D28E17F72"},
		{"HASHBYTES('sha1', 'abc')", "varbinary(8000) 0xA9993E364706816ABA3E25717850C26C9CD0D89D"},
		{"HASHBYTES('SHA', 'abc')", "varbinary(8000) 0xA9993E364706816ABA3E25717850C26C9CD0D89D"},
		{"HASHBYTES('SHA2_256', 'abc')", "varbinary(8000) 0xBA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"},
		{"HASHBYTES('SHA2_256', 0x616263)", "varbinary(8000) 0xBA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"},
		// nvarchar is hashed as UTF-16.
		{"HASHBYTES('MD5', N'abc')", "varbinary(8000) 0xCE1473CF80C6B3FDA8E3DFC006ADC315"},
		{"HASHBYTES('SHA3', 'abc')", "varbinary(8000) NULL"},
		{"HASHBYTES('MD2', 'abc')", "40510 'HASHBYTES with MD2' is not supported by the embedded engine."},
		{"HASHBYTES('MD5', NULL)", "varbinary(8000) NULL"},
		{"HASHBYTES('MD5', 1)", "8116 Argument data type int is invalid for argument 2 of hashbytes function."},
		{"CHECKSUM(1)", "int 1"},
		{"CHECKSUM(1, 2)", "int 18"},
		{"CHECKSUM(NULL)", "int 2147483647"},
		{"BINARY_CHECKSUM('A')", "int 65"},
		{"BINARY_CHECKSUM('AB')", "int 1106"},
	})
	same := func(a, b string) bool { return evaluate(t, newSession(), a) == evaluate(t, newSession(), b) }
	if !same("CHECKSUM('Abc ')", "CHECKSUM('aBC')") || same("CHECKSUM('abc')", "CHECKSUM('abd')") {
		t.Error("CHECKSUM does not follow the collation")
	}
	if same("BINARY_CHECKSUM('Abc')", "BINARY_CHECKSUM('abc')") {
		t.Error("BINARY_CHECKSUM does not tell case")
	}
	if !same("CHECKSUM(datetime'2020-01-01')", "CHECKSUM(datetime'2020-01-01')") || same("CHECKSUM(1.5)", "CHECKSUM(1.6)") {
		t.Error("CHECKSUM of other types")
	}
}

func TestCompress(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"DECOMPRESS(COMPRESS('abc'))", "varbinary(max) 0x616263"},
		{"DECOMPRESS(COMPRESS(N'ab'))", "varbinary(max) 0x61006200"},
		{"DECOMPRESS(0x0102)", "varbinary(max) NULL"},
		{"COMPRESS(1)", "8116 Argument data type int is invalid for argument 1 of compress function."},
		{"DECOMPRESS('a')", "8116 Argument data type varchar is invalid for argument 1 of decompress function."},
		{"DATALENGTH(CRYPT_GEN_RANDOM(50))", "int 50"},
		{"CRYPT_GEN_RANDOM(0)", "varbinary(8000) NULL"},
	})
}

func TestNewSequentialID(t *testing.T) {
	t.Parallel()
	f, _ := builtin.Lookup("NEWSEQUENTIALID")
	var last types.Value
	for i := range 1000 {
		v, err := f.Eval(newSession(), nil, nil, types.TypeUniqueIdentifier)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && types.Compare(last, v, nil) >= 0 {
			t.Fatalf("%v is not after %v", v, last)
		}
		last = v
	}
}

func TestNewID(t *testing.T) {
	t.Parallel()
	f, _ := builtin.Lookup("NEWID")
	a, _ := f.Eval(newSession(), nil, nil, types.TypeUniqueIdentifier)
	b, _ := f.Eval(newSession(), nil, nil, types.TypeUniqueIdentifier)
	if a.Raw() == b.Raw() || !f.Volatile || f.Deterministic {
		t.Errorf("got %v and %v", a, b)
	}
	if s := a.String(); len(s) != 36 || s[14] != '4' || strings.ToUpper(s) != s {
		t.Errorf("not a random GUID: %s", s)
	}
}

func TestVariantProperties(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"SQL_VARIANT_PROPERTY(1.50, 'BaseType')", "sql_variant decimal"},
		{"SQL_VARIANT_PROPERTY(1.50, 'Precision')", "sql_variant 3"},
		{"SQL_VARIANT_PROPERTY(1.50, 'Scale')", "sql_variant 2"},
		{"SQL_VARIANT_PROPERTY(N'abc', 'MaxLength')", "sql_variant 6"},
		{"SQL_VARIANT_PROPERTY('abc', 'Collation')", "sql_variant SQL_Latin1_General_CP1_CI_AS"},
		{"SQL_VARIANT_PROPERTY(1, 'Collation')", "sql_variant NULL"},
		{"SQL_VARIANT_PROPERTY(NULL, 'BaseType')", "sql_variant NULL"},
		{"COLLATIONPROPERTY('Latin1_General_CI_AS', 'CodePage')", "sql_variant 1252"},
		{"COLLATIONPROPERTY('Latin1_General_CI_AS', 'LCID')", "sql_variant 1033"},
		{"COLLATIONPROPERTY('None', 'LCID')", "sql_variant NULL"},
	})
}

func TestJSONFunctions(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"ISJSON('{\"a\":1}')", "int 1"},
		{"ISJSON('x')", "int 0"},
		{"ISJSON(NULL)", "int NULL"},
		{"JSON_VALUE('{\"a\":[1,\"x\"]}', '$.a[1]')", "nvarchar(4000) x"},
		{"JSON_VALUE(NULL, '$.a')", "nvarchar(4000) NULL"},
		{"JSON_VALUE('{}', NULL)", "8116 Argument data type NULL is invalid for argument 2 of json_value function."},
		{"JSON_VALUE('{}', null_varchar'')", "8116 Argument data type NULL is invalid for argument 2 of JSON_VALUE function."},
		{"JSON_VALUE(1, '$')", "8116 Argument data type int is invalid for argument 1 of json_value function."},
		{"JSON_VALUE('{}', 'x')", "13607 JSON path is not properly formatted. Unexpected character 'x' is found at position 0."},
		{"JSON_QUERY('{\"a\":[1,2]}', '$.a')", "nvarchar(max) [1,2]"},
		{"JSON_QUERY(' {\"a\":1} ')", "nvarchar(max) {\"a\":1}"},
		{"JSON_QUERY('{}', '$', '$')", "189 The json_query function requires 1 to 2 arguments."},
		{"JSON_MODIFY('{\"a\":1}', '$.a', 'x/y')", `nvarchar(max) {"a":"x\/y"}`},
		{"JSON_MODIFY('{\"a\":1}', '$.a', 5)", `nvarchar(max) {"a":5}`},
		{"JSON_MODIFY('{\"a\":1}', '$.a', bit'1')", `nvarchar(max) {"a":true}`},
		{"JSON_MODIFY('{\"a\":1}', '$.a', NULL)", `nvarchar(max) {}`},
		{"JSON_MODIFY('{\"a\":1}', '$.b', '[1]')", `nvarchar(max) {"a":1,"b":"[1]"}`},
		{"JSON_MODIFY('{}', '$.a', date'2020-01-01')", "8116 Argument data type date is invalid for argument 3 of json_modify function."},
		{"JSON_MODIFY(NULL, '$.b', 1)", `nvarchar(max) NULL`},
		{"JSON_PATH_EXISTS('{\"a\":1}', '$.a')", `bit 1`},
	})
	f, _ := builtin.Lookup("JSON_MODIFY")
	args := []types.Value{types.NewNVarChar(`{}`), types.NewNVarChar(`$.a`), types.NewNVarChar(`[1]`)}
	argTypes := []types.Type{types.NVarChar(10), types.NVarChar(10), types.NVarChar(10)}
	v, err := f.Raw.Eval(newSession(), args, argTypes, types.NVarChar(types.Max))
	if err != nil || v.Text() != `{"a":[1]}` {
		t.Errorf("raw: got %v, %v", v, err)
	}
}
