package builtin_test

import "testing"

func TestDatePart(t *testing.T) {
	t.Parallel()
	const full = "datetimeoffset'2007-10-30 12:15:32.1234567 +05:10'"
	check(t, [][2]string{
		// The table of results in "DATEPART" and "DATENAME".
		{"DATEPART(year, " + full + ")", "int 2007"},
		{"DATEPART(qq, " + full + ")", "int 4"},
		{"DATEPART(m, " + full + ")", "int 10"},
		{"DATEPART(dayofyear, " + full + ")", "int 303"},
		{"DATEPART(dd, " + full + ")", "int 30"},
		{"DATEPART(wk, " + full + ")", "int 44"},
		{"DATEPART(weekday, " + full + ")", "int 3"},
		{"DATEPART(hh, " + full + ")", "int 12"},
		{"DATEPART(n, " + full + ")", "int 15"},
		{"DATEPART(s, " + full + ")", "int 32"},
		{"DATEPART(ms, " + full + ")", "int 123"},
		{"DATEPART(mcs, " + full + ")", "int 123456"},
		{"DATEPART(ns, " + full + ")", "int 123456700"},
		{"DATEPART(tz, " + full + ")", "int 310"},
		{"DATEPART(isowk, " + full + ")", "int 44"},
		{"DATENAME(month, " + full + ")", "nvarchar(30) October"},
		{"DATENAME(dw, " + full + ")", "nvarchar(30) Tuesday"},
		{"DATENAME(day, " + full + ")", "nvarchar(30) 30"},
		{"DATENAME(TZoffset, " + full + ")", "nvarchar(30) +05:10"},
		{"DATEPART(millisecond, datetime'2020-01-01 00:00:00.127')", "int 127"},
		{"DATEPART(microsecond, datetime'2020-01-01 00:00:00.123')", "int 123333"},
		{"DATEPART(hour, '12:10:30.123')", "int 12"},
		{"DATEPART(year, 0)", "int 1900"},
		{"DATEPART(month, '2020-02-30')", "241 Conversion failed when converting date and/or time from character string."},
		{"DATEPART(isowk, date'2021-01-03')", "int 53"},
		{"DATEPART(isowk, date'2018-12-31')", "int 1"},
		{"DATEPART(week, date'2023-01-01')", "int 1"},
		{"DATEPART(week, date'2022-12-31')", "int 53"},
		{"DATEPART(hour, date'2020-01-01')", "9810 The datepart hour is not supported by date function datepart for data type date."},
		{"DATEPART(year, time'10:00')", "9810 The datepart year is not supported by date function datepart for data type time."},
		{"DATEPART(tzoffset, datetime'2020-01-01')", "9810 The datepart tzoffset is not supported by date function datepart for data type datetime."},
		{"DATEPART(fortnight, date'2020-01-01')", "155 'fortnight' is not a recognized datepart option."},
		{"DATEPART(day, null_varchar'')", "int NULL"},
		{"YEAR('2010-04-30T01:01:01.1234567-07:00')", "int 2010"},
		{"MONTH(date'2007-04-30')", "int 4"},
		{"DAY(0)", "int 1"},
		{"YEAR(time'10:00')", "9810 The datepart year is not supported by date function year for data type time."},
	})
}

func TestDateFirst(t *testing.T) {
	t.Parallel()
	env := newSession()
	env.options.DateFirst = 1 // 2003-12-31 was a Wednesday
	if got := evaluate(t, env, "DATEPART(dw, date'2003-12-31')"); got != "int 3" {
		t.Errorf("weekday: got %s", got)
	}
	if got := evaluate(t, env, "DATEPART(wk, date'2007-04-21')"); got != "int 16" {
		t.Errorf("week: got %s", got)
	}
	env.options.DateFormat = "dmy"
	if got := evaluate(t, env, "MONTH('03/04/2020')"); got != "int 4" {
		t.Errorf("date format: got %s", got)
	}
	env.options.Language = "Klingon"
	if got := evaluate(t, env, "DATENAME(month, date'2020-01-01')"); got != "40510 'SET LANGUAGE Klingon' is not supported by the embedded engine." {
		t.Errorf("language: got %s", got)
	}
}

