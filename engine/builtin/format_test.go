package builtin_test

import "testing"

func TestFormatNumber(t *testing.T) {
	t.Parallel()
	check(t, [][2]string{
		// "FORMAT": examples A to C.
		{"FORMAT(123456789, '###-##-####')", "nvarchar(4000) 123-45-6789"},
		{"FORMAT(1.0, 'N', 'en-us')", "nvarchar(4000) 1.00"},
		{"FORMAT(1234.5678, 'N', 'en-us')", "nvarchar(4000) 1,234.57"},
		{"FORMAT(1234.5678, 'G', 'en-us')", "nvarchar(4000) 1234.5678"},
		{"FORMAT(1234.5678, 'C', 'en-us')", "nvarchar(4000) $1,234.57"},
		{"FORMAT(1234.5678, 'N', 'de-de')", "nvarchar(4000) 1.234,57"},
		{"FORMAT(1234.5678, 'C', 'de-de')", "nvarchar(4000) 1.234,57 €"},
		// .NET's "Standard numeric format strings".
		{"FORMAT(-1234.567, 'C')", "nvarchar(4000) ($1,234.57)"},
		{"FORMAT(-1234.567, 'C', 'en-gb')", "nvarchar(4000) -£1,234.57"},
		{"FORMAT(123.456, 'C0')", "nvarchar(4000) $123"},
		{"FORMAT(1234, 'D6')", "nvarchar(4000) 001234"},
		{"FORMAT(-1234, 'd')", "nvarchar(4000) -1234"},
		{"FORMAT(1.5, 'D')", "nvarchar(4000) NULL"},
		{"FORMAT(1052.0329112756e0, 'E')", "nvarchar(4000) 1.052033E+003"},
		{"FORMAT(-1052.0329112756e0, 'e2')", "nvarchar(4000) -1.05e+003"},
		{"FORMAT(1234.567, 'F')", "nvarchar(4000) 1234.57"},
		{"FORMAT(-1234.56, 'F4')", "nvarchar(4000) -1234.5600"},
		{"FORMAT(-123.456e0, 'G')", "nvarchar(4000) -123.456"},
		{"FORMAT(-1.234567890e-25, 'G')", "nvarchar(4000) -1.23456789E-25"},
		{"FORMAT(123.4546e0, 'G4')", "nvarchar(4000) 123.5"},
		{"FORMAT(1e20, 'G')", "nvarchar(4000) 1E+20"},
		{"FORMAT(0.39678, 'P')", "nvarchar(4000) 39.68%"},
		{"FORMAT(-0.39678, 'P1')", "nvarchar(4000) -39.7%"},
		{"FORMAT(255, 'X')", "nvarchar(4000) FF"},
		{"FORMAT(-1, 'x')", "nvarchar(4000) ffffffff"},
		{"FORMAT(255, 'X4')", "nvarchar(4000) 00FF"},
		{"FORMAT(999.995, 'N2')", "nvarchar(4000) 1,000.00"},
		{"FORMAT(-0.001, 'N2')", "nvarchar(4000) 0.00"},
		{"FORMAT(money'1.5', 'C')", "nvarchar(4000) $1.50"},
		{"FORMAT(1, 'Q')", "nvarchar(4000) NULL"},
		// .NET's "Custom numeric format strings".
		{"FORMAT(1234.5678, '00000')", "nvarchar(4000) 01235"},
		{"FORMAT(0.45678, '0.00')", "nvarchar(4000) 0.46"},
		{"FORMAT(1234.5678, '#####')", "nvarchar(4000) 1235"},
		{"FORMAT(0.45678, '#.##')", "nvarchar(4000) .46"},
		{"FORMAT(0, '#')", "nvarchar(4000) "},
		{"FORMAT(2147483647, '##,#')", "nvarchar(4000) 2,147,483,647"},
		{"FORMAT(2147483647, '#,#,,')", "nvarchar(4000) 2,147"},
		{"FORMAT(1234567890, '0,0.00')", "nvarchar(4000) 1,234,567,890.00"},
		{"FORMAT(5, '#,##0.00')", "nvarchar(4000) 5.00"},
		{"FORMAT(0.3697, '%#0.00')", "nvarchar(4000) %36.97"},
		{"FORMAT(0.03697, '#0.00‰')", "nvarchar(4000) 36.97‰"},
		{"FORMAT(987654, '#0.0e0')", "nvarchar(4000) 98.8e4"},
		{"FORMAT(1503.92311, '0.0##e+00')", "nvarchar(4000) 1.504e+03"},
		{"FORMAT(987654, '\\###00\\#')", "nvarchar(4000) #987654#"},
		{"FORMAT(68, '# \"degrees\"')", "nvarchar(4000) 68 degrees"},
		{"FORMAT(12.345, '#0.0#;(#0.0#);-\\0-')", "nvarchar(4000) 12.35"},
		{"FORMAT(0, '#0.0#;(#0.0#);-\\0-')", "nvarchar(4000) -0-"},
		{"FORMAT(-12.345, '#0.0#;(#0.0#);-\\0-')", "nvarchar(4000) (12.35)"},
		{"FORMAT(-12.3, '0.0')", "nvarchar(4000) -12.3"},
		{"FORMAT(123, '0-00')", "nvarchar(4000) 1-23"},
		{"FORMAT(1, 'N', 'xx-invalid!')", "9818 The culture parameter 'xx-invalid!' provided in the function call is not supported."},
		{"FORMAT(1, 'N', 'zh-cn')", "40510 'FORMAT with the culture zh-cn' is not supported by the embedded engine."},
		{"FORMAT('a', 'N')", "8116 Argument data type varchar is invalid for argument 1 of format function."},
		{"FORMAT(null_int'', 'N')", "nvarchar(4000) NULL"},
	})
}

