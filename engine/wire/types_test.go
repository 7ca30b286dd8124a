package wire_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/shopspring/decimal"

	"loopbroker/engine/types"
	"loopbroker/engine/wire"
)

// TestParameters sends every kind of Go parameter and gets it back as a column.
func TestParameters(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 5*3600+30*60)
	instant := time.Date(2024, 2, 29, 23, 59, 58, 123456700, zone)
	guid := mssql.UniqueIdentifier{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	megabyte := strings.Repeat("0123456789abcdeż", 1<<16)
	half := string([]byte{'a'}) + "\U0001F600"
	cases := []struct {
		name   string
		arg    any
		typ    types.Type // what the session must see
		scanTo any        // what comes back
	}{
		{"nil", nil, types.Type{}, nil},
		{"int", 42, types.TypeBigInt, int64(42)},
		{"int64 min", int64(math.MinInt64), types.TypeBigInt, int64(math.MinInt64)},
		{"int32", int32(-7), types.TypeInt, int64(-7)},
		{"int16", int16(-300), types.TypeSmallInt, int64(-300)},
		{"byte", byte(200), types.TypeTinyInt, int64(200)},
		{"bool", true, types.TypeBit, true},
		{"null int64", sql.NullInt64{}, types.TypeBigInt, nil},
		{"null bool", sql.NullBool{}, types.TypeBit, nil},
		{"null string", sql.NullString{}, types.NVarChar(4000), nil},
		{"null float", sql.NullFloat64{}, types.TypeFloat, nil},
		{"null time", sql.NullTime{}, types.DateTimeOffset(7), nil},
		{"float64", 1.5e300, types.TypeFloat, 1.5e300},
		{"float32", float32(0.25), types.TypeReal, 0.25},
		{"string", "żółć", types.NVarChar(4), "żółć"},
		{"empty string", "", types.NVarChar(types.Max), ""},
		{"surrogate pair", half, types.NVarChar(3), half},
		{"string of 4000", strings.Repeat("x", 4000), types.NVarChar(4000), strings.Repeat("x", 4000)},
		{"string of 4001", strings.Repeat("x", 4001), types.NVarChar(types.Max), strings.Repeat("x", 4001)},
		{"string of 1 MB", megabyte, types.NVarChar(types.Max), megabyte},
		{"varchar", mssql.VarChar("abc"), types.VarChar(3), "abc"},
		{"varchar max", mssql.VarCharMax("abc"), types.VarChar(types.Max), "abc"},
		{"nvarchar max", mssql.NVarCharMax("äbc"), types.NVarChar(types.Max), "äbc"},
		{"nchar", mssql.NChar("äbc"), types.NChar(3), "äbc"},
		{"bytes", []byte{0, 1, 0xFF}, types.VarBinary(3), []byte{0, 1, 0xFF}},
		{"no bytes", []byte{}, types.VarBinary(types.Max), []byte{}},
		{"bytes of 1 MB", []byte(megabyte), types.VarBinary(types.Max), []byte(megabyte)},
		{"time", instant, types.DateTimeOffset(7), instant},
		{"datetimeoffset", mssql.DateTimeOffset(instant), types.DateTimeOffset(7), instant},
		{"datetime", mssql.DateTime1(time.Date(2024, 2, 29, 23, 59, 59, 997e6, time.UTC)), types.TypeDateTime, time.Date(2024, 2, 29, 23, 59, 59, 997e6, time.UTC)},
		{"date", civil.Date{Year: 1, Month: 1, Day: 1}, types.TypeDate, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"last date", civil.Date{Year: 9999, Month: 12, Day: 31}, types.TypeDate, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)},
		{"time of day", civil.Time{Hour: 23, Minute: 59, Second: 59, Nanosecond: 999999900}, types.Time(7), time.Date(1, 1, 1, 23, 59, 59, 999999900, time.UTC)},
		{"datetime2", civil.DateTime{Date: civil.Date{Year: 2024, Month: 2, Day: 29}, Time: civil.Time{Hour: 1}}, types.DateTime2(7), time.Date(2024, 2, 29, 1, 0, 0, 0, time.UTC)},
		{"guid", guid, types.TypeUniqueIdentifier, []byte{4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16}},
		{"decimal", decimal.RequireFromString("-12345678901234567890.123456789"), types.Type{Kind: types.KindNVarChar, Length: 31, Collation: types.DefaultCollation}, "-12345678901234567890.123456789"},
	}
	kinds := make(chan types.Type, 1)
	for _, params := range []string{"encrypt=disable", "encrypt=disable;packet size=512"} {
		b := &backend{calls: map[string]callFunc{"echo it": func(_ context.Context, _ *session, call wire.Call, out wire.Output) {
			kinds <- call.Params[2].Type
			echo(out, call.Params[2:])
		}}}
		db := openMemory(t, newServer(t, b, wire.Options{}), params)
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) {
				var got any
				err := db.QueryRowContext(context.Background(), "echo it", tc.arg).Scan(&got)
				if err != nil {
					t.Fatal(err)
				}
				if typ := <-kinds; typ != tc.typ {
					t.Errorf("the session saw %v, want %v", typ, tc.typ)
				}
				if !same(got, tc.scanTo) {
					t.Errorf("got %.200s, want %.200s", describe(got), describe(tc.scanTo))
				}
			})
		}
	}
}