func TestDateAdd(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		// The tables in "DATEADD".
		{"DATEADD(month, 1, '20240830')", "datetime 2024-09-30 00:00:00.000"},
		{"DATEADD(month, 1, date'2024-08-31')", "date 2024-09-30"},
		{"DATEADD(year, 1, date'2024-02-29')", "date 2025-02-28"},
		{"DATEADD(year, 1, datetime2'2007-01-01 13:10:10.1111111')", "datetime2(7) 2008-01-01 13:10:10.1111111"},
		{"DATEADD(quarter, 1, datetime2'2007-01-01 13:10:10.1111111')", "datetime2(7) 2007-04-01 13:10:10.1111111"},
		{"DATEADD(week, 1, datetime2'2007-01-01 13:10:10.1111111')", "datetime2(7) 2007-01-08 13:10:10.1111111"},
		{"DATEADD(weekday, 1, date'2007-01-01')", "date 2007-01-02"},
		{"DATEADD(millisecond, 1, datetime2'2007-01-01 13:10:10.1111111')", "datetime2(7) 2007-01-01 13:10:10.1121111"},
		{"DATEADD(microsecond, -1, datetime2'2007-01-01 13:10:10.1111111')", "datetime2(7) 2007-01-01 13:10:10.1111101"},
		{"DATEADD(nanosecond, 149, datetime2'2007-01-01 13:10:10.1111111')", "datetime2(7) 2007-01-01 13:10:10.1111112"},
		{"DATEADD(nanosecond, 150, datetime2'2007-01-01 13:10:10.1111111')", "datetime2(7) 2007-01-01 13:10:10.1111113"},
		{"DATEADD(day, 365, datetime2'2007-01-01 13:10:10.1111111')", "datetime2(7) 2008-01-01 13:10:10.1111111"},
		{"DATEADD(second, 90, datetime2'2020-12-31 23:59:00')", "datetime2(7) 2021-01-01 00:00:30.0000000"},
		{"DATEADD(hour, -1, time'00:30')", "time(7) 23:30:00.0000000"},
		{"DATEADD(hour, 2, datetimeoffset'2020-01-01 23:00 +02:00')", "datetimeoffset(7) 2020-01-02 01:00:00.0000000 +02:00"},
		{"DATEADD(second, 30, smalldatetime'2011-06-08 11:00')", "smalldatetime 2011-06-08 11:01:00.000"},
		{"DATEPART(ms, DATEADD(millisecond, 2, datetime'2020-01-01'))", "int 3"},
		{"DATEADD(day, 1, 0)", "datetime 1900-01-02 00:00:00.000"},
		{"DATEADD(day, 1.9, date'2020-01-01')", "date 2020-01-02"},
		{"DATEADD(year, 2147483647, '20240731')", "517 Adding a value to a 'datetime' column caused an overflow."},
		{"DATEADD(day, -1, datetime'1753-01-01')", "517 Adding a value to a 'datetime' column caused an overflow."},
		{"DATEADD(day, 1, date'9999-12-31')", "517 Adding a value to a 'date' column caused an overflow."},
		{"DATEADD(hour, 1, date'2020-01-01')", "9810 The datepart hour is not supported by date function dateadd for data type date."},
		{"DATEADD(ns, 1, datetime'2020-01-01')", "9810 The datepart nanosecond is not supported by date function dateadd for data type datetime."},
		{"DATEADD(tz, 1, datetime'2020-01-01')", "9806 The datepart tzoffset is not supported by date function dateadd."},
		{"DATEADD(x, 1, datetime'2020-01-01')", "155 'x' is not a recognized dateadd option."},
		{"DATEADD(day, bigint'2147483648', date'2020-01-01')", "8115 Arithmetic overflow error converting expression to data type int."},
		{"DATEADD(day, NULL, date'2020-01-01')", "date NULL"},
	})
}

func TestDateDiff(t *testing.T) {
	t.Parallel()
	const from, to = "'2005-12-31 23:59:59.9999999'", "'2006-01-01 00:00:00.0000000'"
	tests := [][2]string{
		{"DATEDIFF(day, '2036-03-01', '2036-02-28')", "int -2"},
		{"DATEDIFF(week, date'2023-01-07', date'2023-01-08')", "int 1"},
		{"DATEDIFF(week, date'2023-01-01', date'2023-01-07')", "int 0"},
		{"DATEDIFF(second, datetimeoffset'2020-01-01 12:00 +02:00', datetime2'2020-01-01 10:00:01')", "int 1"},
		{"DATEDIFF(millisecond, datetime'2020-01-01', datetime'2020-01-01 00:00:00.123')", "int 123"},
		{"DATEDIFF(hour, time'10:59', time'12:00')", "int 2"},
		{"DATEDIFF(millisecond, '2000-01-01', '2030-01-01')", "535 The datediff function resulted in an overflow. The number of dateparts separating two date/time instances is too large. Try to use datediff with a less precise datepart."},
		{"DATEDIFF_BIG(millisecond, '2000-01-01', '2030-01-01')", "bigint 946771200000"},
		{"DATEDIFF_BIG(nanosecond, '0001-01-01', '9999-12-31')", "535 The datediff function resulted in an overflow. The number of dateparts separating two date/time instances is too large. Try to use datediff with a less precise datepart."},
		{"DATEDIFF(nope, 0, 1)", "155 'nope' is not a recognized datediff option."},
		{"DATEDIFF(tz, 0, 1)", "9806 The datepart tzoffset is not supported by date function datediff."},
		{"DATEDIFF(day, NULL, 1)", "int NULL"},
	}
	// "DATEDIFF": each boundary is crossed once.
	for _, part := range []string{"year", "quarter", "month", "dayofyear", "day", "week", "hour", "minute", "second", "millisecond", "microsecond"} {
		want := "int 1"
		if part == "week" {
			want = "int 1" // 2006-01-01 was a Sunday
		}
		tests = append(tests, [2]string{"DATEDIFF(" + part + ", " + from + ", " + to + ")", want})
	}
	check(t, tests)
}

