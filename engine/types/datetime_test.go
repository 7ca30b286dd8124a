package types_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"loopbroker/engine/types"
)

func TestDateFromYMD(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		y, m, d int
		ok      bool
		days    int
	}{
		{1, 1, 1, true, 0}, {1900, 1, 1, true, 693595}, {1970, 1, 1, true, 719162}, {9999, 12, 31, true, 3652058},
		{2000, 2, 29, true, 730178}, {1900, 2, 29, false, 0}, {2023, 2, 29, false, 0}, {0, 1, 1, false, 0},
		{10000, 1, 1, false, 0}, {2020, 13, 1, false, 0}, {2020, 4, 31, false, 0}, {2020, 1, 0, false, 0},
	} {
		v, ok := types.DateFromYMD(tc.y, tc.m, tc.d)
		if ok != tc.ok || v.Days() != tc.days {
			t.Errorf("DateFromYMD(%d, %d, %d) = %d, %t, want %d, %t", tc.y, tc.m, tc.d, v.Days(), ok, tc.days, tc.ok)
		}
	}
}

// Every date agrees with the time package, there and back.
func TestDatesAgainstTime(t *testing.T) {
	t.Parallel()
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := 0; n <= 3652058; n++ {
		v := types.NewDate(n)
		y, m, d := v.YMD()
		if y != day.Year() || m != int(day.Month()) || d != day.Day() {
			t.Fatalf("day %d = %d-%d-%d, want %v", n, y, m, d, day)
		}
		if n%97 == 0 && !v.ToGoTime().Equal(day) {
			t.Fatalf("day %d as time.Time = %v, want %v", n, v.ToGoTime(), day)
		}
		day = day.Add(24 * time.Hour)
	}
}

func TestGoTimeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, typ := range []types.Type{types.TypeDate, types.TypeDateTime, types.TypeSmallDateTime, types.DateTime2(7), types.TypeDateTimeOffset} {
			v := genValue(t, typ)
			if got := types.FromGoTime(typ.Kind, v.Scale(), v.ToGoTime()); got != v {
				t.Fatalf("%v = %v, want %v", typ, got, v)
			}
		}
	})
}

// Rounding of "datetime (Transact-SQL)": to .000, .003 or .007 seconds, and of
// "smalldatetime": from 29.999 seconds up.
func TestDateTimeRounding(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, typ, want string
	}{
		{"1998-01-01T23:59:59.999", "datetime", "1998-01-02 00:00:00.000"},
		{"1998-01-01T23:59:59.995", "datetime", "1998-01-01 23:59:59.997"},
		{"1998-01-01T23:59:59.998", "datetime", "1998-01-01 23:59:59.997"},
		{"1998-01-01T23:59:59.992", "datetime", "1998-01-01 23:59:59.993"},
		{"1998-01-01T23:59:59.990", "datetime", "1998-01-01 23:59:59.990"},
		{"1998-01-01T23:59:59.991", "datetime", "1998-01-01 23:59:59.990"},
		{"2000-05-08T12:35:29.998", "smalldatetime", "2000-05-08 12:35:00.000"},
		{"2000-05-08T12:35:29.999", "smalldatetime", "2000-05-08 12:36:00.000"},
		{"2079-06-06T23:59:29.998", "smalldatetime", "2079-06-06 23:59:00.000"},
		{"2007-05-08T12:35:29.1234567", "datetime2(3)", "2007-05-08 12:35:29.123"},
		{"2007-05-08T23:59:59.9999999", "datetime2(0)", "2007-05-09 00:00:00"},
		{"2007-05-08T23:59:59.9999999", "time(3)", "23:59:59.999"}, // not rounded into the next day
		{"2007-05-08T12:59:59.9999999", "time(3)", "13:00:00.000"},
		{"2007-05-08T23:59:59.9999999", "date", "2007-05-08"},
	} {
		t.Run(tc.in+" "+tc.typ, func(t *testing.T) {
			t.Parallel()
			v, err := types.Convert(types.NewVarChar(tc.in), typeOf(t, tc.typ), 0)
			if err != nil || v.String() != tc.want {
				t.Errorf("= %v, %v, want %s", v, err, tc.want)
			}
		})
	}
}

