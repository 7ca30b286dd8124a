SELECT CASE x WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE NULL END, CASE WHEN a IS NULL AND b NOT BETWEEN 1 AND 10 THEN -1.5e3 ELSE +2 END AS c,
       IIF(a > b, a, b), CHOOSE(2, 'a', 'b'), NULLIF(a, 0), COALESCE(a, b, 0), ISNULL(a, 0), ~a, a % 3, a ^ b | c & 0xFF,
       N'it''s', $12.34, 0xDEADBEEF, CONVERT(varchar(30), d, 126), TRY_CAST(x AS decimal(10,2)), TRY_CONVERT(int, N'1'), PARSE('1' AS int USING 'en-US'),
       d AT TIME ZONE 'UTC', {fn NOW()}, CAST('2020-01-01' AS date), x COLLATE Latin1_General_BIN2, a = 5, @v
FROM t;