func TestDatesFromParts(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"DATEFROMPARTS(2010, 12, 31)", "date 2010-12-31"},
		{"DATEFROMPARTS(2010, 2, 30)", "289 Cannot construct data type date, some of the arguments have values which are not valid."},
		{"DATEFROMPARTS(2010, NULL, 30)", "date NULL"},
		{"DATETIMEFROMPARTS(2010, 12, 31, 23, 59, 59, 0)", "datetime 2010-12-31 23:59:59.000"},
		{"DATEPART(ms, DATETIMEFROMPARTS(2010, 12, 31, 23, 59, 59, 998))", "int 997"},
		{"DATETIMEFROMPARTS(1752, 12, 31, 23, 59, 59, 0)", "289 Cannot construct data type datetime, some of the arguments have values which are not valid."},
		{"SMALLDATETIMEFROMPARTS(2010, 12, 31, 23, 59)", "smalldatetime 2010-12-31 23:59:00.000"},
		{"TIMEFROMPARTS(14, 23, 44, 50, 2)", "time(2) 14:23:44.50"},
		{"TIMEFROMPARTS(14, 23, 44, 5, 1)", "time(1) 14:23:44.5"},
		{"TIMEFROMPARTS(14, 23, 44, 10, 1)", "289 Cannot construct data type time, some of the arguments have values which are not valid."},
		{"TIMEFROMPARTS(14, 23, 44, 0, NULL)", "10760 Scale argument is not valid. Valid expressions for data type time scale argument are integer constants and integer constant expressions."},
		{"DATETIME2FROMPARTS(2011, 8, 15, 14, 23, 44, 500, 3)", "datetime2(3) 2011-08-15 14:23:44.500"},
		{"DATETIMEOFFSETFROMPARTS(2010, 12, 31, 14, 23, 23, 0, 12, 0, 7)", "datetimeoffset(7) 2010-12-31 14:23:23.0000000 +12:00"},
		{"DATETIMEOFFSETFROMPARTS(2010, 12, 31, 14, 23, 23, 0, -12, 30, 7)", "289 Cannot construct data type datetimeoffset, some of the arguments have values which are not valid."},
		{"EOMONTH('12/1/2024')", "date 2024-12-31"},
		{"EOMONTH(date'2024-01-31', 1)", "date 2024-02-29"},
		{"EOMONTH(date'2024-01-31', -1)", "date 2023-12-31"},
		{"EOMONTH(date'9999-12-31', 1)", "517 Adding a value to a 'date' column caused an overflow."},
		// "SWITCHOFFSET", "TODATETIMEOFFSET"
		{"SWITCHOFFSET(datetimeoffset'1998-09-20 7:45:50.71345 -5:00', '-08:00')", "datetimeoffset(7) 1998-09-20 04:45:50.7134500 -08:00"},
		{"SWITCHOFFSET(datetimeoffset'2020-01-01 00:00 +00:00', 90)", "datetimeoffset(7) 2020-01-01 01:30:00.0000000 +01:30"},
		{"TODATETIMEOFFSET(datetime2'2020-01-01 10:00', '-05:00')", "datetimeoffset(7) 2020-01-01 10:00:00.0000000 -05:00"},
		{"TODATETIMEOFFSET(datetime2'2020-01-01 10:00', '+15:00')", "9812 The timezone provided to builtin function todatetimeoffset is invalid."},
		{"TODATETIMEOFFSET(datetime2'0001-01-01', '+01:00')", "9813 The timezone provided to builtin function todatetimeoffset would cause the datetimeoffset to overflow the range of valid date range in either UTC or local time."},
		// "ISDATE"
		{"ISDATE('2009-05-12 10:19:41.177')", "int 1"},
		{"ISDATE('2009-02-30')", "int 0"},
		{"ISDATE('1752-12-31')", "int 0"},
		{"ISDATE('')", "int 0"},
		{"ISDATE(NULL)", "int 0"},
		{"ISDATE(datetime'2020-01-01')", "int 1"},
		{"ISDATE(date'2020-01-01')", "8116 Argument data type date is invalid for argument 1 of isdate function."},
	})
}

func TestClock(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		{"GETDATE()", "datetime 2026-11-30 21:54:58.123"},
		{"CURRENT_TIMESTAMP()", "datetime 2026-11-30 21:54:58.123"},
		{"SYSUTCDATETIME()", "datetime2(7) 2026-11-30 21:54:58.1234567"},
		{"SYSDATETIMEOFFSET()", "datetimeoffset(7) 2026-11-30 21:54:58.1234567 +00:00"},
		{"GETUTCDATE(1)", "174 The getutcdate function requires 0 argument(s)."},
	})
}