// The forms of "datetime (Transact-SQL), Supported string literal formats".
func TestParseDateTime(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in     string
		format types.DateFormat
		want   string // as datetime2(7), the time part cut where it is zero
	}{
		{"2026-11-30T14:05:06.123", 0, "2026-11-30 14:05:06.1230000"},
		{"20261130", 0, "2026-11-30"},
		{"20261130 14:05:06", types.FormatDMY, "2026-11-30 14:05:06.0000000"},
		{"261130", 0, "2026-11-30"},
		{"2026", 0, "2026-01-01"},
		{"4/15/2026", 0, "2026-04-15"},
		{"15/4/2026", types.FormatDMY, "2026-04-15"},
		{"2026/4/15", types.FormatYMD, "2026-04-15"},
		{"04-15-96", 0, "1996-04-15"},
		{"4.15.49", 0, "2049-04-15"},
		{"4.15.50", 0, "1950-04-15"},
		{"15/26/4", types.FormatDYM, "2026-04-15"},
		{"4/2026/15", types.FormatMYD, "2026-04-15"},
		{"4/15/2026", types.FormatYMD, "2026-04-15"},
		{"1/2/0", 0, "2000-01-02"},
		{"1 / 2 / 2024", 0, "2024-01-02"},
		{"24 Jan 2", 0, "2002-01-24"},
		{"2024 2 Jan", 0, "2024-01-02"},
		{"2024-01-02Z", 0, "2024-01-02"},
		{"10:11:12.12345678", 0, "1900-01-01 10:11:12.1234568"},
		{"10:11:12 + 01:00", 0, "1900-01-01 10:11:12.0000000"},
		{"13:05 PM", 0, "1900-01-01 13:05:00.0000000"},
		{"10:30:20:5", 0, "1900-01-01 10:30:20.0050000"},
		{"April 15, 2026", 0, "2026-04-15"},
		{"Apr 15 2026", 0, "2026-04-15"},
		{"15 April 2026", 0, "2026-04-15"},
		{"15 Apr, 96", 0, "1996-04-15"},
		{"2026 April 15", 0, "2026-04-15"},
		{"Apr 2026", 0, "2026-04-01"},
		{"15-apr-2026", 0, "2026-04-15"},
		{"10:30", 0, "1900-01-01 10:30:00.0000000"},
		{"10:30:20:999", 0, "1900-01-01 10:30:20.9990000"},
		{"10:30:20.9", 0, "1900-01-01 10:30:20.9000000"},
		{"4am", 0, "1900-01-01 04:00:00.0000000"},
		{"12 AM", 0, "1900-01-01"},
		{"12:30 PM", 0, "1900-01-01 12:30:00.0000000"},
		{"  2026-11-30  ", 0, "2026-11-30"},
		{"", 0, "1900-01-01"},
		{"{ts '2026-11-30 01:02:03'}", types.FormatDMY, "2026-11-30 01:02:03.0000000"},
		{"{d '2026-11-30'}", 0, "2026-11-30"},
		{"{t '01:02:03'}", 0, "1900-01-01 01:02:03.0000000"},
		{"2026-11-30 01:02:03.1234567 +02:00", 0, "2026-11-30 01:02:03.1234567"},
		{"2026-11-30T01:02:03Z", 0, "2026-11-30 01:02:03.0000000"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			v, err := types.ConvertWith(types.ConvertOptions{DateFormat: tc.format}, types.NewVarChar(tc.in), types.DateTime2(7), 0)
			want := tc.want
			if len(want) == len("2026-11-30") {
				want += " 00:00:00.0000000"
			}
			if err != nil || v.String() != want {
				t.Errorf("= %v, %v, want %s", v, err, want)
			}
		})
	}
}

func TestParseDateTimeErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, typ string
		number  int32
	}{
		{"2026-02-30", "date", 241},
		{"2026-02-30", "datetime", 242},
		{"20260230", "smalldatetime", 242},
		{"1752-12-31T00:00:00", "datetime", 242},
		{"1899-12-31", "smalldatetime", 242},
		{"2079-06-07", "smalldatetime", 242},
		{"2079-06-06T23:59:29.999", "smalldatetime", 242},
		{"9999-12-31T23:59:59.999", "datetime", 242},
		{"25:00", "datetime", 242},
		{"25:00", "time", 241},
		{"abc", "datetime", 241},
		{"abc", "smalldatetime", 295},
		{"abc", "datetime2", 241},
		{"2026-11-30 01:02:03.1234", "datetime", 241},
		{"2026-11-30 01:02:03 +02:00", "datetime", 241},
		{"2026-11-30 01:02:03 +15:00", "datetimeoffset", 241},
		{"0001-01-01T00:00:00+14:00", "datetimeoffset", 8114},
		{"2026-11/30", "datetime2", 241},
		{"2026-11-30T14:05", "datetime2", 241},
		{"2026-11-30T14:05:06 PM", "datetime2", 241},
		{"4:05 PM 15 April 2026", "datetime2", 241},
		{"10:11.5", "time", 241},
		{"0:30 PM", "time", 241},
		{"13 AM", "datetime", 242},
		{"Jan-2-2024", "date", 241},
		{"Jan 2", "date", 241},
		{"Jan, 2 2024", "date", 241},
		{"1/2/024", "date", 241},
		{"1/2024/2", "date", 241},
		{"1/2/123", "datetime", 242},
		{"1/2/2024 5", "datetime", 242},
		{"2 Jan 2024,", "datetime", 242},
		{"Jan Feb 2024", "datetime", 242},
		{"1 2 2024", "date", 241},
		{"\t2024-01-02", "datetime", 241},
		{"10:11:12 +0530", "datetimeoffset", 241},
		{"2026-11-30t01:02:03", "date", 241},
		{"12345", "datetime", 241},
		{"10:30:", "time", 241},
		{"13/2026", "date", 241},
		{"Foo 15 2026", "date", 241},
		{"2026-11-30T", "datetime", 241},
		{"{x '2026-11-30'}", "date", 241},
	} {
		t.Run(tc.in+" "+tc.typ, func(t *testing.T) {
			t.Parallel()
			v, err := types.Convert(types.NewNVarChar(tc.in), typeOf(t, tc.typ), 0)
			if err == nil {
				t.Fatalf("= %v, want error %d", v, tc.number)
			}
			wantNumber(t, err, tc.number)
		})
	}
}

// What only datetime and smalldatetime take.
func TestParseLegacyDateTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"4:05 PM 15 April 2026":   "2026-04-15 16:05:00.000",
		"1/2 10:11 /2024":         "2024-01-02 10:11:00.000",
		"Jan 10:11 2 2024":        "2024-01-02 10:11:00.000",
		"1/2-2024":                "2024-01-02 00:00:00.000",
		"001/02/2024":             "2024-01-02 00:00:00.000",
		"1/2/024":                 "2024-01-02 00:00:00.000",
		"1/2024/2":                "2024-01-02 00:00:00.000",
		"10:11.5":                 "1900-01-01 10:11:00.500",
		"Jan, 2 2024":             "2024-01-02 00:00:00.000",
		"2,Jan,2024":              "2024-01-02 00:00:00.000",
		"2024-01-02T03:04:05Z":    "2024-01-02 03:04:05.000",
		"2024Z":                   "2024-01-01 00:00:00.000",
		"10:11Z":                  "1900-01-01 10:11:00.000",
		"2024-01-02 Z":            "2024-01-02 00:00:00.000",
		"2024-01-02T03:04:05.007": "2024-01-02 03:04:05.007",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			if v, err := types.Convert(types.NewVarChar(in), types.TypeDateTime, 0); err != nil || v.String() != want {
				t.Errorf("= %v, %v, want %s", v, err, want)
			}
		})
	}
}

