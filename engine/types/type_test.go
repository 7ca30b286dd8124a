package types_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"loopbroker/engine/types"
)

// splitType takes "decimal(18,2)" apart.
func splitType(s string) (name string, args []int, isMax bool) {
	name, rest, _ := strings.Cut(s, "(")
	for _, f := range strings.Split(strings.TrimSuffix(rest, ")"), ",") {
		if f == "max" {
			isMax = true
		} else if n, err := strconv.Atoi(strings.TrimSpace(f)); err == nil {
			args = append(args, n)
		}
	}
	return name, args, isMax
}

// Names and synonyms of "Data type synonyms (Transact-SQL)".
func TestTypeFromName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"INT", "int"}, {"integer", "int"}, {"dec(5)", "decimal(5,0)"}, {"numeric", "decimal(18,0)"}, {"decimal(38,38)", "decimal(38,38)"},
		{"float", "float"}, {"float(24)", "real"}, {"float(25)", "float"}, {"double precision", "float"},
		{"character varying(10)", "varchar(10)"}, {"national char varying(10)", "nvarchar(10)"}, {"char", "char(1)"},
		{"nvarchar(max)", "nvarchar(max)"}, {"varbinary(8000)", "varbinary(8000)"}, {"sysname", "nvarchar(128)"},
		{"timestamp", "timestamp"}, {"rowversion", "timestamp"}, {"datetime2", "datetime2(7)"}, {"datetime2(0)", "datetime2(0)"},
		{"time(3)", "time(3)"}, {"datetimeoffset(4)", "datetimeoffset(4)"}, {"sql_variant", "sql_variant"}, {"uniqueidentifier", "uniqueidentifier"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			if got := typeOf(t, tc.in).String(); got != tc.want {
				t.Errorf("= %s, want %s", got, tc.want)
			}
		})
	}
}

func TestTypeFromNameErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in     string
		number int32
		text   string
	}{
		{"foo", 2715, "Column, parameter, or variable #3: Cannot find data type foo."},
		{"int(4)", 2716, "Column, parameter, or variable #3: Cannot specify a column width on data type int."},
		{"text(max)", 2716, "Column, parameter, or variable #3: Cannot specify a column width on data type text."},
		{"varchar(8001)", 2717, "The size (8001) given to the type 'varchar' exceeds the maximum allowed (8000)."},
		{"nvarchar(4001)", 2717, "The size (4001) given to the type 'nvarchar' exceeds the maximum allowed (4000)."},
		{"decimal(39,0)", 2750, "Column or parameter #3: Specified column precision 39 is greater than the maximum precision of 38."},
		{"decimal(5,6)", 2751, "Column or parameter #3: Specified column scale 6 is greater than the specified precision of 5."},
		{"varchar(0)", 1001, ""}, {"datetime2(8)", 1002, ""}, {"float(54)", 2750, ""},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			name, args, isMax := splitType(tc.in)
			_, err := types.TypeFromName(name, args, isMax, 3)
			wantNumber(t, err, tc.number)
			if tc.text != "" && !strings.HasSuffix(err.Error(), tc.text) {
				t.Errorf("error = %v, want %s", err, tc.text)
			}
		})
	}
}

func TestCastTypeFromName(t *testing.T) {
	t.Parallel()
	got, err := types.CastTypeFromName("varchar", nil, false)
	if err != nil || got != types.VarChar(30) {
		t.Errorf("varchar in CAST = %v, %v, want varchar(30)", got, err)
	}
}

// Lengths, precisions and scales of sys.types and sys.columns.
func TestTypeMetadata(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		typ         string
		bytes       int
		prec, scale uint8
	}{
		{"int", 4, 10, 0}, {"bigint", 8, 19, 0}, {"decimal(18,2)", 9, 18, 2}, {"decimal(38,0)", 17, 38, 0}, {"money", 8, 19, 4},
		{"nvarchar(10)", 20, 0, 0}, {"nvarchar(max)", -1, 0, 0}, {"varchar(10)", 10, 0, 0}, {"datetime", 8, 23, 3}, {"datetime2", 8, 27, 7},
		{"datetime2(0)", 6, 19, 0}, {"datetimeoffset", 10, 34, 7}, {"time", 5, 16, 7}, {"date", 3, 10, 0}, {"smalldatetime", 4, 16, 0},
		{"float", 8, 53, 0}, {"real", 4, 24, 0}, {"bit", 1, 1, 0}, {"uniqueidentifier", 16, 0, 0},
	} {
		typ := typeOf(t, tc.typ)
		prec, scale := typ.MetaPrecision()
		if typ.MaxBytes() != tc.bytes || prec != tc.prec || scale != tc.scale {
			t.Errorf("%s: %d bytes, precision %d, scale %d, want %d, %d, %d", tc.typ, typ.MaxBytes(), prec, scale, tc.bytes, tc.prec, tc.scale)
		}
	}
}

// The catalog stores types as JSON; each comes back as itself.
func TestTypeJSON(t *testing.T) {
	t.Parallel()
	for _, typ := range append([]types.Type{types.NVarChar(types.Max), types.TypeNull, types.TypeXML}, columnTypes...) {
		b, err := json.Marshal(typ)
		if err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		var back types.Type
		if err := json.Unmarshal(b, &back); err != nil || back != typ {
			t.Errorf("%s comes back as %v, %v, want %v", b, back, err, typ)
		}
	}
	var typ types.Type
	if err := json.Unmarshal([]byte(`{"Kind":20,"Length":5,"Collation":"Klingon_CI_AS"}`), &typ); err == nil {
		t.Errorf("an unknown collation is read as %v", typ)
	}
}
