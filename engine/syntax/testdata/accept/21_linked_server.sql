EXEC [REMOTE\SQL01].[OtherDb].dbo.GetStatus @Id = 7, @Out = @o OUTPUT;
EXEC @rc = srv.db.dbo.p 1, N'x', DEFAULT;
INSERT INTO #r (a, b) EXEC [srv].[db].[dbo].[proc] @p = 1;
SELECT * FROM [srv].[db].dbo.t AS r WHERE r.id = 1;
SELECT * FROM OPENQUERY([srv], 'select 1 as a');
EXEC ('SELECT ? AS x', 5) AT [srv];