// A style asks for its order, for two or four digits of the year, or for no
// numeric date at all.
func TestReadDateStyles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in     string
		typ    types.Type
		style  int
		want   string
		number int32
	}{
		{"31/12/2024", types.TypeDate, 103, "2024-12-31", 0},
		{"12/31/24", types.TypeDate, 1, "2024-12-31", 0},
		{"12/31/2024", types.TypeDate, 1, "", 241},
		{"12/31/24", types.TypeDate, 101, "", 241},
		{"2024/12/31", types.TypeDate, 101, "", 241},
		{"2024-31-12", types.TypeDateTime, 103, "2024-12-31 00:00:00.000", 0},
		{"2024/12/31", types.TypeDateTime, 103, "", 242},
		{"2024-12-31T00:00:00", types.TypeDate, 103, "2024-12-31", 0},
		{"2024-12-31T00:00:00", types.TypeDateTime, 120, "", 242},
		{"2024-12-31T00:00:00", types.TypeDateTime, 1, "", 241},
		{"2024-12-31T00:00:00Z", types.TypeDateTime, 127, "2024-12-31 00:00:00.000", 0},
		{"2024-12-31", types.TypeDate, 112, "", 9807},
		{"2024-12-31", types.TypeDateTime, 112, "", 241},
		{"20241231", types.TypeDate, 112, "2024-12-31", 0},
		{"31 Dec 2024", types.TypeDate, 106, "2024-12-31", 0},
		{"2024-12-31", types.TypeDate, 23, "2024-12-31", 0},
		{"2024-12-31", types.TypeDate, 99, "", 9809},
		{"20241231", types.TypeDateTime, 99, "2024-12-31 00:00:00.000", 0},
		{"31/12/2024", types.TypeDate, 131, "", 40510},
	} {
		v, err := types.Convert(types.NewVarChar(tc.in), tc.typ, tc.style)
		if got := number32(err); got != tc.number || (err == nil && v.String() != tc.want) {
			t.Errorf("%q as %v in style %d = %v, %v, want %s, Msg %d", tc.in, tc.typ, tc.style, v, err, tc.want, tc.number)
		}
	}
}

// yyyy-mm-dd depends on DATEFORMAT for datetime, not for the later types ("SET
// DATEFORMAT (Transact-SQL)").
func TestDateFormatOfDashedDates(t *testing.T) {
	t.Parallel()
	opts := types.ConvertOptions{DateFormat: types.FormatDMY}
	in := types.NewVarChar("2026-05-11")
	for typ, want := range map[types.Type]string{
		types.TypeDateTime: "2026-11-05 00:00:00.000",
		types.TypeDate:     "2026-05-11",
	} {
		v, err := types.ConvertWith(opts, in, typ, 0)
		if err != nil || v.String() != want {
			t.Errorf("%v = %v, %v, want %s", typ, v, err, want)
		}
	}
}