// same compares what a driver returns; times must show the same in the same zone.
func same(got, want any) bool {
	if w, ok := want.([]byte); ok {
		switch g := got.(type) {
		case []byte:
			return bytes.Equal(g, w)
		}
		return false
	}
	if w, ok := want.(time.Time); ok {
		g, ok := got.(time.Time)
		if !ok {
			return false
		}
		_, a := g.Zone()
		_, b := w.Zone()
		return g.Equal(w) && a == b
	}
	return got == want
}

// columnCases is a value of every type, and what go-mssqldb makes of it.
func columnCases() []struct {
	typ   types.Type
	value types.Value
	want  any
	name  string // DatabaseTypeName
} {
	guid := "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F\x10"
	day := func(h, m, s, ns int) time.Time { return time.Date(2024, 2, 29, h, m, s, ns, time.UTC) }
	const days2024, days1900 = 738944, 693595 // since 0001-01-01: 2024-02-29, 1900-01-01
	const noon = 12 * 3600 * 10_000_000
	text := types.Type{Kind: types.KindText, Collation: types.DefaultCollation}
	ntext := types.Type{Kind: types.KindNText, Collation: types.DefaultCollation}
	return []struct {
		typ   types.Type
		value types.Value
		want  any
		name  string
	}{
		{types.TypeBit, types.NewBit(true), true, "BIT"},
		{types.TypeTinyInt, types.NewTinyInt(255), int64(255), "TINYINT"},
		{types.TypeSmallInt, types.NewSmallInt(-32768), int64(-32768), "SMALLINT"},
		{types.TypeInt, types.NewInt(math.MinInt32), int64(math.MinInt32), "INT"},
		{types.TypeBigInt, types.NewBigInt(math.MaxInt64), int64(math.MaxInt64), "BIGINT"},
		{types.TypeReal, types.NewReal(-0.5), -0.5, "REAL"},
		{types.TypeFloat, types.NewFloat(math.MaxFloat64), math.MaxFloat64, "FLOAT"},
		{types.Decimal(9, 3), types.NewDecimal(0, 12340, false, 9, 3), []byte("12.340"), "DECIMAL"},
		{types.Decimal(19, 0), types.NewDecimal(0, 1, true, 19, 0), []byte("-1"), "DECIMAL"},
		{types.Decimal(28, 28), types.NewDecimal(0, 1, false, 28, 28), []byte("0.0000000000000000000000000001"), "DECIMAL"},
		{types.Decimal(38, 0), types.NewDecimal(0x4B3B4CA85A86C47A, 0x098A223FFFFFFFFF, true, 38, 0), []byte("-" + strings.Repeat("9", 38)), "DECIMAL"},
		{types.Type{Kind: types.KindMoney}, types.NewMoney(math.MinInt64), []byte("-922337203685477.5808"), "MONEY"},
		{types.Type{Kind: types.KindSmallMoney}, types.NewSmallMoney(-1), []byte("-0.0001"), "SMALLMONEY"},
		{types.TypeDate, types.NewDate(days2024), day(0, 0, 0, 0), "DATE"},
		{types.Time(0), types.NewTime(noon, 0), time.Date(1, 1, 1, 12, 0, 0, 0, time.UTC), "TIME"},
		{types.Time(3), types.NewTime(noon+1230000, 3), time.Date(1, 1, 1, 12, 0, 0, 123e6, time.UTC), "TIME"},
		{types.Time(7), types.NewTime(noon+1, 7), time.Date(1, 1, 1, 12, 0, 0, 100, time.UTC), "TIME"},
		{types.DateTime2(2), types.NewDateTime2(days2024, noon+100000, 2), day(12, 0, 0, 10e6), "DATETIME2"},
		{types.DateTime2(7), types.NewDateTime2(days2024, noon+1, 7), day(12, 0, 0, 100), "DATETIME2"},
		{types.DateTimeOffset(4), types.NewDateTimeOffset(days2024, noon, -90, 4), day(12, 0, 0, 0).In(time.FixedZone("", -90*60)), "DATETIMEOFFSET"},
		{types.TypeDateTime, types.NewDateTime(days2024-days1900, 12*3600*300+1), day(12, 0, 0, 3e6), "DATETIME"},
		{types.Type{Kind: types.KindSmallDateTime}, types.NewSmallDateTime(days2024-days1900, 13*60+5), day(13, 5, 0, 0), "SMALLDATETIME"},
		{types.TypeUniqueIdentifier, types.NewBinary(types.KindUniqueIdentifier, guid), []byte(guid), "UNIQUEIDENTIFIER"},
		{types.Char(5), types.NewString(types.KindChar, "é€   "), "é€   ", "CHAR"},
		{types.VarChar(10), types.NewVarChar("naïve €"), "naïve €", "VARCHAR"},
		{types.VarChar(types.Max), types.NewVarChar(strings.Repeat("é", 1<<20)), strings.Repeat("é", 1<<20), "VARCHAR"},
		{types.NChar(3), types.NewString(types.KindNChar, "ż  "), "ż  ", "NCHAR"},
		{types.NVarChar(10), types.NewNVarChar("żółć 😀"), "żółć 😀", "NVARCHAR"},
		{types.NVarChar(types.Max), types.NewNVarChar(strings.Repeat("ż", 1<<19)), strings.Repeat("ż", 1<<19), "NVARCHAR"},
		{types.NVarChar(types.Max), types.NewNVarChar(""), "", "NVARCHAR"},
		{text, types.NewString(types.KindText, "old é"), "old é", "TEXT"},
		{ntext, types.NewString(types.KindNText, "old ż"), "old ż", "NTEXT"},
		{types.Type{Kind: types.KindImage}, types.NewBinary(types.KindImage, "\x00\x01"), []byte{0, 1}, "IMAGE"},
		{types.Binary(3), types.NewBinary(types.KindBinary, "\x00\x01\x02"), []byte{0, 1, 2}, "BINARY"},
		{types.VarBinary(8000), types.NewVarBinary([]byte{}), []byte{}, "VARBINARY"},
		{types.VarBinary(types.Max), types.NewVarBinary(bytes.Repeat([]byte{7}, 1<<20)), bytes.Repeat([]byte{7}, 1<<20), "VARBINARY"},
		{types.TypeRowVersion, types.NewBinary(types.KindRowVersion, "\x00\x00\x00\x00\x00\x00\x07\xD1"), []byte{0, 0, 0, 0, 0, 0, 7, 0xD1}, "BINARY"},
		{types.Type{Kind: types.KindXML}, types.NewString(types.KindXML, "<a>ż</a>"), "<a>ż</a>", "XML"},
		{types.TypeVariant, types.NewInt(5), int64(5), "SQL_VARIANT"},
		{types.TypeVariant, types.NewTinyInt(5), int64(5), "SQL_VARIANT"},
		{types.TypeVariant, types.NewSmallInt(-5), int64(-5), "SQL_VARIANT"},
		{types.TypeVariant, types.NewBigInt(5), int64(5), "SQL_VARIANT"},
		{types.TypeVariant, types.NewBit(true), true, "SQL_VARIANT"},
		{types.TypeVariant, types.NewFloat(2.5), 2.5, "SQL_VARIANT"},
		{types.TypeVariant, types.NewReal(2.5), 2.5, "SQL_VARIANT"},
		{types.TypeVariant, types.NewMoney(15000), []byte("1.5000"), "SQL_VARIANT"},
		{types.TypeVariant, types.NewSmallMoney(15000), []byte("1.5000"), "SQL_VARIANT"},
		{types.TypeVariant, types.NewNVarChar("żółć"), "żółć", "SQL_VARIANT"},
		{types.TypeVariant, types.NewVarChar("é"), "é", "SQL_VARIANT"},
		{types.TypeVariant, types.NewVarBinary([]byte{1, 2}), []byte{1, 2}, "SQL_VARIANT"},
		{types.TypeVariant, types.NewDecimal(0, 1234, true, 10, 2), []byte("-12.34"), "SQL_VARIANT"},
		{types.TypeVariant, types.NewDate(days2024), day(0, 0, 0, 0), "SQL_VARIANT"},
		{types.TypeVariant, types.NewTime(noon, 3), time.Date(1, 1, 1, 12, 0, 0, 0, time.UTC), "SQL_VARIANT"},
		{types.TypeVariant, types.NewDateTime2(days2024, noon, 7), day(12, 0, 0, 0), "SQL_VARIANT"},
		{types.TypeVariant, types.NewDateTimeOffset(days2024, noon, 60, 7), day(12, 0, 0, 0).In(time.FixedZone("", 3600)), "SQL_VARIANT"},
		{types.TypeVariant, types.NewDateTime(0, 0), time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), "SQL_VARIANT"},
		{types.TypeVariant, types.NewSmallDateTime(1, 1), time.Date(1900, 1, 2, 0, 1, 0, 0, time.UTC), "SQL_VARIANT"},
		{types.TypeVariant, types.NewBinary(types.KindUniqueIdentifier, guid), []byte(guid), "SQL_VARIANT"},
	}
}