func TestFormatDate(t *testing.T) {
	t.Parallel()
	const at = "datetime2'2008-04-10 06:30:00.1234567'"
	const late = "datetime2'2008-10-01 17:04:32.0500000'"
	check(t, [][2]string{
		{"FORMAT(" + at + ", 'd')", "nvarchar(4000) 4/10/2008"},
		{"FORMAT(" + at + ", 'd', 'en-gb')", "nvarchar(4000) 10/04/2008"},
		{"FORMAT(" + at + ", 'd', 'de-de')", "nvarchar(4000) 10.04.2008"},
		{"FORMAT(" + at + ", 'D')", "nvarchar(4000) Thursday, April 10, 2008"},
		{"FORMAT(" + at + ", 'D', 'de-DE')", "nvarchar(4000) Donnerstag, 10. April 2008"},
		{"FORMAT(" + at + ", 'D', 'fr-FR')", "nvarchar(4000) jeudi 10 avril 2008"},
		{"FORMAT(" + at + ", 'f')", "nvarchar(4000) Thursday, April 10, 2008 6:30 AM"},
		{"FORMAT(" + late + ", 'G')", "nvarchar(4000) 10/1/2008 5:04:32 PM"},
		{"FORMAT(" + at + ", 's')", "nvarchar(4000) 2008-04-10T06:30:00"},
		{"FORMAT(" + at + ", 'u')", "nvarchar(4000) 2008-04-10 06:30:00Z"},
		{"FORMAT(" + at + ", 'o')", "nvarchar(4000) 2008-04-10T06:30:00.1234567"},
		{"FORMAT(datetimeoffset'2008-04-10 06:30:00 -07:00', 'o')", "nvarchar(4000) 2008-04-10T06:30:00.0000000-07:00"},
		{"FORMAT(" + at + ", 'R', 'de-de')", "nvarchar(4000) Thu, 10 Apr 2008 06:30:00 GMT"},
		{"FORMAT(" + at + ", 'Y')", "nvarchar(4000) April 2008"},
		{"FORMAT(" + at + ", 'Q')", "nvarchar(4000) NULL"},
		// "FORMAT": example D and .NET's "Custom date and time format strings".
		{"FORMAT(" + at + ", 'dd/MM/yyyy', 'en-US')", "nvarchar(4000) 10/04/2008"},
		{"FORMAT(" + at + ", 'dd/MM/yyyy', 'de-DE')", "nvarchar(4000) 10.04.2008"},
		{"FORMAT(" + late + ", 'yyyy-MM-dd HH:mm:ss.fff')", "nvarchar(4000) 2008-10-01 17:04:32.050"},
		{"FORMAT(" + late + ", 'h:m:s.FFF tt')", "nvarchar(4000) 5:4:32.05 PM"},
		{"FORMAT(" + late + ", 'ddd, MMM d yy')", "nvarchar(4000) Wed, Oct 1 08"},
		{"FORMAT(" + late + ", 'hh \"o''''clock\" t')", "nvarchar(4000) 05 o''clock P"},
		{"FORMAT(" + late + ", '%d')", "nvarchar(4000) 1"},
		{"FORMAT(" + late + ", 'yyyyMMddHHmmss')", "nvarchar(4000) 20081001170432"},
		{"FORMAT(datetime2'2020-01-01 00:05', 'hh:mm tt')", "nvarchar(4000) 12:05 AM"},
		{"FORMAT(datetimeoffset'2008-04-10 06:30 -07:00', 'HH:mm zzz z zz')", "nvarchar(4000) 06:30 -07:00 -7 -07"},
		{"FORMAT(datetime'2020-01-01 00:00:00.003', 'fff')", "nvarchar(4000) 003"},
		// "FORMAT": time needs its separators escaped.
		{"FORMAT(time'07:35', 'hh\\:mm')", "nvarchar(4000) 07:35"},
		{"FORMAT(time'07:35', 'hh:mm')", "nvarchar(4000) NULL"},
		{"FORMAT(time'07:35', 'hh.mm')", "nvarchar(4000) NULL"},
		{"FORMAT(time'07:35:01.5', 'c')", "nvarchar(4000) 07:35:01.5000000"},
	})
}