// Examples of "CAST and CONVERT (Transact-SQL)", Date and time styles.
func TestDateStyles(t *testing.T) {
	t.Parallel()
	in := types.NewVarChar("2006-04-25T15:50:59.997")
	dt, err := types.Convert(in, types.TypeDateTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	dto := types.FromGoTime(types.KindDateTimeOffset, 7, time.Date(2006, 4, 25, 5, 50, 59, 120_000_000, time.FixedZone("", -90*60)))
	whole := types.NewDateTime2(732425, 0, 7)
	for _, tc := range []struct {
		v     types.Value
		style int
		want  string
	}{
		{dt, 0, "Apr 25 2006  3:50PM"}, {dt, 100, "Apr 25 2006  3:50PM"}, {dt, 1, "04/25/06"}, {dt, 101, "04/25/2006"},
		{dt, 2, "06.04.25"}, {dt, 102, "2006.04.25"}, {dt, 3, "25/04/06"}, {dt, 104, "25.04.2006"}, {dt, 105, "25-04-2006"},
		{dt, 106, "25 Apr 2006"}, {dt, 7, "Apr 25, 06"}, {dt, 107, "Apr 25, 2006"}, {dt, 108, "15:50:59"},
		{dt, 109, "Apr 25 2006  3:50:59:997PM"}, {dt, 10, "04-25-06"}, {dt, 111, "2006/04/25"}, {dt, 112, "20060425"},
		{dt, 113, "25 Apr 2006 15:50:59:997"}, {dt, 114, "15:50:59:997"}, {dt, 120, "2006-04-25 15:50:59"},
		{dt, 121, "2006-04-25 15:50:59.997"}, {dt, 22, "04/25/06  3:50:59 PM"}, {dt, 23, "2006-04-25"},
		{dt, 126, "2006-04-25T15:50:59.997"}, {dt, 127, "2006-04-25T15:50:59.997"},
		{dto, 0, "2006-04-25 05:50:59.1200000 -01:30"}, {dto, 126, "2006-04-25T05:50:59.1200000-01:30"},
		{dto, 127, "2006-04-25T07:20:59.1200000Z"}, {dto, 100, "Apr 25 2006  5:50AM -01:30"},
		{whole, 126, "2006-04-25T00:00:00"}, {whole, 0, "2006-04-25 00:00:00.0000000"}, {whole, 100, "Apr 25 2006 12:00AM"},
		{types.NewDate(732425), 0, "2006-04-25"}, {types.NewDate(732425), 120, "2006-04-25"}, {types.NewDate(732425), 126, "2006-04-25"},
		{types.NewTime(36_000_000_000, 2), 0, "01:00:00.00"}, {types.NewTime(36_000_000_000, 2), 100, "1:00AM"},
		{types.NewTime(36_000_000_000, 2), 22, " 1:00:00 AM"}, {dto, 108, "05:50:59 -01:30"}, {dt, 29, "25-04-2006 15:50:59.997"}, {dt, 35, "25-2006-04"},
	} {
		got, err := types.Convert(tc.v, types.VarChar(40), tc.style)
		if err != nil || got.Text() != tc.want {
			t.Errorf("style %d of %v = %q, %v, want %q", tc.style, tc.v.Kind(), got.Text(), err, tc.want)
		}
	}
	_, err = types.Convert(dt, types.VarChar(40), 130)
	wantNumber(t, err, 40510)
	_, err = types.Convert(dt, types.VarChar(40), 99)
	wantNumber(t, err, 281)
	_, err = types.Convert(types.NewDate(1), types.VarChar(40), 108)
	wantNumber(t, err, 8114)
}

// A styled text reads back as the value that it shows.
func TestDateStylesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		style := rapid.SampledFrom([]int{109, 113, 21, 121, 126}).Draw(t, "style")
		v := genValue(t, types.TypeDateTime)
		text, err := types.Convert(v, types.VarChar(40), style)
		if err != nil {
			t.Fatal(err)
		}
		back, err := types.Convert(text, types.TypeDateTime, style)
		if err != nil || back != v {
			t.Fatalf("%q in style %d = %v, %v, want %v", text.Text(), style, back, err, v)
		}
	})
}

func typeOf(t testing.TB, s string) types.Type {
	t.Helper()
	name, args, isMax := splitType(s)
	typ, err := types.TypeFromName(name, args, isMax, 1)
	if err != nil {
		t.Fatalf("TypeFromName(%q): %v", s, err)
	}
	return typ
}