// TestColumns sends every type as a column: nullable and not, alone and
// together, with and without NULL.
func TestColumns(t *testing.T) {
	t.Parallel()
	cases := columnCases()
	var cols []wire.Column
	var full, empty []types.Value
	for i, tc := range cases {
		cols = append(cols, wire.Column{Name: fmt.Sprintf("c%d", i), Type: tc.typ, Nullable: i%2 == 0})
		full = append(full, tc.value)
		empty = append(empty, types.Null)
	}
	b := &backend{batches: map[string]batchFunc{
		"all columns": func(_ context.Context, _ *session, out wire.Output) {
			_ = out.Columns(cols)
			_ = out.Row(full)
			_ = out.Row(empty)
			for i := range full { // one NULL among the values, the big ones left out
				row := make([]types.Value, len(full))
				copy(row, full)
				for j := range row {
					if len(row[j].Raw()) > 1000 {
						row[j] = types.Null
					}
				}
				row[i] = types.Null
				_ = out.Row(row)
			}
			_ = out.Done(wire.Done{Rows: 2, HasRows: true, Command: wire.CommandSelect})
		},
	}}
	for i, tc := range cases {
		for _, nullable := range []bool{true, false} {
			b.batches[fmt.Sprintf("column %d %v", i, nullable)] = func(_ context.Context, _ *session, out wire.Output) {
				_ = out.Columns([]wire.Column{{Name: "c", Type: tc.typ, Nullable: nullable}})
				_ = out.Row([]types.Value{tc.value})
				_ = out.Row([]types.Value{types.Null})
				_ = out.Row([]types.Value{tc.value})
				_ = out.Done(wire.Done{Rows: 3, HasRows: true, Command: wire.CommandSelect})
			}
		}
	}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	for i, tc := range cases {
		for _, nullable := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d %v %v", i, tc.typ, nullable), func(t *testing.T) {
				rows := readRows(t, db, fmt.Sprintf("column %d %v", i, nullable), tc.name)
				if len(rows) != 3 {
					t.Fatalf("got %d rows, want 3", len(rows))
				}
				if !same(rows[0][0], tc.want) || rows[1][0] != nil || !same(rows[2][0], tc.want) {
					t.Errorf("got %.300s, want %.100s", describe(rows), describe(tc.want))
				}
			})
		}
	}
	rows := readRows(t, db, "all columns", "")
	if len(rows) != len(cases)+2 {
		t.Fatalf("got %d rows", len(rows))
	}
	for i, tc := range cases {
		if !same(rows[0][i], tc.want) {
			t.Errorf("column %d: got %.100s, want %.100s", i, describe(rows[0][i]), describe(tc.want))
		}
		if rows[1][i] != nil {
			t.Errorf("column %d: got %.100s, want NULL", i, describe(rows[1][i]))
		}
		for j, row := range rows[2:] {
			isNull := i == j || len(tc.value.Raw()) > 1000
			if isNull && row[i] != nil || !isNull && !same(row[i], tc.want) {
				t.Errorf("row %d, column %d: got %.100s", j, i, describe(row[i]))
			}
		}
	}
}

