UPDATE t SET t.a = s.a, b = DEFAULT, c.WRITE(N'abc', 0, 3) FROM dbo.T AS t INNER JOIN s ON s.id = t.id WHERE t.id = 1 OPTION (LOOP JOIN);
UPDATE dbo.Counter SET @new = Value = Value + @inc WHERE Name = @n;
UPDATE @tv SET a = (SELECT MAX(x) FROM u);
DELETE TOP (100) FROM dbo.Q WHERE id < 5;
DELETE q FROM dbo.Q q JOIN r ON r.id = q.id;
DELETE dbo.Q WHERE CURRENT OF c1;
TRUNCATE TABLE dbo.Q;