func readRows(t *testing.T, db *sql.DB, query, typeName string) [][]any {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	ct, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	if typeName != "" && ct[0].DatabaseTypeName() != typeName {
		t.Errorf("got type name %s, want %s", ct[0].DatabaseTypeName(), typeName)
	}
	var all [][]any
	for rows.Next() {
		row := make([]any, len(ct))
		to := make([]any, len(ct))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOutputParameters returns every type as an output parameter.
func TestOutputParameters(t *testing.T) {
	t.Parallel()
	b := &backend{calls: map[string]callFunc{}}
	cases := columnCases()
	for i, tc := range cases {
		for _, null := range []bool{false, true} {
			b.calls[fmt.Sprintf("dbo.out%d%v", i, null)] = func(_ context.Context, _ *session, call wire.Call, out wire.Output) {
				v := tc.value
				if null {
					v = types.Null
				}
				_ = out.ReturnStatus(int32(i))
				_ = out.ReturnValue(0, call.Params[0].Name, tc.typ, v)
			}
		}
	}
	db := openMemory(t, newServer(t, b, wire.Options{}), "")
	for i, tc := range cases {
		t.Run(fmt.Sprintf("%d %v", i, tc.typ), func(t *testing.T) {
			var status mssql.ReturnStatus
			check := func(dest any, got func() any, want any, null bool) {
				t.Helper()
				_, err := db.ExecContext(context.Background(), fmt.Sprintf("dbo.out%d%v", i, null), sql.Named("p", sql.Out{Dest: dest}), &status)
				if err != nil {
					t.Fatal(err)
				}
				if int(status) != i {
					t.Errorf("got status %d, want %d", status, i)
				}
				if g := got(); !same(g, want) {
					t.Errorf("got %.100s, want %.100s", describe(g), describe(want))
				}
			}
			switch w := tc.want.(type) {
			case int64:
				var v int64
				check(&v, func() any { return v }, w, false)
			case bool:
				var v bool
				check(&v, func() any { return v }, w, false)
			case float64:
				var v float64
				check(&v, func() any { return v }, w, false)
			case string:
				var v string
				check(&v, func() any { return v }, w, false)
			case []byte:
				var v []byte
				check(&v, func() any { return v }, w, false)
			case time.Time:
				var v time.Time
				check(&v, func() any { return v }, w, false)
			}
			n := sql.NullString{String: "x", Valid: true}
			check(&n, func() any { return n.Valid }, false, true)
		})
	}
}
